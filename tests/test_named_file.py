"""Whatever a user names where a text is expected is read as one, or refused before it fills the memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from serving import shakedown
from shakedown import Drive, rebuild
from shakedown.characterize.record import RECORD_NAME, read_record
from shakedown.errors import UsageError
from shakedown.lab.bays import makers
from shakedown.lab.faults import faults_by_drive
from shakedown.named_file import MOST_BYTES, read_named_text
from shakedown.target.profile import read_profile

HINT = "give another"


def _resumed(path: Path) -> object:
    (path.parent / RECORD_NAME).symlink_to(path)
    return read_record(path.parent)


@pytest.fixture(params=["fifo", "device", "sparse"])
def endless(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """What is no file, and one that is none of ours by its size: of a fifo even the opening has no end."""
    path = tmp_path / "named.toml"
    if request.param == "fifo":
        os.mkfifo(path)
    elif request.param == "device":
        path.symlink_to("/dev/zero")
    else:
        path.touch()
        os.truncate(path, MOST_BYTES + 1)
    return path


@pytest.mark.parametrize(
    "read",
    [
        read_profile,
        lambda path: Drive.load("wd40efax", seed=1, faults=path),
        lambda path: Drive.load("wd40efax", seed=1, faults=str(path)),
        lambda path: Drive.from_toml(path, seed=1),
        lambda path: rebuild("raid5", "model:wd40efrx", width=4, scale_divisor=1000, faults={1: str(path)}),
        lambda path: faults_by_drive([f"sda={path}"], 1),
        _resumed,
    ],
)
def test_what_has_no_end_is_refused(endless: Path, read: Callable[[Path], Any]) -> None:
    with pytest.raises(UsageError, match=r"is not a file|is larger than 16 MiB") as told:
        read(endless)
    assert told.value.hint


def test_a_profile_of_the_lab_that_is_too_large_is_refused(tmp_path: Path) -> None:
    """That it is a file is looked at before."""
    path = tmp_path / "named.toml"
    path.touch()
    os.truncate(path, MOST_BYTES + 1)
    with pytest.raises(UsageError, match="is larger than 16 MiB"):
        makers([f"model:{path}"], seed=1, scale_divisor=1)


@pytest.mark.parametrize("words", [("--faults", "2=/dev/zero"), ("--load", "/dev/zero")])
def test_a_rebuild_is_not_ordered_by_a_device(words: tuple[str, str], tmp_path: Path) -> None:
    told = shakedown("rebuild", "raid5", "model:wd40efrx", "--width", "4", *words, cwd=tmp_path)
    assert told.returncode == 2
    assert "error: `/dev/zero` is not a file\nhint: " in told.stderr


def test_a_text_of_the_most_bytes_is_read_without_its_mark(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbf" + b"a" * (MOST_BYTES - 3))
    assert read_named_text(path, hint=HINT) == "a" * (MOST_BYTES - 3)


def test_what_is_no_text_no_path_or_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for path, why in (("binary", "is not UTF-8 text"), ("none", "cannot be read: No such file"), ("a\0b", "null byte")):
        with pytest.raises(UsageError, match=why) as told:
            read_named_text(tmp_path / path, hint=HINT)
        assert HINT in told.value.hint
