"""A modelled array on a host like the lab's, as `rebuild` makes and fills it there: to lay the two side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from shakedown.array.capacity import usable_bytes
from shakedown.array.order import RebuildOrder
from shakedown.layouts import ZFS_LAYOUTS
from shakedown.target.md_options import MdOptions

_GROUP_BYTES: Final = 128 << 20
_GROUPS_TOGETHER: Final = 16
# What filled the array is unmounted and mounted again, and read back, so long before the rebuild, as the lab's requests
# show: mounted 1.3 to 1.6 s, read 1.0 to 1.1 s before. In the model 1.2 s. Before a load it has also run alone for a
# minute.
_MOUNTED_BEFORE_NS: Final = 1_200_000_000
_MOUNTED_BEFORE_LOADED_NS: Final = 61_600_000_000
# Making a filesystem and filling it lets the stripe cache grow: so much is read at once as the lab's rebuilds begin,
# without and with a load.
_STRIPES: Final = {"raid5": (329, 383), "raid6": (359, 409)}


def like_lab(layout: str, settings: Sequence[str] = ()) -> tuple[str, ...]:
    """The settings, and what else makes the machine like the lab's: kernel, host adapter, one processor.

    Of a pool also its memory, a quarter of which is the cache's, and the files that it is filled with.
    """
    of_zfs, of_md = ("memory=2GiB", "cache=512MiB", "cores=1"), ("hz=100", "segments=254", "processors=1")
    given = {each.partition("=")[0] for each in settings}
    files = () if "run" in given else ("file=auto",)
    usual = (*of_zfs, *files) if layout in ZFS_LAYOUTS else of_md
    return (*(each for each in usual if each.partition("=")[0] not in given), *settings)


def as_filled_in_lab(order: RebuildOrder) -> RebuildOrder:
    """With the filesystem that `rebuild` makes on an array of md, unless the order says where its journal lies."""
    if not isinstance(order.options, MdOptions):
        return order
    stripes = _STRIPES.get(order.layout, (None, None))[order.load is not None]
    mounted_before_ns = _MOUNTED_BEFORE_NS if order.load is None else _MOUNTED_BEFORE_LOADED_NS
    made = MdOptions(
        stripe_cache=stripes, journal_at_bytes=_journal_at_bytes(order), mounted_before_ns=mounted_before_ns
    )
    return replace(order, options=order.options.or_else(made))


def _journal_at_bytes(order: RebuildOrder) -> int:
    """Where mke2fs lays the journal: in the block group before the middle one.

    Where sixteen groups keep their bitmaps and inodes in the first (``flex_bg``), and there are so many before the
    middle, it is the next one: the first that is empty.
    """
    smallest = min(order.modelled_capacities[target] for target in order.members)
    middle = usable_bytes(order, order.used_bytes(smallest)) // 2 // _GROUP_BYTES
    together = _GROUPS_TOGETHER
    return (middle // together * together + 1 if middle > together else max(middle - 1, 0)) * _GROUP_BYTES
