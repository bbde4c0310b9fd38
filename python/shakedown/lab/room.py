"""Room where the lab is built: looked at before a build, and named where a program has failed for want of it."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from shakedown.errors import EnvironmentFailure
from shakedown.units import format_size

# As programs say it, apt and those that write.
_FULL: Final = re.compile("No space left on device|enough free space|Disk quota exceeded")
# With so little left a disk is full whatever a program says.
_NEXT_TO_NOTHING_BYTES: Final = 1 << 20
# Of `stat`, whatever a file system's own are.
_BLOCK_BYTES: Final = 512


def require_room(place: Path, needed_bytes: int, *, reused: Path) -> None:
    """Raise EnvironmentFailure unless ``place``, there or not yet, has so much room with what lies in ``reused``."""
    needed_bytes -= _taken_bytes(reused)
    free_bytes = _free_bytes(place)
    if free_bytes < needed_bytes:
        raise EnvironmentFailure(
            f"the lab needs {format_size(needed_bytes)} at {place} while it is built, and {format_size(free_bytes)} "
            "are free there",
            hint="free some space, or build elsewhere: XDG_CACHE_HOME=/path shakedown lab build",
        )


def hint_if_full(place: Path, said: str) -> str | None:
    """What to do if it was for want of room that a program which works in ``place`` has failed; None if it was not."""
    free_bytes = _free_bytes(place)
    if not _FULL.search(said) and free_bytes > _NEXT_TO_NOTHING_BYTES:
        return None
    return f"a disk is full ({format_size(free_bytes)} are free at {place}): free some, or choose another place"


def _free_bytes(place: Path) -> int:
    there = next(each for each in (place, *place.parents) if each.exists())
    return shutil.disk_usage(there).free


def _taken_bytes(folder: Path) -> int:
    taken_bytes = 0
    for place, _, names in os.walk(folder):
        for name in names:
            # Another build, which is refused later, may be at work there.
            with suppress(FileNotFoundError):
                taken_bytes += Path(place, name).lstat().st_blocks * _BLOCK_BYTES
    return taken_bytes
