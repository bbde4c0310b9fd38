"""What a request costs the drives of an array, by its layout alone."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Final, NamedTuple

from shakedown.analysis.explain.load import Load
from shakedown.errors import UsageError
from shakedown.layouts import DRAID, LAYOUTS, RAIDZ, ZFS_LAYOUTS, Kind, raidz_block

SECTOR_BYTES: Final = 4096
"""What ZFS splits a record down to on drives with sectors of 4 KiB."""

RECORD_BYTES: Final = 128 * 1024
"""ZFS' own `recordsize`."""

CHUNK_BYTES: Final = 512 * 1024
"""mdadm's own `--chunk`."""

MOST_MEMBERS: Final = 1920
"""Of an array of md: roles in 4 KiB less the header (`mdp_superblock_1`)."""
_MOST_OF_A_VDEV: Final = 255


_KINDS: Final = {"single": Kind(1), **{name: kind for name, kind in LAYOUTS.items() if name not in DRAID}}
ZFS_KINDS: Final = tuple(name for name in _KINDS if name in ZFS_LAYOUTS)
KINDS_OF_COPIES: Final = ("raid10", "mirror")
"""Several drives hold the same, and there may be several such."""
KINDS_OF_CHUNKS: Final = ("raid0", "raid10", "raid5", "raid6")
"""A chunk lies on one drive, the next on another."""

_SHOWN: Final = {"single": "one drive", "mirror": "mirror"}


class DriveWork(NamedTuple):
    """Requests at the drives, all of them together, per request of the host.

    Each moves ``piece_bytes`` in the mean; ``abreast`` of them go to as many drives at once, and ``steps`` come one
    after the other until it is done. ``gathered_bytes`` of data are written in no place of their own: at best one
    behind the other, so that these writes move no heads.
    """

    reads: float
    writes: float
    piece_bytes: int
    steps: float
    abreast: int = 1
    gathered_bytes: float = 0

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
    """An array of ``width`` drives.

    ``together`` is how many hold the same in ``raid10`` and ``mirror``; ``record_bytes`` is ZFS' ``recordsize``, which
    is read, verified and written whole; ``chunk_bytes`` is md's ``--chunk``, which lies on one drive.
    """

    kind: str
    width: int
    together: int = 2
    record_bytes: int = RECORD_BYTES
    chunk_bytes: int = CHUNK_BYTES

    def __post_init__(self) -> None:
        """Raise UsageError for what cannot be built."""
        if self.kind not in _KINDS:
            raise UsageError(f"there is no layout `{self.kind}` here", hint=f"one of {', '.join(_KINDS)}")
        least = _KINDS[self.kind].least_width
        if self.width < least:
            raise UsageError(
                f"{self.kind} of {self.width}: it needs {least} drives or more", hint="--width says how many"
            )
        most = _MOST_OF_A_VDEV if self.is_zfs else MOST_MEMBERS
        if self.kind != "single" and self.width > most:
            raise UsageError(f"{self.kind} of {self.width}: it takes {most} at the most", hint="--width says how many")
        if self.kind == "single" and self.width > 1:
            raise UsageError(f"single of {self.width}: it is one drive", hint="say which layout the drives have")
        if self.kind in KINDS_OF_COPIES and self.width % self.together:
            together = "pairs" if self.together == 2 else f"{self.together} together"
            below = self.width - self.width % self.together
            hint = f"give another width, or say how many drives hold the same: `--set copies={self.width}`"
            if self.kind == "raid10":
                above = f"--width {below + self.together}"
                near = f"between --width {below} and {above}" if below >= least else f"below {above}"
                hint = f"md takes that, which is not reckoned with here; what it does lies {near}"
            raise UsageError(f"{self.kind} of {self.width}: its drives are {together} here", hint=hint)

    @property
    def is_zfs(self) -> bool:
        """Copy on write, in records."""
        return self.kind in ZFS_KINDS

    @property
    def copies(self) -> int:
        """How often a block is stored."""
        if self.kind == "raid1":
            return self.width
        return self.together if self.kind in KINDS_OF_COPIES else 1

    @property
    def data_drives(self) -> int:
        """How many drives' worth of data a stripe holds, or a row of RAIDZ that is full."""
        return self.width // self.copies - _KINDS[self.kind].parity

    @property
    def allocated_bytes(self) -> int:
        """What each copy of a record of ZFS takes of the drives: whole sectors, of RAIDZ with parity and padding."""
        data = ceil(self.record_bytes / SECTOR_BYTES)
        if self.kind in RAIDZ:
            data = raidz_block(data, self.width, _KINDS[self.kind].parity).allocated
        return data * SECTOR_BYTES

    @property
    def abreast(self) -> int:
        """How many drives a long stream moves at once: in RAIDZ all, since data, parity and padding are on each."""
        return self.width // self.copies if self.is_zfs else self.data_drives

    @property
    def stream_drives(self) -> float:
        """A long stream moves at so many times a drive's rate.

        Of RAIDZ, written or read: the heads pass over parity and padding as slowly as over data.
        """
        return self.abreast * (self.record_bytes / self.allocated_bytes if self.is_zfs else 1)

    @property
    def stripe_bytes(self) -> int:
        """What is written to all drives of a parity layout without reading anything first."""
        return self.data_drives * self.chunk_bytes

    def lone_request(self, load: Load) -> DriveWork:
        """Drive requests for a request that is merged with no other; it begins where a chunk and a stripe do."""
        if self.is_zfs:
            return self._lone_request_of_zfs(load)
        parity = _KINDS[self.kind].parity
        if parity:
            return self._lone_request_of_parity(load, parity)
        pieces = min(self.data_drives, self._chunks(load.block_bytes))
        piece_bytes = -(-load.block_bytes // pieces)
        return DriveWork(pieces * load.read_share, pieces * load.write_share * self.copies, piece_bytes, 1, pieces)

    def _chunks(self, size_bytes: int) -> int:
        return -(-size_bytes // self.chunk_bytes) if self.kind in KINDS_OF_CHUNKS else 1

    def _lone_request_of_parity(self, load: Load, parity: int) -> DriveWork:
        """Whole stripes are written as they are. Of the part of one that is left md first reads what parity needs.

        That is the old data and parity, or the rest of the stripe, whichever are fewer: 4 and 6 requests for a small
        write (rows R079 to R083 of the published measurements), unless the array is so narrow that the rest is less.
        """
        pieces = min(self.width, self._chunks(load.block_bytes))
        whole, part_bytes = divmod(load.block_bytes, self.stripe_bytes)
        changed = self._chunks(part_bytes)
        read_first = min(changed + parity, self.data_drives - changed) if changed else 0
        written = (self.width if whole else 0) + (changed + parity if changed else 0)
        # Chunks of one drive that follow each other are one request.
        row_bytes = part_bytes / changed if changed else 0
        written_bytes = self.width * whole * self.chunk_bytes + (changed + parity) * row_bytes
        reads = load.read_share * pieces + load.write_share * read_first
        writes = load.write_share * written
        moved_bytes = load.read_share * load.block_bytes + load.write_share * (read_first * row_bytes + written_bytes)
        steps = load.read_share + load.write_share * (2 if read_first else 1)
        return DriveWork(reads, writes, round(moved_bytes / (reads + writes)), steps, pieces)

    def is_part_of_a_record(self, load: Load) -> bool:
        """ZFS moves more than was asked for."""
        return self.is_zfs and load.block_bytes < self.record_bytes

    def _lone_request_of_zfs(self, load: Load) -> DriveWork:
        """Of a record all is read, since its checksum is over all of it, and all is written, in a new place.

        RAIDZ spreads it over the data drives. Who writes a part of one reads the rest first. Several records lie one
        behind the other: a piece of them is on its way over the parity and padding between.
        """
        records, data = ceil(load.block_bytes / self.record_bytes), ceil(self.record_bytes / SECTOR_BYTES)
        pieces, written, rows = 1, self.copies, records * data
        if self.kind in RAIDZ:
            pieces = min(self.data_drives, records * data)
            written = min(self.width, records * (min(self.data_drives, data) + _KINDS[self.kind].parity))
            before_the_last = (records - 1) * self.allocated_bytes // SECTOR_BYTES
            rows = ceil(data / self.data_drives) + before_the_last // self.width
        is_part = self.is_part_of_a_record(load)
        return DriveWork(
            reads=pieces * (1 if is_part else load.read_share),
            writes=written * load.write_share,
            piece_bytes=rows * SECTOR_BYTES,
            steps=1 + (load.write_share if is_part else 0),
            abreast=pieces,
            gathered_bytes=max(load.block_bytes, self.record_bytes) * load.write_share,
        )

    def __str__(self) -> str:
        """``RAID5 of 4``."""
        shown = _SHOWN.get(self.kind) or self.kind.replace("raidz", "RAIDZ").replace("raid", "RAID")
        if self.kind == "mirror" and self.width > self.together:
            return f"{shown} of {self.width}, {'in pairs' if self.together == 2 else f'{self.together} copies'}"
        return shown if self.kind == "single" else f"{shown} of {self.width}"
