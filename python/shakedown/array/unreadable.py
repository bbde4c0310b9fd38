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
    """A note where the rebuild reads what nothing stands in for: all of it, or what was left when another drive failed.

    What users read meanwhile does not count: of what they can lose the rebuild reads all, once. A data sheet's figure
    is a limit and no measurement, so what follows is one, too. Of scaled-down drives it would be that of another array.
    """
    at_risk = [each for each in rebuilds if each.unguarded_bytes]
    if order.scale_divisor > 1 or not at_risk:
        return ()
    read_bytes = fmean(each.unguarded_bytes for each in at_risk)
    usual, better = (_percent(-expm1(-8 * read_bytes / bits)) for bits in _DATA_SHEETS)
    then = " from then on" if _stands_in(order) else ""
    return (
        f"{_since(order, at_risk, len(rebuilds))} a sector that the other drives cannot read is lost. The rebuild "
        f"reads {format_size(read_bytes)} of them{then}: with as many unreadable sectors as data sheets allow, one in "
        f"10^14 bits (better drives: 10^15), {usual} ({better}) of such rebuilds would lose one. That is the data "
        "sheets' limit, not a measurement.",
    )


def _since(order: RebuildOrder, at_risk: Sequence[Rebuild], seeds: int) -> str:
    """From when on: from the beginning, unless it took another drive's failure to get there."""
    if not _stands_in(order):
        return "Until the rebuild is done,"
    failed = {place for each in at_risk for place in each.failed_on_the_way}
    who = f"drive {failed.pop()}" if len(failed) == 1 else "another drive"
    where = "" if len(at_risk) == seeds else f" as in {len(at_risk)} of {seeds} seeds,"
    return f"Once {who} has failed,{where}"


def _stands_in(order: RebuildOrder) -> int:
    """How many more drives may be missing while one is rebuilt."""
    if order.layout == "raid10" and isinstance(order.options, MdOptions):
        return order.options.all_copies - 2
    return (LAYOUTS[order.layout].parity or len(order.members) - 1) - 1


def _percent(share: float) -> str:
    return f"over {_MOST:.0%}" if share > _MOST else f"{100 * share:.2g}%"
