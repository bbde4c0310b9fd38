"""What a sector that cannot be read would cost a rebuild, and how often data sheets let one be met."""

from __future__ import annotations

from collections.abc import Sequence
from math import expm1
from statistics import fmean
from typing import Final

from shakedown.array.order import RebuildOrder
from shakedown.array.rebuild import Rebuild
from shakedown.layouts import LAYOUTS
from shakedown.target.md_options import MdOptions
from shakedown.units import format_size

_DATA_SHEETS: Final = (1e14, 1e15)
"""Bits read for each sector that may be unreadable: of drives for desktops and small boxes, and of better ones."""
_MOST: Final = 0.99


def unreadable(order: RebuildOrder, rebuilds: Sequence[Rebuild]) -> tuple[str, ...]:
    """A note where nothing stands in for what the others cannot read, until the rebuild is done.

    A data sheet's figure is a limit and no measurement, so what follows is one, too. Of scaled-down drives it would
    be that of another array.
    """
    if order.scale_divisor > 1 or _stands_in(order, rebuilds) > 0:
        return ()
    read_bytes = fmean(_read_of_the_others(each) for each in rebuilds)
    usual, better = (_percent(-expm1(-8 * read_bytes / bits)) for bits in _DATA_SHEETS)
    return (
        "Until the rebuild is done, a sector that the other drives cannot read is lost. "
        f"{format_size(read_bytes)} are read from them: with as many unreadable sectors as data sheets allow, one in "
        f"10^14 bits (better drives: 10^15), {usual} ({better}) of such rebuilds would lose one. That is the data "
        "sheets' limit, not a measurement.",
    )


def _stands_in(order: RebuildOrder, rebuilds: Sequence[Rebuild]) -> int:
    """How many more drives could be missing at the end."""
    if order.layout == "raid10" and isinstance(order.options, MdOptions):
        spared = order.options.all_copies - 1
    else:
        spared = LAYOUTS[order.layout].parity or len(order.members) - 1
    return spared - 1 - max(len(each.failed_on_the_way) for each in rebuilds)


def _read_of_the_others(rebuild: Rebuild) -> int:
    read = rebuild.members["bytes_read"].to_list()
    return sum(int(each) for place, each in enumerate(read) if place != rebuild.replacement)


def _percent(share: float) -> str:
    return f"over {_MOST:.0%}" if share > _MOST else f"{100 * share:.2g}%"
