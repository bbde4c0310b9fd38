"""``/proc/mdstat``: what md says of its arrays, and of a rebuild on the way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_KIB: Final = 1024
_SYNCS: Final = ("recovery", "resync", "reshape", "check", "repair")


@dataclass(frozen=True)
class Member:
    """A drive of an array; ``number`` is its slot or, of one that was added later, the next free number."""

    device: str
    number: int
    faulty: bool = False
    spare: bool = False


@dataclass(frozen=True)
class Sync:
    """A rebuild (``recovery``), ``resync``, ``reshape``, ``check`` or ``repair``.

    ``waiting`` is md's reason for not having begun (``DELAYED``, ``PENDING``, ``REMOTE``); the figures are then None.
    Bytes are those of one member; ``finish_s`` is md's own estimate.
    """

    action: str
    waiting: str | None = None
    done_bytes: int | None = None
    total_bytes: int | None = None
    finish_s: float | None = None
    bytes_per_s: int | None = None


@dataclass(frozen=True)
class Array:
    """One array. ``wanted`` and ``working`` count its drives; ``level`` is None of one that is not active."""

    name: str
    level: str | None
    members: tuple[Member, ...]
    size_bytes: int | None = None
    wanted: int | None = None
    working: int | None = None
    sync: Sync | None = None

    @property
    def degraded(self) -> bool:
        """Whether a drive is missing."""
        return self.wanted is not None and self.working is not None and self.working < self.wanted


def parse_mdstat(text: str) -> dict[str, Array]:
    """Arrays by name. Lines that are not understood are passed over: md adds some in every other kernel."""
    arrays: dict[str, Array] = {}
    for block in re.split(r"\n(?=\S)", text):
        head, _, rest = block.partition("\n")
        array = _array(head, rest)
        if array is not None:
            arrays[array.name] = array
    return arrays


def _array(head: str, rest: str) -> Array | None:
    match = re.match(
        r"(md\S*) : (?:active|inactive|broken)(?: \([a-z-]+\))*(?: ([a-z]+\d*))?((?: \S+\[\d+\](?:\([A-Z]\))*)*)\s*$",
        head,
    )
    if match is None:
        return None
    name, level, members = match.groups()
    size = re.search(r"^\s+(\d+) blocks", rest, re.MULTILINE)
    drives = re.search(r"\[(\d+)/(\d+)\]", rest)
    return Array(
        name,
        level=level,
        members=tuple(_members(members or "")),
        size_bytes=int(size[1]) * _KIB if size else None,
        wanted=int(drives[1]) if drives else None,
        working=int(drives[2]) if drives else None,
        sync=_sync(rest),
    )


def _members(text: str) -> list[Member]:
    found = re.findall(r"(\S+)\[(\d+)\]((?:\([A-Z]\))*)", text)
    return [Member(device, int(number), "(F)" in flags, "(S)" in flags) for device, number, flags in found]


def _sync(rest: str) -> Sync | None:
    actions = "|".join(_SYNCS)
    if waiting := re.search(rf"^\s+({actions})\s*=\s*([A-Z]+)\s*$", rest, re.MULTILINE):
        return Sync(waiting[1], waiting=waiting[2])
    match = re.search(
        rf"({actions})\s*=\s*[\d.]+%\s+\((\d+)/(\d+)\)(?:\s+finish=(\d+\.\d+)min)?(?:\s+speed=(\d+)K/sec)?", rest
    )
    if match is None:
        return None
    action, done, total, minutes, speed = match.groups()
    return Sync(
        action,
        done_bytes=int(done) * _KIB,
        total_bytes=int(total) * _KIB,
        finish_s=float(minutes) * 60 if minutes else None,
        bytes_per_s=int(speed) * _KIB if speed else None,
    )
