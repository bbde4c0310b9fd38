"""How the packages of a guest are chosen, from what apt says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from shakedown.errors import EnvironmentFailure
from shakedown.lab import packages
from shakedown.lab.initramfs import initramfs

DEPENDS = """tool
  PreDepends: libc
 |Depends: real
  Depends: <virtual>
    other
  Depends: helper
real
  Depends: libc:any
helper
  Depends: perl
perl
  Depends: perl-base
libc
<virtual>
other
perl-base
"""


def apt(monkeypatch: pytest.MonkeyPatch, policies: str) -> None:
    def answer(command: Sequence[str], **_: object) -> str:
        return DEPENDS if command[1] == "depends" else policies

    monkeypatch.setattr(packages, "run", answer)


def policies(*names: str) -> str:
    return "".join(f"{name}:\n  Installed: (none)\n  Candidate: 1:2-3\n  Version table:\n" for name in names)


@pytest.fixture
def wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "packages").write_text("# words\ntool\n\n- perl\n")
    monkeypatch.setattr(packages, "lab_path", lambda _: tmp_path / "packages")


@pytest.mark.usefixtures("wanted")
def test_what_is_left_out_takes_along_what_only_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apt(monkeypatch, policies("tool", "libc", "real", "helper"))
    assert packages.guest_packages(tmp_path) == ["helper=1:2-3", "libc=1:2-3", "real=1:2-3", "tool=1:2-3"]


@pytest.mark.usefixtures("wanted")
def test_what_apt_does_not_offer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apt(monkeypatch, policies("tool", "libc", "helper"))
    with pytest.raises(EnvironmentFailure, match="apt does not offer real"):
        packages.guest_packages(tmp_path)


def test_an_initramfs_is_what_cpio_calls_newc() -> None:
    archive = initramfs(b"busy", b"#!/bin/busybox sh\n")
    assert archive == initramfs(b"busy", b"#!/bin/busybox sh\n")
    assert len(archive) % 4 == 0
    names = {}
    at = 0
    while True:
        assert archive[at : at + 6] == b"070701"
        fields = [int(archive[at + 6 + 8 * number : at + 14 + 8 * number], 16) for number in range(13)]
        name = archive[at + 110 : at + 110 + fields[11] - 1].decode()
        begin = at + (110 + fields[11] + 3) // 4 * 4
        names[name] = archive[begin : begin + fields[6]]
        at = begin + (fields[6] + 3) // 4 * 4
        if name == "TRAILER!!!":
            break
    assert at == len(archive)
    assert names["bin/busybox"] == b"busy"
    assert names["init"].startswith(b"#!/bin/busybox")
    assert "new" in names


def test_old_names_of_folders_stay_where_packages_know_only_new_ones(tmp_path: Path) -> None:
    """As Debian 13's; those of Debian 12 bring both."""
    merged, both = tmp_path / "merged", tmp_path / "both"
    for folder in (merged / "usr" / "bin", merged / "usr" / "lib64", both / "usr" / "bin", both / "bin"):
        folder.mkdir(parents=True)
    packages._link_merged(merged)
    packages._link_merged(both)
    assert {path.name: str(path.readlink()) for path in merged.iterdir() if path.is_symlink()} == {
        "bin": "usr/bin",
        "lib64": "usr/lib64",
    }
    assert not (both / "bin").is_symlink()
