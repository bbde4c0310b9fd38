"""Our mark on a file: a sidecar that says that what is in the file is ours to overwrite.

The mark names the file's inode, size and time of last modification, so that it is void as soon as anybody else has
written to the file or put another in its place. While a load writes, the last modification cannot be known: the mark
then says so, and holds for the same run only.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from shakedown.errors import RefusedError
from shakedown.result.atomic import replace_json

_FORMAT_VERSION: Final = 1
_LARGEST_BYTES: Final = 4096


def sidecar(path: Path) -> Path:
    """Where the mark of a file stands: ``FILE.shakedown``."""
    return path.with_name(f"{path.name}.shakedown")


def is_ours(path: Path, status: os.stat_result, run: Path) -> bool:
    """Whether the file's content is known to be that of an earlier run, or of this one before it was interrupted."""
    mark = _read(sidecar(path))
    if mark is None or mark.get("inode") != status.st_ino or mark.get("size_bytes") != status.st_size:
        return False
    if mark.get("modified_ns") is None:
        return mark.get("run") == str(run)
    return bool(mark["modified_ns"] == status.st_mtime_ns)


def is_of_run(path: Path, run: Path) -> bool:
    """Whether the run in the folder ``run`` was the last to mark the file."""
    mark = _read(sidecar(path))
    return mark is not None and mark.get("run") == str(run)


def lay(path: Path, status: os.stat_result, run: Path, *, writing: bool) -> None:
    """Mark the file; ``writing`` from just before a load until it has ended.

    Raises RefusedError if something else is in its place, EnvironmentFailure if it cannot be written.
    """
    place = sidecar(path)
    if os.path.lexists(place) and _read(place) is None:
        raise RefusedError(f"{place} is in the way and not ours", hint="move it, or take another target")
    mark = {
        "format_version": _FORMAT_VERSION,
        "what": "the file beside this one holds nothing but Shakedown's test data",
        "inode": status.st_ino,
        "size_bytes": status.st_size,
        "modified_ns": None if writing else status.st_mtime_ns,
        "run": str(run),
    }
    replace_json(place, mark)


def lift(path: Path) -> None:
    """Remove our mark, if there is one."""
    if _read(sidecar(path)) is not None:
        sidecar(path).unlink()


def _read(place: Path) -> dict[str, object] | None:
    """A mark of ours, or None for whatever else may be there."""
    try:
        with os.fdopen(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            mark = json.loads(file.read(_LARGEST_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return mark if isinstance(mark, dict) and mark.get("format_version") == _FORMAT_VERSION else None
