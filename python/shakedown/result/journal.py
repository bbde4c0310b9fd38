"""The journal of a run: what has been done and when by the clock on the wall, a JSON line each, durable at once."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from shakedown.result.atomic import failed_write

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
