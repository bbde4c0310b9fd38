"""A text file that a user names: only ever a regular one that is not too large, for others would fill the memory."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Final

from shakedown.errors import UsageError

MOST_BYTES: Final = 16 * 1024 * 1024
"""Many times what the largest profile, job or list of faults has."""


def read_named_text(path: Path, *, hint: str) -> str:
    """Its text, without a byte order mark. Raises UsageError with ``hint``."""
    try:
        return read_named_file(path, hint=hint).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"`{path}` is not UTF-8 text", hint=f"save it as UTF-8, if it is text; {hint}") from error


def read_named_file(path: Path, *, hint: str, most_bytes: int = MOST_BYTES) -> bytes:
    """Its bytes, of which there may be ``most_bytes``. Raises UsageError with ``hint``."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"`{path}` is not a file", hint=hint)
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise UsageError(f"`{path}` cannot be read: {error.strerror}", hint=hint) from error
    except ValueError as error:  # no path at all
        raise UsageError(f"{str(path)!a} cannot be read: {error}", hint=hint) from error
    if len(content) > most_bytes:
        raise UsageError(f"`{path}` is larger than {most_bytes >> 20} MiB", hint=hint)
    return content
