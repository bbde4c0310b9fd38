"""What a path stands on: the file system's type, its free space, whether it does direct I/O."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from shakedown.device.mountinfo import mount_of, parse_mounts
from shakedown.errors import EnvironmentFailure

_MOUNTINFO: Final = Path("/proc/self/mountinfo")


def filesystem_type(path: Path) -> str:
    """The type of the file system that holds an absolute path without links, such as ``ext4``; empty if unknown.

    Raises EnvironmentFailure if what the kernel says makes no sense.
    """
    try:
        mounts = parse_mounts(_MOUNTINFO.read_text(errors="surrogateescape"))
    except ValueError as error:
        raise EnvironmentFailure(f"what {_MOUNTINFO} says: {error}") from error
    mount = mount_of(mounts, str(path))
    return "" if mount is None else mount.kind


def free_bytes(folder: Path) -> int:
    """Bytes that we may still write to the file system of a folder."""
    space = os.statvfs(folder)
    return space.f_bavail * space.f_frsize


def does_direct_io(path: Path) -> bool:
    """Whether the file system lets a file be opened past the page cache."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
    except OSError as error:
        if error.errno == errno.EINVAL:
            return False
        raise
    return True
