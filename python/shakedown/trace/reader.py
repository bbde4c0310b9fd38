"""Which reader a file is for: each format shows in how it begins."""

from __future__ import annotations

import os
import re
import stat
import zlib
from pathlib import Path
from typing import Final

from shakedown.errors import UsageError
from shakedown.trace.packed import GZIP

_BEGINNINGS: Final = {
    "read_iolog": re.compile(rb"fio version \d+ iolog\b"),
    "read_blktrace": re.compile(rb"[\x01-\xff]tae|eat[\x01-\xff]", re.DOTALL),
    "read_blkparse": re.compile(rb"\d+,\d+\s+\d+\s+\d+\s+\d+\.\d{9}\s"),
    "read_msr": re.compile(rb"\d+,[^,\n]*,\d+,(?:Read|Write),\d+,\d+,\d+\s"),
    "read_csv": re.compile(rb"(?:[^\n]*,)?\s*submitted_ns\s*[,\r\n]"),
}
_LOOKED_AT_BYTES: Final = 4096


def trace_path(path: str | os.PathLike[str], reader: str) -> Path:
    """The path of a file that may be for this reader. Raises UsageError for what is no path, and for another's file."""
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"a trace is given by its path, not by {path!r:.60}", hint='like `"trace.log"`')
    path = Path(path)
    _refuse_endless(path)
    beginning = _beginning(path)
    fitting = [each for each, begins in _BEGINNINGS.items() if begins.match(beginning)]
    if fitting and reader not in fitting:
        raise UsageError(f"`{path}` is of another format than `{reader}` reads", hint=f"`{fitting[0]}` reads it")
    return path


def _refuse_endless(path: Path) -> None:
    """Raise UsageError for a device or a pipe: all of a file is read, more than once, and that may have no end."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # for its reader to say
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise UsageError(f"`{path}` is not a file", hint="write the trace into a file first, and give that")


def _beginning(path: Path) -> bytes:
    """What a file begins with, unpacked; nothing where it cannot be read, which is for its reader to say."""
    try:
        with path.open("rb") as file:
            data = file.read(_LOOKED_AT_BYTES)
    except (OSError, ValueError):
        return b""
    if data.startswith(GZIP):
        try:
            data = zlib.decompressobj(wbits=31).decompress(data, _LOOKED_AT_BYTES)
        except zlib.error:
            return b""
    return data.lstrip()
