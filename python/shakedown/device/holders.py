"""Who else uses a file: the kernel as swap or behind a loop device, or a process that has it open for writing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from shakedown.device.disk.mounts import is_remote

_PROC: Final = Path("/proc")
_FDINFO: Final = re.compile(r"^(flags|mnt_id|ino):\s*(\d+)$", re.MULTILINE)


def holders(status: os.stat_result) -> list[str]:
    """Everyone who uses the file, in words; empty when nobody does, as far as we may look."""
    return [*_swap(status), *_loops(status), *_writers(status)]


def _swap(status: os.stat_result) -> Iterator[str]:
    for line in _text(_PROC / "swaps").splitlines()[1:]:
        if _same(re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), line.split()[0]), status):
            yield "the system swaps to it"


def _loops(status: os.stat_result) -> Iterator[str]:
    for backing in sorted(Path("/sys/block").glob("loop*/loop/backing_file")):
        if _same(_text(backing).rstrip("\n"), status):
            yield f"loop device /dev/{backing.parts[3]} stands on it"


def _writers(status: os.stat_result) -> Iterator[str]:
    for process in _PROC.glob("[0-9]*"):
        if process.name == str(os.getpid()):
            continue
        try:
            open_files = list((process / "fdinfo").iterdir())
        except OSError:
            continue  # it has ended, or it is somebody else's and we may not look
        if any(_may_write(each, status) and _same(str(process / "fd" / each.name), status) for each in open_files):
            yield f"process {process.name} ({_text(process / 'comm').strip()}) has it open for writing"


def _may_write(fdinfo: Path, status: os.stat_result) -> bool:
    """Whether something is open for writing there that may be the file: asked before it is touched.

    A stat of another's file on a dead mount would hang. Linux before 5.14 tells no inode.
    """
    told = dict(_FDINFO.findall(_text(fdinfo)))
    if int(told.get("flags", "0"), 8) & os.O_ACCMODE == os.O_RDONLY:
        return False
    return int(told["ino"]) == status.st_ino if "ino" in told else not _is_remote(fdinfo.parent.parent, told)


def _is_remote(process: Path, told: dict[str, str]) -> bool:
    lines = (line.partition(" - ") for line in _text(process / "mountinfo").splitlines())
    return any(head.split(" ")[0] == told.get("mnt_id") and is_remote(tail) for head, _, tail in lines)


def _same(path: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(Path(path).stat(), status)
    except OSError:
        return False


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="surrogateescape")
    except OSError:
        return ""
