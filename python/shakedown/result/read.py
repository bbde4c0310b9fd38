"""A file of a run folder, read whole: only ever a regular one, for others would be waited for."""

from __future__ import annotations

import stat
from pathlib import Path

from shakedown.errors import UsageError


def read_regular(path: Path, hint: str) -> bytes:
    """The bytes of ``path``. Raises UsageError with ``hint``; FileNotFoundError and NotADirectoryError as they come."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"`{path}` is not a file", hint=hint)
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise UsageError(f"`{path}` cannot be read: {error.strerror}", hint=hint) from error
