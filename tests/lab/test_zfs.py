"""OpenZFS: what apt must offer, and pools in a guest where `shakedown lab build --zfs` has been."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from shakedown.data import lab_path
from shakedown.errors import EnvironmentFailure
from shakedown.lab import kernel, zfs
from shakedown.lab.image import find_image
from shakedown.lab.run import Order, Outcome, run

TARGETS = "Debian-Security|main|bookworm-security|http://s/\nDebian|main|bookworm-updates|http://d/\n"


def apt(monkeypatch: pytest.MonkeyPatch, targets: str, *versions: str) -> None:
    def answer(command: Sequence[str], **_: object) -> str:
        if command[1] == "indextargets":
            return targets
        return "".join(f"Package: zfs-linux\nVersion: {version}\n\n" for version in versions)

    monkeypatch.setattr(zfs, "run", answer)


def test_the_first_version_that_there_are_patches_for_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apt(monkeypatch, TARGETS + "Debian|main|bookworm|http://d/\n", "2.4.1-1", "2.3.2-2~bpo12+2", "2.1.11-1")
    assert zfs.offered(tmp_path) == "2.3.2-2~bpo12+2"
    lists = (tmp_path / "apt" / "sources.list").read_text()
    assert "http://d/ bookworm-backports contrib" in lists
    assert "http://d/ bookworm contrib" in lists


def test_versions_that_do_not_fit_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apt(monkeypatch, "Debian|main|bookworm|http://d/\n", "2.1.11-1", "2.30.1-1")
    with pytest.raises(EnvironmentFailure, match=r"have OpenZFS 2\.1\.11-1, 2\.30\.1-1, the lab needs 2\.3"):
        zfs.offered(tmp_path)


def test_a_system_that_is_not_debian_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apt(monkeypatch, "Ubuntu|main|noble|http://u/\n")
    with pytest.raises(EnvironmentFailure, match="apt knows no release of Debian"):
        zfs.offered(tmp_path)


def test_a_kernel_with_zfs_and_one_without_are_two() -> None:
    assert kernel._recipe("6.1") != kernel._recipe("6.1", with_zfs=True)


def test_without_it_the_line_that_builds_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(EnvironmentFailure, match="no kernel with OpenZFS") as refused:
        run(Order(command=("true",), with_zfs=True), lambda *_: None)
    assert refused.value.hint == "`shakedown lab build --zfs`, once, some minutes"


built_with_zfs = pytest.mark.skipif(
    kernel.find_kernel(with_zfs=True) is None or find_image() is None,
    reason="the lab has no OpenZFS: `shakedown lab build --zfs`",
)


def shown(*arguments: str, drives: int) -> tuple[Outcome, str]:
    printed = b""

    def keep(_: str, text: bytes) -> None:
        nonlocal printed
        printed += text

    order = Order(
        command=("./zfs-resilver.sh", *arguments),
        drives=("model:wd40efrx",) * drives,
        scale_divisor=2000,
        bring_in=(lab_path("shows/zfs-resilver.sh"),),
        with_zfs=True,
    )
    return run(order, keep), printed.decode()


@built_with_zfs
def test_a_sequential_rebuild_keeps_the_data_and_gives_the_same_trace_twice() -> None:
    first, output = shown("mirror", "-s", drives=3)
    second, _ = shown("mirror", "-s", drives=3)
    assert first.exit_status == 0, output
    assert "with 0 errors" in output
    assert "the files are what they were" in output
    assert first.report["trace_hash"] == second.report["trace_hash"]


SPARE = """
mkdir -p /etc/zfs/zed.d
zed
zpool create tank mirror sda sdb spare sdc
dd if=/dev/urandom of=/tank/a bs=1M count=32 status=none
sleep 60
dd if=/dev/urandom of=/tank/b bs=1M count=4 status=none
zpool sync
sleep 60
zpool wait -t resilver tank
zpool status tank
"""


@built_with_zfs
def test_zed_puts_a_hot_spare_in_the_place_of_a_drive_that_is_gone() -> None:
    printed = b""

    def keep(_: str, text: bytes) -> None:
        nonlocal printed
        printed += text

    order = Order(
        command=("bash", "-c", SPARE),
        drives=("model:wd40efrx",) * 3,
        scale_divisor=2000,
        faults={1: 'format_version = 1\n[[faults]]\nkind = "gone"\nfrom_s = 60\nfor_s = 1e6\n'},
        with_zfs=True,
    )
    run(order, keep)
    output = printed.decode()
    assert "too many errors" in output
    assert [line.split()[:2] for line in output.splitlines() if "sdc" in line] == [["sdc", "ONLINE"], ["sdc", "INUSE"]]
    assert "with 0 errors" in output
