"""The journal of a run: what has been done and when by the clock on the wall, a JSON line each, durable at once."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from shakedown.result.atomic import failed_write
from shakedown.result.read import read_regular

JOURNAL_NAME: Final = "journal"


def note(folder: Path, event: str, **facts: str | int | float | bool | None) -> None:
    """Append an event to the journal of ``folder``. Raises EnvironmentFailure."""
    line = json.dumps({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **facts})
    path = folder / JOURNAL_NAME
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise failed_write(path, error) from error


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
