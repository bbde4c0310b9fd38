"""A regular file, or a folder in which one is made, as a target."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from shakedown.device import mark
from shakedown.device.filesystem import does_direct_io, filesystem_type, free_bytes
from shakedown.device.guard import admit_writing, open_same, refuse_unfit
from shakedown.device.medium import Lease
from shakedown.errors import EnvironmentFailure, RefusedError, UsageError
from shakedown.result.identity import Identity
from shakedown.tools.fio.job import Option
from shakedown.tools.fio.locate import Fio
from shakedown.units import SECTOR_BYTES, format_size

FILE_IN_FOLDER: Final = "shakedown.dat"
_MOST_BYTES: Final = 16 << 30
_LEFT_FREE_BYTES: Final = 1 << 30
_GRAIN_BYTES: Final = 4096


class FileMedium:
    """Implements ``Medium``. The file is known by its inode from the moment it was examined."""

    device = None

    def __init__(self, text: str, *, run: Path, consent: Sequence[str] = (), size_bytes: int | None = None) -> None:
        """Find, or make, the file that ``text`` means. ``run`` is the run's own folder, which is never a target.

        A missing file is made with ``size_bytes``; a folder gets one of that size, or of a quarter of what is free,
        at most 16 GiB. Raises UsageError and RefusedError.
        """
        self._given = Path(text)
        self._run = Path(os.path.realpath(run))
        self._consent = consent
        self._written = False
        try:
            self._path, self._in_folder = self._locate()
            self.remembers = self._path.exists()
            # One that this very run has left in a folder, because it was not finished, is still only there for it.
            self._made = not self.remembers or (self._in_folder and mark.is_of_run(self._path, self._run))
            if not self.remembers:
                self._make(size_bytes)
            refuse_unfit(self._path, self._run)
            self._status = self._path.lstat()
            if self._status.st_size == 0:
                self._grow(size_bytes)
            self._direct = does_direct_io(self._path)
        except OSError as error:
            raise EnvironmentFailure(f"{text} cannot be examined: {error.strerror}") from error
        self.identity = self._identify(text, self._capacity_bytes(size_bytes))

    def require(self, fio: Fio) -> None:
        """Files go through libaio, which keeps a queue depth of real requests."""
        fio.require_engine("libaio", "install a fio that was built with libaio")

    def admit_writing(self) -> None:
        """Raise RefusedError if writing could destroy anybody's data."""
        self._check_same()
        if not self._written:
            admit_writing(self._path, self._status, self._run, self._consent)

    def missing(self, *, failed: bool) -> None:
        """Whether it is there is seen when it is lent."""

    @contextmanager
    def lend(self, *, write: bool) -> Iterator[Lease]:
        """Give fio the opened file itself: whatever is done to the path meanwhile, no other file is touched."""
        if write:
            self.admit_writing()
        self._check_same()
        descriptor = open_same(self._path, self._status, write=write)
        try:
            if write:
                mark.lay(self._path, self._status, self._run, writing=True)
                self._written = True
            yield Lease(self._options(descriptor), (descriptor,))
        finally:
            try:
                if self._written:
                    self._status = os.fstat(descriptor)
                    mark.lay(self._path, self._status, self._run, writing=False)
            finally:
                os.close(descriptor)

    def close(self, *, finished: bool = True) -> None:
        """Remove the file if it was made for this run only: in a folder, or never used. An unfinished run needs it."""
        if finished and self._made and (self._in_folder or not self._written) and self._still_there():
            self._path.unlink()
            mark.lift(self._path)

    def _locate(self) -> tuple[Path, bool]:
        """The file that is meant, links resolved, and whether it lies in a folder that was given."""
        resolved = Path(os.path.realpath(self._given))
        if not str(resolved).isprintable():
            raise UsageError(f"{str(resolved)!a} holds unprintable characters", hint="give the target a plain name")
        if resolved.exists():
            refuse_unfit(resolved, self._run)
        elif self._given.is_symlink():
            raise RefusedError(f"{self._given} is a link to {resolved}, which does not exist", hint="remove the link")
        if not resolved.is_dir():
            return resolved, False
        path = resolved / FILE_IN_FOLDER
        if path.is_symlink():
            raise RefusedError(f"{path} is a link", hint="give the file that it leads to, or remove it")
        return path, True

    def _options(self, descriptor: int) -> tuple[Option, ...]:
        return (
            Option("filename", f"/proc/self/fd/{descriptor}"),
            Option("ioengine", "libaio"),
            Option("direct", str(int(self._direct))),
            Option("allow_file_create", "0"),
            # In a guest of the lab the processor's own clock is the host's.
            Option("clocksource", "clock_gettime"),
        )

    def _make(self, size_bytes: int | None) -> None:
        if self._path.is_relative_to("/dev") and not self._path.is_relative_to("/dev/shm"):
            raise UsageError(f"there is no device {self._given}", hint="`lsblk -o NAME,SIZE,MODEL,SERIAL` lists them")
        folder = self._path.parent
        if not folder.is_dir():
            raise UsageError(f"{self._given}: there is no folder {folder}", hint="make it first, or give another file")
        if size_bytes is None and not self._in_folder:
            raise UsageError(f"there is no file {self._given}", hint="to have it made, say how large: `--size 10GiB`")
        refuse_unfit(folder, self._run)
        size_bytes = _fitting_size(folder, size_bytes)
        with os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.truncate(size_bytes)

    def _grow(self, size_bytes: int | None) -> None:
        if size_bytes is None:
            raise UsageError(f"{self._path} is empty", hint="say how large it shall be: `--size 10GiB`")
        admit_writing(self._path, self._status, self._run, self._consent)
        os.truncate(self._path, _fitting_size(self._path.parent, size_bytes))
        self._status = self._path.lstat()

    def _capacity_bytes(self, size_bytes: int | None) -> int:
        there = _grained(self._status.st_size)
        if size_bytes is not None and _grained(size_bytes) != there:
            raise UsageError(
                f"{self._path} is there already and has {self._status.st_size} bytes, not the {size_bytes} of `--size`",
                hint="leave `--size` out to use it as it is, or remove the file to have a new one made",
            )
        return there

    def _check_same(self) -> None:
        """The text that the user gave must still lead to the file that was examined. Raises RefusedError."""
        if not self._still_there():
            raise RefusedError(f"{self._given} is another file than the one that was examined", hint="start again")

    def _still_there(self) -> bool:
        now = Path(os.path.realpath(self._given))
        now = now / FILE_IN_FOLDER if self._in_folder else now
        try:
            return now == self._path and os.path.samestat(now.lstat(), self._status)
        except OSError:
            return False

    def _identify(self, text: str, capacity_bytes: int) -> Identity:
        kind = filesystem_type(self._path)
        details = {
            "filesystem": kind,
            "allocated_bytes": str(self._status.st_blocks * SECTOR_BYTES),
            "direct_io": "yes" if self._direct else "no",
        }
        if not self._direct:
            details["note_direct_io"] = f"{kind} refuses direct I/O, so the page cache is measured as well"
        if self._status.st_blocks * SECTOR_BYTES < capacity_bytes:
            details["note_holes"] = "not all of it was ever written: reading there measures nothing of the drive"
        return Identity(
            kind="directory" if self._in_folder else "file",
            text=text,
            name=str(self._path.parent if self._in_folder else self._path),
            model=f"file on {kind}" if kind else "file",
            capacity_bytes=capacity_bytes,
            details=details,
        )


def _grained(size_bytes: int) -> int:
    return size_bytes // _GRAIN_BYTES * _GRAIN_BYTES


def _fitting_size(folder: Path, asked_bytes: int | None) -> int:
    """What is asked, or what is reasonable, as long as the file system keeps room to breathe.

    Raises UsageError where there is no room for what is asked, EnvironmentFailure where there is none for anything.
    """
    free = free_bytes(folder)
    room = free - _LEFT_FREE_BYTES
    if asked_bytes is not None and asked_bytes < _GRAIN_BYTES:
        raise UsageError(
            f"a file of {format_size(asked_bytes)} is too small to be a target", hint="`--size 4KiB` is the least"
        )
    size_bytes = _grained(min(free // 4, _MOST_BYTES, room) if asked_bytes is None else asked_bytes)
    kept = f"{folder} has {format_size(free)} free, and {format_size(_LEFT_FREE_BYTES)} are to spare"
    if room < _GRAIN_BYTES:
        raise EnvironmentFailure(f"{kept}: no room for a file", hint="make room there, or choose another folder")
    if size_bytes > room:
        raise UsageError(
            f"{kept}: no room for a file of {format_size(size_bytes)}",
            hint="choose another place or a smaller `--size`",
        )
    return size_bytes
