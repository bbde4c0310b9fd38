"""What a request costs the drives of an array, by its layout alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from shakedown.analysis.explain.load import Load
from shakedown.errors import UsageError

SECTOR_BYTES: Final = 4096
"""What ZFS splits a record down to on drives with sectors of 4 KiB."""

MOST_MEMBERS: Final = 1920
"""Of an array of md: roles in 4 KiB less the header (`mdp_superblock_1`)."""
_MOST_OF_A_VDEV: Final = 255


class _Kind(NamedTuple):
    parity: int
    least_width: int
    zfs: bool = False


_KINDS: Final = {
    "single": _Kind(0, 1),
    "raid0": _Kind(0, 2),
    "raid1": _Kind(0, 2),
    "raid10": _Kind(0, 2),
    "raid5": _Kind(1, 2),
    "raid6": _Kind(2, 4),
    "mirror": _Kind(0, 2),
    "raidz1": _Kind(1, 2, zfs=True),
    "raidz2": _Kind(2, 3, zfs=True),
    "raidz3": _Kind(3, 4, zfs=True),
}
_SHOWN: Final = {"single": "one drive", "mirror": "mirror"}


class DriveWork(NamedTuple):
    """Requests at the drives, all of them together, per request of the host."""

    reads: float
    writes: float

    @property
    def total(self) -> float:
        """Reads and writes."""
        return self.reads + self.writes

    @property
    def read_share(self) -> float:
        """Share of reads among them."""
        return self.reads / self.total


@dataclass(frozen=True)
class Layout:
    """An array of ``width`` drives."""

    kind: str
    width: int

    def __post_init__(self) -> None:
        """Raise UsageError for what cannot be built."""
        if self.kind not in _KINDS:
            raise UsageError(f"there is no layout `{self.kind}` here", hint=f"one of {', '.join(_KINDS)}")
        least = _KINDS[self.kind].least_width
        if self.width < least:
            raise UsageError(
                f"{self.kind} of {self.width}: it needs {least} drives or more", hint="--width says how many"
            )
        most = _MOST_OF_A_VDEV if _KINDS[self.kind].zfs else MOST_MEMBERS
        if self.kind != "single" and self.width > most:
            raise UsageError(f"{self.kind} of {self.width}: it takes {most} at the most", hint="--width says how many")
        if self.kind == "single" and self.width > 1:
            raise UsageError(f"single of {self.width}: it is one drive", hint="say which layout the drives have")
        if self.kind == "raid10" and self.width % 2:
            raise UsageError(f"raid10 of {self.width}: its drives are pairs here", hint="give an even width")

    @property
    def copies(self) -> int:
        """How often a block is stored."""
        return {"raid1": self.width, "mirror": self.width, "raid10": 2}.get(self.kind, 1)

    @property
    def data_drives(self) -> int:
        """How many drives' worth of data it holds; a long stream moves at so many times a drive's rate."""
        return self.width // self.copies - _KINDS[self.kind].parity

    def small_request(self, load: Load) -> DriveWork:
        """Drive requests for a request that shares its stripe with no other.

        md's parity layouts read the old data and parity, then write both (4 and 6 requests a write, rows R079 to R083
        of the published measurements). ZFS writes whole stripes only, but spreads a record, here a request, over the
        drives.
        """
        parity = _KINDS[self.kind].parity
        if _KINDS[self.kind].zfs:
            pieces = min(self.data_drives, -(-load.block_bytes // SECTOR_BYTES))
            return DriveWork(load.read_share * pieces, load.write_share * (pieces + parity))
        if parity:
            return DriveWork(load.read_share + load.write_share * (1 + parity), load.write_share * (1 + parity))
        return DriveWork(load.read_share, load.write_share * self.copies)

    def __str__(self) -> str:
        """``RAID5 of 4``."""
        shown = _SHOWN.get(self.kind) or self.kind.replace("raidz", "RAIDZ").replace("raid", "RAID")
        return shown if self.kind == "single" else f"{shown} of {self.width}"
