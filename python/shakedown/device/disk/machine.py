"""The machine as the guard reads it: files of sysfs, proc and udev, device numbers, and programs that are asked.

Everything goes through here, so that a recorded machine, a folder, can stand in for this one. A fact that cannot be
read raises ``Unread``; what is not there at all is an answer.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from shakedown.errors import EnvironmentFailure
from shakedown.tools.ask import Question, Unanswered

_MOST_BYTES: Final = 4 << 20
# LOOP_GET_STATUS64 in linux/loop.h: the answer begins with the device, the inode and, for a device, its number.
_LOOP_GET_STATUS64: Final = 0x4C05
_LOOP_INFO_BYTES: Final = 232
_GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESRCH, errno.ENODEV, errno.ENXIO})


class Unread(Exception):  # noqa: N818 - a state of knowledge, not an error
    """A fact that could not be learned; the words go on from "it could not be learned"."""


@contextmanager
def needed(device: str) -> Iterator[None]:
    """Where nothing can go on without a fact. Raises EnvironmentFailure."""
    try:
        yield
    except Unread as failure:
        raise EnvironmentFailure(
            f"{device}: it could not be learned {failure}", hint="reading all of it takes root, outside of a container"
        ) from failure


class Machine:
    """This machine, or, with another ``root``, one that was recorded."""

    def __init__(self, root: Path = Path("/")) -> None:
        """Nothing is read yet."""
        self.root = root

    def at(self, path: str) -> Path:
        """Where an absolute path of the machine lies."""
        return self.root / path.lstrip("/")

    def text(self, path: str) -> str | None:
        """What a small file holds, None where there is none. Raises Unread."""
        content = self.content(path)
        return None if content is None else content.decode("utf-8", errors="surrogateescape")

    def content(self, path: str) -> bytes | None:
        """The bytes of a small file, None where there is none. Raises Unread."""
        try:
            with self.at(path).open("rb") as file:
                return file.read(_MOST_BYTES)
        except OSError as error:
            if error.errno in _GONE:
                return None
            raise Unread(f"what {path} says: {error.strerror}") from error

    def names(self, folder: str) -> list[str]:
        """What lies in a folder, nothing where there is none. Raises Unread."""
        try:
            return sorted(each.name for each in self.at(folder).iterdir())
        except OSError as error:
            if error.errno in _GONE:
                return []
            raise Unread(f"what {folder} holds: {error.strerror}") from error

    def link(self, path: str) -> str | None:
        """Where a link points to, None where there is none. Raises Unread."""
        try:
            return os.readlink(self.at(path))  # noqa: PTH115 - of the machine's own links the text counts
        except OSError as error:
            if error.errno in _GONE:
                return None
            raise Unread(f"where {path} leads: {error.strerror}") from error

    def real(self, path: str) -> str:
        """An absolute path of the machine without links."""
        return "/" + os.path.relpath(os.path.realpath(self.at(path)), os.path.realpath(self.root))

    def number(self, path: str) -> str | None:
        """The ``major:minor`` of the block device at a path; None where none is."""
        try:
            status = self.at(path).stat()
        except OSError:
            return None
        return _number(status.st_rdev) if stat.S_ISBLK(status.st_mode) else None

    def file(self, path: str) -> tuple[str, int] | None:
        """Where a regular file lies: its file system's ``major:minor``, and its inode. None where there is none."""
        try:
            status = self.at(path).stat()
        except OSError:
            return None
        return (_number(status.st_dev), status.st_ino) if stat.S_ISREG(status.st_mode) else None

    def behind_loop(self, kernel_name: str) -> tuple[str, int] | None:
        """What a loop device stands on: a device's number, and the inode if that is only where its file lies, else 0.

        None where it stands on nothing. Raises Unread.
        """
        answer = bytearray(_LOOP_INFO_BYTES)
        try:
            descriptor = os.open(self.at(f"/dev/{kernel_name}"), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                fcntl.ioctl(descriptor, _LOOP_GET_STATUS64, answer)
            finally:
                os.close(descriptor)
        except OSError as error:
            if error.errno in _GONE:
                return None
            raise Unread(f"what {kernel_name} stands on: {error.strerror}") from error
        file_system, inode, device = struct.unpack_from("=QQQ", answer)
        # Of a file the third is 0, and was the file system's device in older kernels.
        return (_number(file_system), inode) if device in (0, file_system) else (_number(device), 0)

    def is_exclusive(self, path: str) -> bool:
        """Whether the device could be had for oneself alone just now. Raises Unread."""
        try:
            os.close(os.open(self.at(path), os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC | os.O_NONBLOCK))
        except OSError as error:
            if error.errno == errno.EBUSY:
                return False
            raise Unread(f"whether {path} is in use: it cannot be opened ({error.strerror})") from error
        return True

    def bytes_at(self, path: str, offset: int, length: int) -> bytes:
        """What a device holds there. Raises Unread."""
        try:
            descriptor = os.open(self.at(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                return os.pread(descriptor, length, offset)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise Unread(f"what {path} holds: {error.strerror}") from error

    def ask(self, program: str, *arguments: str, good: tuple[int, ...] = (0,)) -> str:
        """What a program prints. Raises Unread if it is missing, hangs, or ends with no ``good`` exit status."""
        try:
            with Question(program, *arguments) as question:
                answer = question.wait()
        except Unanswered as why:
            raise Unread(f"what {program} says: it {why}") from why
        if answer.status not in good:
            raise Unread(f"what {program} says: it ended with exit status {answer.status}")
        return answer.output.decode("utf-8", errors="replace")


def _number(device: int) -> str:
    return f"{os.major(device)}:{os.minor(device)}"
