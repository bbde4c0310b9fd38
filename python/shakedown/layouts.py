"""The layouts of arrays, of md and of ZFS."""

from __future__ import annotations

from math import ceil
from typing import Final, NamedTuple


class Kind(NamedTuple):
    """How many drives a layout takes at least, and how many pieces of parity a stripe has, or a group of dRAID."""

    least_width: int
    parity: int = 0


MD_LAYOUTS: Final = {"raid0": Kind(2), "raid1": Kind(2), "raid10": Kind(2), "raid5": Kind(2, 1), "raid6": Kind(4, 2)}
RAIDZ: Final = {"raidz1": Kind(2, 1), "raidz2": Kind(3, 2), "raidz3": Kind(4, 3)}
DRAID: Final = {"draid1": Kind(2, 1), "draid2": Kind(3, 2), "draid3": Kind(4, 3)}
ZFS_LAYOUTS: Final = {"mirror": Kind(2), **RAIDZ, **DRAID}
LAYOUTS: Final = {**MD_LAYOUTS, **ZFS_LAYOUTS}


class RaidzBlock(NamedTuple):
    """What a block takes of a raidz, in sectors: ``filled`` are data and parity, ``allocated`` is with the padding."""

    filled: int
    allocated: int


def raidz_block(data_sectors: int, width: int, parity: int) -> RaidzBlock:
    """As OpenZFS' ``vdev_raidz_psize_to_asize``, and ``allocated_sectors`` of the core.

    A parity sector of each kind for every row that is begun, and so much more that no gap is left that nothing fits in.
    """
    filled = data_sectors + parity * ceil(data_sectors / (width - parity))
    return RaidzBlock(filled, ceil(filled / (parity + 1)) * (parity + 1))
