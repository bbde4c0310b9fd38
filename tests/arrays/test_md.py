"""What is asked of mdadm: its answers are fakes; the real ones are tried in a guest."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from shakedown.device.array import md, zfs
from shakedown.device.array.array import Shape
from shakedown.device.array.drive import Drive
from shakedown.device.array.md import MdArray
from shakedown.device.array.zfs import ZfsArray
from shakedown.errors import EnvironmentFailure, RefusedError
from shakedown.target.md_options import MdOptions

OURS = "00000000:00000000:00000000:00000001"
HEAD = "Personalities : [raid1]\n"
WHOLE = f"{HEAD}md100 : active raid1 sdb[1] sda[0]\n      1024 blocks super 1.2 [2/2] [UU]\n"
SYNCING = f"{WHOLE}      [>....]  resync =  1.0% (10/1024) finish=0.1min speed=100K/sec\n"
BROKEN = f"{HEAD}md100 : active raid1 sdb[1](F) sda[0]\n      1024 blocks super 1.2 [2/1] [U_]\n"

Answer = Callable[[tuple[str, ...]], tuple[int, str]]


class Machine:
    """What ``/proc/mdstat`` shows, look by look, and what programs answer."""

    def __init__(self, mdstat: Path) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.answer: Answer = lambda _: (0, "")
        self._mdstat = mdstat
        self.shows("")

    def shows(self, *texts: str) -> None:
        self._texts = list(texts)
        self.sleep(0)

    def sleep(self, _: float) -> None:
        self._mdstat.write_text(self._texts.pop(0))

    def attempt(self, *command: str) -> subprocess.CompletedProcess[str]:
        self.asked.append(command)
        status, text = self.answer(command)
        return subprocess.CompletedProcess(command, status, text, "")

    def call(self, *command: str) -> str:
        done = self.attempt(*command)
        if done.returncode != 0:
            raise EnvironmentFailure(f"`{command[0]}` failed")
        return done.stdout


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    made = Machine(tmp_path / "mdstat")
    for module in (md, zfs):
        monkeypatch.setattr(module, "require", lambda _: None)
        monkeypatch.setattr(module, "attempt", made.attempt)
        monkeypatch.setattr(module, "call", made.call)
    monkeypatch.setattr(md, "_MDSTAT", tmp_path / "mdstat")
    monkeypatch.setattr(md, "_free_device", lambda: "/dev/md100")
    monkeypatch.setattr("shakedown.device.array.md.time.sleep", made.sleep)
    return made


def array() -> MdArray:
    return MdArray(Shape("raid1", None, MdOptions()), OURS)


def drives(*names: str) -> list[Drive]:
    return [cast(Drive, SimpleNamespace(name=name, path=f"/dev/{name}")) for name in names]


def test_an_array_is_made_when_its_first_sync_is_over(machine: Machine) -> None:
    machine.shows(SYNCING, SYNCING, WHOLE)
    array().create(drives("sda", "sdb"), are_blank=False)


@pytest.mark.parametrize("then", [BROKEN, HEAD])
def test_a_drive_that_fails_in_the_first_sync_is_not_waited_for(machine: Machine, then: str) -> None:
    machine.shows(SYNCING, then)
    with pytest.raises(EnvironmentFailure, match="/dev/md100 lost a drive"):
        array().create(drives("sda", "sdb"), are_blank=False)


def test_the_array_of_somebody_else_does_not_hinder_finding_ours(machine: Machine) -> None:
    machine.shows(f"{WHOLE}\nmd7 : inactive sdx[0](S)\n      1 blocks\n")

    def answer(command: tuple[str, ...]) -> tuple[int, str]:
        return (1, "") if command[-1] == "/dev/md7" else (0, f"MD_UUID={OURS}\n")

    machine.answer = answer
    assert array().find(drives("sda", "sdb", "sdc"))


def test_an_array_with_a_drive_that_is_none_of_ours_is_refused(machine: Machine) -> None:
    machine.shows(WHOLE)
    machine.answer = lambda _: (0, f"MD_UUID={OURS}\n")
    with pytest.raises(RefusedError, match="sdb is in the array /dev/md100"):
        array().find(drives("sda", "sdc"))


def test_what_is_busy_is_not_said_to_be_taken_apart(machine: Machine) -> None:
    machine.shows(WHOLE)
    made = array()
    made.create(drives("sda", "sdb"), are_blank=True)
    machine.answer = lambda command: (int("--stop" in command), "")
    for _ in range(2):  # it is tried again, too
        with pytest.raises(EnvironmentFailure):
            made.destroy()
    machine.shows(HEAD)
    made.destroy()


@pytest.mark.parametrize("is_there", [True, False])
def test_a_pool_is_destroyed_where_there_is_one(machine: Machine, *, is_there: bool) -> None:
    pool = ZfsArray(Shape("mirror", None, SimpleNamespace(order="healing")), "ours")
    machine.answer = lambda command: (int(command[1] == "destroy" or not is_there), "")
    if is_there:
        with pytest.raises(EnvironmentFailure):
            pool.destroy()
    else:
        pool.destroy()
    assert (("zpool", "destroy", "-f", "ours") in machine.asked) == is_there


@pytest.mark.parametrize(
    ("sizes", "member_bytes", "is_forced"),
    [((4000, 1000, 4000), None, True), ((1000, 1000, 1000), None, False), ((4000, 1000, 4000), 900, False)],
)
def test_zpool_is_forced_to_take_drives_of_several_sizes_and_no_others(
    machine: Machine, sizes: tuple[int, ...], member_bytes: int | None, *, is_forced: bool
) -> None:
    options = SimpleNamespace(order="healing", record_bytes=131072, draid=None, ashift=12)
    given = [
        cast(
            Drive,
            SimpleNamespace(
                path=f"/dev/{number}",
                first_partition=f"/dev/{number}p1",
                partition=lambda _: None,
                identity=SimpleNamespace(capacity_bytes=size),
            ),
        )
        for number, size in enumerate(sizes)
    ]
    ZfsArray(Shape("raidz1", member_bytes, options), "ours").create(given, are_blank=False)
    [command] = [each for each in machine.asked if each[:2] == ("zpool", "create")]
    assert ("-f" in command) == is_forced
