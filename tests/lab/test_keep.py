"""Drives that outlive a run. Skipped where the lab is not built."""

from __future__ import annotations

import errno
import fcntl
import shutil
from pathlib import Path

import pytest

from lab.test_faults import DRIVE, WRITER
from lab.test_run import allowed as allowed  # noqa: PLC0414 - a fixture
from lab.test_run import built, shell
from shakedown.errors import EnvironmentFailure, RefusedError
from shakedown.lab.faults import faults_by_drive
from shakedown.lab.keep import Maker, kept
from shakedown.lab.run import _keeps

FIO = "fio --name=t --filename=/dev/sda --rw=randwrite --bs=4k --direct=1 --ioengine=libaio --iodepth=8 --randseed={}"
LOAD = f"{FIO} --time_based --runtime={{}} --clocksource=clock_gettime --output-format=terse | cut -d ';' -f 49"


def one(profile: str = "a profile", scale: int = 1) -> Maker:
    return Maker("model:one", profile, 1, scale)


def test_what_is_kept_is_what_a_whole_run_has_left(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    with kept(folder, [one(), one()]) as (first, _):
        (first / "data").write_text("first")
    with pytest.raises(KeyboardInterrupt), kept(folder, [one(), one()]) as (first, _):
        assert (first / "data").read_text() == "first"
        (first / "data").write_text("second")
        raise KeyboardInterrupt
    # One that was killed leaves its copy behind.
    shutil.copytree(folder / "drives", folder / "state-9")
    with kept(folder, [one(), one()]) as (first, _):
        assert (first / "data").read_text() == "first"
    assert sorted(path.name for path in folder.iterdir()) == ["drives", "lock", "state-2"]


def test_a_full_disk_is_no_bug() -> None:
    with pytest.raises(EnvironmentFailure, match="could not be kept") as told, _keeps():
        raise OSError(errno.ENOSPC, "the data of a modelled drive could not be kept: No space left on device")
    assert told.value.exit_status == 5
    with pytest.raises(ProcessLookupError), _keeps():
        raise ProcessLookupError("no such process")


def test_other_drives_and_other_runs_are_refused(tmp_path: Path) -> None:
    with kept(tmp_path, [one(), one()]):
        pass

    def said(*makers: Maker) -> str:
        with pytest.raises(RefusedError) as refused, kept(tmp_path, makers):
            pass
        return str(refused.value)

    assert "sda is another drive: its scale is 1/1, not 1/5" in said(one(scale=5), one())
    assert "the profile of" in said(one(), one("changed"))
    assert "holds a drive sdb" in said(one())
    with (tmp_path / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "another run has" in said(one(), one())
    shutil.rmtree(tmp_path / "drives" / "sdb")
    with kept(tmp_path, [one(), one()]):
        pass
    (tmp_path / "letter").touch()
    assert "something else: letter" in said(one(), one())


@built
def test_a_used_drive_is_used_in_the_next_run_and_its_clock_goes_on(tmp_path: Path) -> None:
    def twice(folder: Path) -> tuple[list[str], list[str], list[str]]:
        order = {"keep": folder, **DRIVE}
        first, used, _ = shell(LOAD.format(1, "100s") + "; date +%s; head -c 512 /dev/urandom > /dev/sda", **order)
        second, later, _ = shell(LOAD.format(2, "5s") + "; date +%s; od -N 2 /dev/sda", **order)
        return used.split(), later.split(), [run.report["trace_hash"] for run in (first, second)]

    used, later, hashes = twice(tmp_path / "a")
    _, fresh, _ = shell(LOAD.format(2, "5s"), **DRIVE)
    assert int(later[0]) < int(fresh) / 2
    assert int(later[1]) > int(used[1])
    assert later[3] != "000000"
    assert twice(tmp_path / "b") == (used, later, hashes)


@built
def test_a_guest_that_fails_leaves_the_drives_as_they_were(tmp_path: Path) -> None:
    order = {"keep": tmp_path, **DRIVE}
    write = "head -c 4 /dev/zero | tr '\\0' {} | dd of=/dev/sda oflag=sync status=none"
    shell(write.format(1), **order)
    with pytest.raises(EnvironmentFailure, match="panic"):
        shell(write.format(2) + "; echo c > /proc/sysrq-trigger", **order)
    assert shell("head -c 4 /dev/sda", **order)[1] == "1111"


@built
def test_what_a_power_cut_took_is_not_there_in_the_next_run(tmp_path: Path) -> None:
    (tmp_path / "writer.py").write_text(WRITER)
    order = {"bring_in": (tmp_path / "writer.py",), "keep": tmp_path / "kept", **DRIVE}
    shell("exec python3 writer.py", power_cuts_ns=(4 * 10**9,), after_cut=("true",), **order)
    _, told, _ = shell("python3 writer.py read 600", **order)
    flushed, others, of_others = map(int, told.split())
    assert (flushed, of_others) == (500, 100)
    assert others < of_others / 2


SMART = "smartctl -A /dev/sda | awk '$1 == 9 || $1 == 12 {print $10}' | tr '\\n' ' '"


@built
def test_smart_counts_the_hours_and_losses_of_power_of_all_runs(tmp_path: Path) -> None:
    order = {"keep": tmp_path, **DRIVE}
    hours_s = 3 * 3600
    assert shell(f"sleep {hours_s}; {SMART}", **order)[1] == "3 1 "
    cut = {"power_cuts_ns": (hours_s * 10**9,), "after_cut": ("bash", "-c", SMART)}
    assert shell("sleep infinity", **cut, **order)[1] == "6 2 "
    faults = faults_by_drive((f'kind="power-loss", from_s={hours_s}, for_s=10',), 1)
    # Its first answer afterwards is that it lost its power.
    assert shell(f"sleep {hours_s + 60}; head -c 512 /dev/sda >/dev/null; {SMART}", faults=faults, **order)[1] == "9 3 "
    assert shell(SMART, **order)[1] == "9 3 "
