"""Which files may be opened for writing, and which may not; the rules of whole disks are in `disk/rules.py`.

A target is refused unless it is shown that nobody's data can be lost: the file is blank, or carries our mark, or the
user has consented for exactly this file. A file in use is refused whatever the user says.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from shakedown.device.filesystem import filesystem_type
from shakedown.device.holders import holders
from shakedown.device.mark import is_ours
from shakedown.errors import RefusedError


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_CHUNK_BYTES: Final = 1 << 20
_ZEROS: Final = bytes(_CHUNK_BYTES)
# File systems whose regular files are the kernel's controls, not storage.
_CONTROLS: Final = _words(
    """
    proc sysfs debugfs tracefs securityfs cgroup cgroup2 configfs efivarfs pstore bpf fusectl devpts devtmpfs mqueue
    hugetlbfs binfmt_misc rpc_pipefs nfsd selinuxfs smackfs autofs
    """
)
_KINDS: Final = (
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def refuse_unfit(path: Path, run: Path) -> None:
    """Raise RefusedError for what is no target of this release at all, not even for reading; ``path`` is resolved."""
    mode = path.stat().st_mode
    for is_kind, words in _KINDS:
        if is_kind(mode):
            raise RefusedError(f"{path} is {words}, not a regular file", hint=_unfit_hint(mode, path))
    kind = filesystem_type(path)
    if kind in _CONTROLS:
        raise RefusedError(f"{path} is on {kind}: a control of the kernel, not storage")
    if path.is_relative_to(run):
        raise RefusedError(f"{path} is inside of the run's own folder", hint="take a target outside of it, or `--out`")


def admit_writing(path: Path, status: os.stat_result, run: Path, consent: Sequence[str]) -> None:
    """Raise RefusedError unless the regular file with this status may be overwritten; ``path`` is resolved."""
    if in_use := holders(status):
        raise RefusedError(f"{path} is in use: {'; '.join(in_use)}", hint="no consent overrides this")
    if str(path) in {str(Path(each).absolute()) for each in consent}:
        return
    hint = f"if its data may be destroyed: `--destroy-data-on {path}`"
    if status.st_nlink > 1:
        raise RefusedError(f"{path} has {status.st_nlink} names (hard links), so it is used elsewhere, too", hint=hint)
    if not is_ours(path, status, run) and not is_blank(path, status):
        raise RefusedError(f"{path} holds data that is not Shakedown's", hint=hint)


def is_blank(path: Path, status: os.stat_result) -> bool:
    """Whether a file is empty, or holes and zeros from end to end. Raises RefusedError if it is not the one meant."""
    descriptor = open_same(path, status, write=False)
    try:
        place = 0
        while (place := _next_data(descriptor, place)) < status.st_size:
            chunk = os.pread(descriptor, _CHUNK_BYTES, place)
            if not chunk or chunk != _ZEROS[: len(chunk)]:
                return not chunk
            place += len(chunk)
        return True
    finally:
        os.close(descriptor)


def open_same(path: Path, status: os.stat_result, *, write: bool) -> int:
    """Open the very file that was examined. Raises RefusedError if another stands in its place by now."""
    try:
        descriptor = os.open(path, (os.O_RDWR if write else os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise RefusedError(f"{path} cannot be opened as it was examined: {error.strerror}") from error
    if not os.path.samestat(os.fstat(descriptor), status):
        os.close(descriptor)
        raise RefusedError(f"{path} is another file than the one that was examined", hint="start again")
    return descriptor


def _next_data(descriptor: int, place: int) -> int:
    """The first byte from ``place`` on that is not in a hole; at or past the end if there is none."""
    try:
        return os.lseek(descriptor, place, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return os.fstat(descriptor).st_size
        return place  # the file system does not tell its holes: all of it is read


def _unfit_hint(mode: int, path: Path) -> str:
    if stat.S_ISBLK(mode):
        return "give the disk itself, by its name in /dev/disk/by-id, or a folder on a file system of the disk"
    if stat.S_ISSOCK(mode):
        return f"if an NBD server listens there: `nbd+unix://{path}`"
    return "give a regular file or a folder"
