"""``/proc/PID/mountinfo``: what is mounted where, and on which mount a path lies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple


class Mount(NamedTuple):
    """One of its lines; ``number`` is the device's, ``major:minor``."""

    number: str
    point: str
    source: str
    kind: str


def parse_mounts(text: str) -> list[Mount]:
    """The mounts in the order in which they were made. Raises ValueError for a line that makes no sense."""
    return [_mount(line) for line in text.split("\n") if line]


def mount_of(mounts: Sequence[Mount], path: str) -> Mount | None:
    """The mount on which an absolute path without links lies: of the longest the last, which hides the others."""
    inside = (mount for mount in mounts if f"{path}/".startswith(f"{mount.point.rstrip('/')}/"))
    return max(reversed(list(inside)), key=lambda mount: len(mount.point), default=None)


def unescaped(text: str) -> str:
    """A path as it is: the kernel writes blanks and the like as ``\\040``, here and in ``/proc/swaps``."""
    return re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), text)


def _mount(line: str) -> Mount:
    head, _, tail = line.partition(" - ")
    fields, rest = head.split(" "), tail.split(" ")
    if len(fields) < 6 or len(rest) < 2:
        raise ValueError("a line of it makes no sense")
    return Mount(fields[2], unescaped(fields[4]), unescaped(rest[1]), rest[0])
