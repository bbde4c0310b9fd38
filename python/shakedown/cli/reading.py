"""How far a long log has been read: one line on standard error now and then, none for a short one."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from shakedown.units import NS_PER_S, format_left, format_size

_EVERY_S: Final = 10.0
# The clock is looked at this seldom, since a gigabyte has millions of lines.
_LINES_A_LOOK: Final = 20_000


def told(
    lines: Iterator[bytes], size_bytes: int | None, *, clock_s: Callable[[], float] = time.monotonic
) -> Iterator[bytes]:
    """The same lines. ``size_bytes`` is that of the whole log, None where it is not known before its end."""
    began_s = said_s = clock_s()
    read_bytes = 0
    for number, line in enumerate(lines, start=1):
        read_bytes += len(line)
        if number % _LINES_A_LOOK == 0 and clock_s() - said_s >= _EVERY_S:
            said_s = clock_s()
            print(_line(read_bytes, size_bytes, said_s - began_s), file=sys.stderr, flush=True)
        yield line


def size_bytes(path: Path | None) -> int | None:
    """Of a log that is a plain file as it will be read; None for a pipe, the journal and a compressed one."""
    if path is None or not path.is_file() or path.suffix == ".gz":
        return None
    return path.stat().st_size


def _line(read_bytes: int, whole_bytes: int | None, took_s: float) -> str:
    if whole_bytes is None or read_bytes >= whole_bytes:
        return f"triage: {format_size(read_bytes)} read"
    left_ns = took_s * NS_PER_S * (whole_bytes - read_bytes) / read_bytes
    return f"triage: {format_size(read_bytes)} of {format_size(whole_bytes)} read, {format_left(left_ns)}"
