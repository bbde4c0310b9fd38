"""A file is either the old one or the whole new one, whatever happens in between."""

from __future__ import annotations

import os
from pathlib import Path

from shakedown.errors import EnvironmentFailure


def sync_folder(folder: Path) -> None:
    """Make renames and new names in ``folder`` durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_file(path: Path, content: bytes) -> None:
    """Write ``content`` beside ``path``, make it durable, rename it into place. Raises EnvironmentFailure."""
    beside = path.with_name(f".{path.name}.new")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise EnvironmentFailure(
            f"`{path}` could not be written: {error.strerror or error}", hint="free some space or choose another --out"
        ) from error
