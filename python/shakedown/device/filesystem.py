"""What a path stands on: the file system's type, its free space, whether it does direct I/O."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path


def filesystem_type(path: Path) -> str:
    """The type of the file system that holds an absolute path without links, such as ``ext4``; empty if unknown."""
    kind = ""
    longest = -1
    for line in Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines():
        fields, _, rest = line.partition(" - ")
        mount_point = re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), fields.split()[4])
        # The last of several mounts on one place hides the others, hence the `>=`.
        if len(mount_point) >= longest and path.is_relative_to(mount_point):
            longest, kind = len(mount_point), rest.split()[0]
    return kind


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
