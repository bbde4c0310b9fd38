"""What every reader of traces makes, and how it says that a file is wrong."""

from __future__ import annotations

import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from shakedown.errors import UsageError
from shakedown.requests import VERBS
from shakedown.trace.packed import open_text, unreadable
from shakedown.units import SECTOR_BYTES

TRACE_SCHEMA: Final = pl.Schema(
    {"submitted_ns": pl.Int64(), "verb": VERBS, "offset_bytes": pl.Int64(), "bytes": pl.Int64()}
)
"""One row a request, in the order of submission.

``submitted_ns`` counts from any moment: a replay begins with the first request. ``verb`` is ``read``, ``write``,
``trim`` or ``flush``; ``offset_bytes`` and ``bytes`` are 0 for a flush. A frame of requests has these columns, too.
"""

Request = tuple[int, str, int, int]
"""submitted_ns, verb, offset_bytes, bytes."""

OTHER_READERS: Final = "docs/python.md tells which reader is for which format"
"""The hint where a file is of another format than its reader's."""

ONE_LINE_A_REQUEST: Final = "give a file with a line for each request"
"""The hint where a file holds none."""

MOST: Final = 2**63 - 1
"""The largest time or size that a frame can hold."""


def trace_frame(
    path: Path, requests: Sequence[Request] | Mapping[str, pl.Series], *, hint: str = ONE_LINE_A_REQUEST
) -> pl.DataFrame:
    """A file's requests, in any order, as rows or as columns, as a frame with ``TRACE_SCHEMA``.

    Raises UsageError where there is none: of what asks for nothing nobody learns anything.
    """
    frame = pl.DataFrame(requests, schema=TRACE_SCHEMA, orient="row")
    if frame.is_empty():
        raise UsageError(f"`{path}` holds no request", hint=hint)
    return frame.sort("submitted_ns", maintain_order=True)


def numbered_lines(path: Path, *, may_be_cut: Callable[[str], bool] = lambda _: False) -> Iterator[tuple[int, str]]:
    """The lines of a text that are not blank, with their numbers from 1. Raises UsageError.

    Warns of a last line without an end that ``may_be_cut`` and would still be read.
    """
    try:
        with open_text(path) as lines:
            for number, line in enumerate(lines, start=1):
                if stripped := line.strip():
                    yield number, stripped
                    if not line.endswith("\n") and may_be_cut(stripped):
                        warn_of_the_last(path)
    except UnicodeDecodeError as error:
        raise UsageError(f"`{path}` is not text: {error.reason}", hint=OTHER_READERS) from error
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from error


def warn_of_the_last(path: Path) -> None:
    """A number that is cut is still a number: 40 of 4096."""
    warnings.warn(
        f"the last line of {path} has no line end: if the file was cut off, its last number is too",
        stacklevel=4,
    )


def malformed(path: Path, line: int, reason: str, *, hint: str = "mend the line, or leave it out") -> UsageError:
    """The error for a line that is not what the format wants."""
    return UsageError(f"`{path}` line {line}: {reason}", hint=hint)


def number(path: Path, line: int, name: str, text: str, *, unit: int = 1) -> int:
    """A whole number from 0, times ``unit``, that a frame can hold. Raises UsageError."""
    # Of thousands of digits Python makes no number.
    if not re.fullmatch(r"[0-9]{1,19}", text) or int(text) * unit > MOST:
        raise malformed(path, line, f"the {name} `{text}` is not a whole number from 0 to {MOST // unit}")
    return int(text) * unit


def unaskable(verb: str, offset_bytes: int, length_bytes: int) -> str:
    """Why no drive can be asked for that, or nothing. A replay would refuse it, too, but knows no lines."""
    if verb == "flush":
        return "a flush has no place: its offset and length are 0" if offset_bytes or length_bytes else ""
    end_bytes = offset_bytes + length_bytes
    if end_bytes > MOST:
        return f"the request ends at byte {end_bytes}, beyond {MOST}"
    if length_bytes == 0:
        return "the length is 0: nothing is asked for"
    if offset_bytes % SECTOR_BYTES or length_bytes % SECTOR_BYTES:
        return f"offset {offset_bytes} and length {length_bytes} are not both multiples of a sector's {SECTOR_BYTES}"
    return ""
