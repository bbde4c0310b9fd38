"""The journal of a run: what has been done and when by the clock on the wall, a JSON line each, durable at once."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

from shakedown.result.atomic import failed_write
from shakedown.result.read import read_regular

JOURNAL_NAME: Final = "journal"

_BEGINNING: Final = b'{"time": "'


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


def entries(folder: Path) -> list[dict[str, Any]]:
    """All events, in their order. What a kill cut off is left out. Raises UsageError."""
    return [entry for line in _lines(folder) if (entry := _entry(line))]


def tells(folder: Path, event: str, *, step: str) -> bool:
    """Whether an event of a step is in the journal. Raises UsageError."""
    return any((entry.get("event"), entry.get("step")) == (event, step) for entry in entries(folder))


def tells_only(folder: Path, event: str) -> bool:
    """Whether each of its lines tells of that event; a kill may have cut off the last. Raises UsageError."""
    lines = _lines(folder)
    if lines and not lines[-1].endswith(b"\n") and lines[-1].startswith(_BEGINNING[: len(lines[-1])]):
        lines.pop()
    return all(_entry(line).get("event") == event for line in lines)


def _lines(folder: Path) -> list[bytes]:
    try:
        content = read_regular(
            folder / JOURNAL_NAME, "restore it from a copy; without it a run cannot go on: start another"
        )
    except FileNotFoundError:
        return []
    return content.splitlines(keepends=True)


def _entry(line: bytes) -> dict[str, Any]:
    """The event of a line; nothing if it is none."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return entry if isinstance(entry, dict) else {}
