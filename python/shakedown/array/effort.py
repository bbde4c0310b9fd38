"""What a rebuild in the lab takes of this machine: bytes that pass through its drives, time, room on its disk.

Real time follows the bytes, not virtual time: they are those that are filled in, read back twice, and rebuilt.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from shakedown.array.capacity import usable_bytes
from shakedown.array.order import RebuildOrder
from shakedown.errors import UsageError
from shakedown.lab import bays
from shakedown.units import NS_PER_S, format_duration, format_size, format_two_sizes

# Of an idle core, where a write of bulk data is slower and a read faster (docs/lab.md).
_BYTES_PER_S: Final = 1e9
# Boots, and programs that are started.
_OF_EACH_S: Final = 10.0
_LONG_S: Final = 600.0
# `SPA_MINDEVSIZE` of OpenZFS.
_LEAST_OF_POOL_BYTES: Final = 64 << 20
_COPIES: Final = ("raid1", "mirror", "raid10")


@dataclass(frozen=True)
class Effort:
    """``moved_bytes`` pass through the drives; ``kept_bytes`` of them are kept on this machine's disk at once."""

    moved_bytes: int
    kept_bytes: int
    wall_s: float

    @property
    def words(self) -> str:
        """For people, with what makes it less where it is much."""
        less = "; less with `--fill`, `--member-size` or a smaller `--scale`" if self.wall_s > _LONG_S else ""
        return (
            f"about {format_size(self.moved_bytes)} will pass through the lab's drives, {format_size(self.kept_bytes)} "
            f"be kept on this disk: {format_duration(self.wall_s * NS_PER_S)} of a core with nothing else to do{less}"
        )

    @property
    def document(self) -> dict[str, Any]:
        """For programs."""
        return {"moved_bytes": self.moved_bytes, "kept_bytes": self.kept_bytes, "wall_s": round(self.wall_s, 1)}


def effort_in_lab(order: RebuildOrder, *, with_baseline: bool) -> Effort:
    """Of a rebuild there. Raises UsageError for what cannot be."""
    member_bytes = int(order.as_modelled().to_core()["member_bytes"])
    if order.is_zfs and member_bytes < _LEAST_OF_POOL_BYTES:
        least, left = format_two_sizes(_LEAST_OF_POOL_BYTES, member_bytes)
        raise UsageError(
            f"OpenZFS takes no drive on which it has less than {least}: here it would have {left}",
            hint="make the drives larger: `--scale 1/1000` of 4 TB is enough",
        )
    width = len(order.members)
    written = order.fill * member_bytes * width
    read_back = 2 * order.fill * usable_bytes(order, member_bytes)
    # ZFS rebuilds what is allocated, md all there is: from every other drive, or from the one that has the same.
    rebuilt = (order.fill if order.is_zfs else 1.0) * member_bytes
    sources = 1 if order.layout in _COPIES else width - 1
    turns = 1 + with_baseline + (order.state == "used")
    moved = written + read_back + turns * rebuilt * (sources + 1)
    return Effort(int(moved), int(written + order.fill * member_bytes), _OF_EACH_S + moved / _BYTES_PER_S)


def together(efforts: Iterable[Effort]) -> Effort:
    """One after the other; each leaves the disk to the next."""
    given = list(efforts)
    return Effort(
        sum(each.moved_bytes for each in given),
        max((each.kept_bytes for each in given), default=0),
        sum(each.wall_s for each in given),
    )


def check_disk(effort: Effort) -> None:
    """Raise UsageError if this machine's disk cannot keep what the drives of the lab are to hold."""
    free = shutil.disk_usage(bays.SPILL_FOLDER).free
    if effort.kept_bytes > free:
        raise UsageError(
            f"the lab's drives are to hold {format_size(effort.kept_bytes)}, and {bays.SPILL_FOLDER} has "
            f"{format_size(free)} free",
            hint="--scale 1/1000 makes drives smaller, --fill 10% what is on them",
        )
