"""What every reader of traces makes, and how it says that a file is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import polars as pl

from shakedown.errors import UsageError
from shakedown.requests import VERBS

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

MOST: Final = 2**63 - 1
"""The largest time or size that a frame can hold."""


def trace_frame(requests: Iterable[Request]) -> pl.DataFrame:
    """Requests in any order as a frame with ``TRACE_SCHEMA``."""
    frame = pl.DataFrame(list(requests), schema=TRACE_SCHEMA, orient="row")
    return frame.sort("submitted_ns", maintain_order=True)


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text that are not blank, with their numbers from 1. Raises UsageError."""
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if stripped := line.strip():
                    yield number, stripped
    except UnicodeDecodeError as error:
        raise UsageError(f"`{path}` is not text: {error.reason}", hint=OTHER_READERS) from error
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> UsageError:
    """The error for a file that cannot be opened or read."""
    return UsageError(f"`{path}` cannot be read: {error.strerror}", hint="give the path of a file that you may read")


def malformed(path: Path, line: int, reason: str, *, hint: str = "mend the line, or leave it out") -> UsageError:
    """The error for a line that is not what the format wants."""
    return UsageError(f"`{path}` line {line}: {reason}", hint=hint)


def number(path: Path, line: int, name: str, text: str) -> int:
    """A whole number from 0 that a frame can hold. Raises UsageError."""
    if not (text.isascii() and text.isdecimal()) or int(text) > MOST:
        raise malformed(path, line, f"the {name} `{text}` is not a whole number from 0 to {MOST}")
    return int(text)
