"""The journal of a run: what has been done and when by the clock on the wall, a JSON line each, durable at once."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

from shakedown.result.atomic import failed_write
from shakedown.result.read import read_regular

JOURNAL_NAME: Final = "journal"


def note(folder: Path, event: str, **facts: str | int | float | bool | None) -> None:
    """Append an event to the journal of ``folder``. Raises EnvironmentFailure."""
    line = json.dumps({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **facts})
    path = folder / JOURNAL_NAME
    try:
        with path.open("a+b") as file:
            file.write(_end_of_what_was_cut_off(file) + line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise failed_write(path, error) from error


def _end_of_what_was_cut_off(file: BinaryIO) -> bytes:
    """A full disk may have left half a line: what comes behind it is one of its own."""
    if file.tell() == 0:
        return b""
    file.seek(-1, os.SEEK_END)
    return b"" if file.read(1) == b"\n" else b"\n"


def tells(folder: Path, event: str, *, step: str) -> bool:
    """Whether an event of a step is in the journal. What a kill cut off is left out. Raises UsageError."""
    try:
        lines = read_regular(folder / JOURNAL_NAME, "without it a run cannot go on: start another").splitlines()
    except FileNotFoundError:
        return False
    return any(_is_event(line, event, step) for line in lines)


def _is_event(line: bytes, event: str, step: str) -> bool:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(entry, dict) and (entry.get("event"), entry.get("step")) == (event, step)
