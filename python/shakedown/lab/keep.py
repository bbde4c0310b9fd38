"""Drives that outlive a run: a folder with what each holds and what it was asked, for the next run to go on with.

    DIR/lock             held while a run has the drives
    DIR/drives           a link to one of the folders below: the drives as the last run has left them
    DIR/state-1/sda/     data, requests, drive.json

A run works on a copy, which takes the place of what was there when the run has come to its end: a run that is stopped,
killed, or whose guest fails leaves the drives as they were.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shakedown.errors import EnvironmentFailure, RefusedError, UsageError
from shakedown.lab.disks import disk_name
from shakedown.lab.program import run
from shakedown.result.atomic import make_folder, replace_json

_FORMAT_VERSION: Final = 1
_PREFIX: Final = "state-"


@dataclass(frozen=True)
class Maker:
    """What decides which drive it is: all of it must be as it was."""

    drive: str
    profile_toml: str
    seed: int
    scale_divisor: int

    def record(self) -> dict[str, object]:
        """As ``drive.json`` has it."""
        profile = hashlib.sha256(self.profile_toml.encode()).hexdigest()
        return {
            "format_version": _FORMAT_VERSION,
            "drive": self.drive,
            "scale": f"1/{self.scale_divisor}",
            "seed": self.seed,
            "profile": profile,
        }


@contextmanager
def kept(folder: Path, makers: Sequence[Maker]) -> Iterator[list[Path]]:
    """A folder for each of the drives, with ``data`` and ``requests`` of what it was, to be worked on.

    What is there when the context ends without an exception is kept. Raises RefusedError if the folder holds other
    drives or something else, or another run has it; EnvironmentFailure if it cannot be written.
    """
    folder = folder.absolute()
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"`--keep {folder}` is no folder", hint="choose another, or one that is not there yet")
    _refuse_others(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        hint = "choose a folder that can be written to"
        raise EnvironmentFailure(f"`--keep {folder}`: {error.strerror}", hint=hint) from error
    try:
        _take(folder, lock)
        before = folder / (folder / "drives").readlink() if (folder / "drives").exists() else None
        for stale in folder.glob(f"{_PREFIX}*"):
            if stale != before:
                shutil.rmtree(stale)
        number = 1 if before is None else int(before.name.removeprefix(_PREFIX)) + 1
        work = folder / f"{_PREFIX}{number}"
        try:
            yield _lay(folder, before, work, makers)
            (folder / "next").unlink(missing_ok=True)
            (folder / "next").symlink_to(work.name)
            (folder / "next").replace(folder / "drives")
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            raise
        if before is not None:
            shutil.rmtree(before)
    finally:
        os.close(lock)


def _refuse_others(folder: Path) -> None:
    """Raise RefusedError, before anything is written, if a folder holds what is not ours."""
    ours = {"lock", "drives", "next"}
    held = [each.name for each in folder.iterdir()] if folder.exists() else []
    if other := [each for each in held if each not in ours and not each.startswith(_PREFIX)]:
        raise RefusedError(f"`--keep {folder}` holds something else: {other[0]}", hint="choose an empty folder")


def _take(folder: Path, lock: int) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RefusedError(f"another run has the drives of {folder}", hint="wait for it, or choose another") from None


def _lay(folder: Path, before: Path | None, work: Path, makers: Sequence[Maker]) -> list[Path]:
    """The working copy: drives that were there, in their places, and those that are new."""
    make_folder(work)
    places = []
    for number, maker in enumerate(makers):
        name = disk_name(number)
        place = work / name
        old = None if before is None else before / name
        if old is not None and old.exists():
            _refuse_another(folder / "drives" / name, maker)
            run(["cp", "-r", "--reflink=auto", "--sparse=auto", old, place], cwd=work)
        else:
            make_folder(place)
            replace_json(place / "drive.json", maker.record())
        places.append(place)
    if before is not None:
        for old in before.iterdir():
            if not (work / old.name).exists():
                raise RefusedError(
                    f"{folder} holds a drive {old.name}, and the order has none",
                    hint=f"order it, too, or remove {folder / 'drives' / old.name}",
                )
    return places


def _refuse_another(place: Path, maker: Maker) -> None:
    try:
        record = json.loads((place / "drive.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RefusedError(f"{place} is no drive of a lab", hint="choose an empty folder") from error
    hint = f"order the drive that it is, or remove {place} for a new one"
    for what, wanted in maker.record().items():
        found = record.get(what) if isinstance(record, dict) else None
        if found != wanted and what == "profile":
            raise RefusedError(f"the profile of {place} has changed since it was kept", hint=hint)
        if found != wanted:
            raise RefusedError(f"{place} is another drive: its {what} is {found}, not {wanted}", hint=hint)
