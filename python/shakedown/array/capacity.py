"""What an array takes of each drive, for how much data it has room, how much it holds, and what it leaves unused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Self

from shakedown import _core
from shakedown.array.order import RebuildOrder
from shakedown.array.zfs import ZfsOptions
from shakedown.layouts import LAYOUTS
from shakedown.units import format_size

# Partitions and labels leave a little of any drive.
_WORTH_TELLING: Final = 0.01
_COUNTED_BYTES: Final = 128 << 10
# Of any size: shares are the same.
_ANY_BYTES: Final = 1 << 40


@dataclass(frozen=True)
class Capacity:
    """``held_bytes`` of the ``usable_bytes`` are data.

    ``unused_bytes`` are of one drive of each kind, by name, and ``drives`` how many of it there are.
    """

    member_bytes: int
    usable_bytes: int
    held_bytes: int
    unused_bytes: dict[str, int]
    drives: dict[str, int]

    @classmethod
    def of(cls, order: RebuildOrder, capacities: Mapping[str, int]) -> Self:
        """``capacities`` are those of the drives by their names, the new one's, too."""
        member_bytes = order.used_bytes(min(capacities.values()))
        rooms = {name: order.room_bytes(size) for name, size in capacities.items()}
        unused = {name: room - member_bytes for name, room in rooms.items() if room > member_bytes}
        drives = {name: order.drives.count(name) for name in unused}
        room_bytes = usable_bytes(order, member_bytes)
        return cls(member_bytes, room_bytes, round(order.fill * room_bytes), unused, drives)

    @property
    def words(self) -> str:
        """A sentence or two."""
        room = f"{format_size(self.usable_bytes)} of data"
        used = f"The array uses {format_size(self.member_bytes)} of each drive, has room for {room} and {self._holds}."
        left = [
            f"{format_size(unused)} of {'each ' if self.drives[name] > 1 else ''}{name}"
            for name, unused in self.unused_bytes.items()
            if unused > _WORTH_TELLING * (self.member_bytes + unused)
        ]
        return f"{used} Unused: {', '.join(left)}." if left else used

    @property
    def _holds(self) -> str:
        if not self.held_bytes:
            return "is empty"
        return "is full" if self.held_bytes == self.usable_bytes else f"holds {format_size(self.held_bytes)}"


def data_a_shown_byte(order: RebuildOrder) -> float:
    """How much data fills a byte of what ``df`` shows.

    ZFS shows what any block takes as if it were one of 128 KiB (``vdev_deflate_ratio``); small ones take more.
    """
    if not isinstance(order.options, ZfsOptions):
        return 1.0
    counted = replace(order, options=replace(order.options, record_bytes=_COUNTED_BYTES))
    return usable_bytes(order, _ANY_BYTES) / usable_bytes(counted, _ANY_BYTES)


def usable_bytes(order: RebuildOrder, member_bytes: int) -> int:
    """Room for data in an array that uses so much of each drive."""
    width = len(order.members)
    if isinstance(order.options, ZfsOptions):
        own = order.options
        pool = (order.layout, width, member_bytes, own.record_bytes, own.ashift, own.draid)
        return _core.usable_bytes(*pool, own.release)
    drives = {"raid1": 1.0, "raid10": width / order.options.all_copies}.get(
        order.layout, width - LAYOUTS[order.layout].parity
    )
    return round(member_bytes * drives)
