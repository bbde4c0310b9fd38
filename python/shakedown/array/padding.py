"""Where a raidz leaves its padding: a caution where that is always the drive that is replaced."""

from __future__ import annotations

from math import ceil
from typing import Final

from shakedown.array.order import RebuildOrder
from shakedown.array.zfs import ZfsOptions
from shakedown.layouts import RAIDZ
from shakedown.units import format_size

_ABOUT_ALL: Final = 0.9
"""A share of what another drive holds, of which the rebuild's time does not tell."""


def padding(order: RebuildOrder) -> tuple[str, ...]:
    """What is allocated is a multiple of the parity drives and one, so that no gap is left that nothing fits into.

    Where that goes around all drives a whole number of times each record begins on the first one, and the last one, the
    one that is replaced, is the one that is left empty at its end.
    """
    if order.layout not in RAIDZ or not isinstance(order.options, ZfsOptions):
        return ()
    parity, width = RAIDZ[order.layout].parity, len(order.members)
    sector_bytes, record_bytes = 1 << order.options.ashift, order.options.record_bytes
    data = ceil(record_bytes / sector_bytes)
    sectors = data + parity * ceil(data / (width - parity))
    padded = ceil(sectors / (parity + 1)) * (parity + 1)
    rounds = padded // width
    if padded == sectors or padded % width or rounds - 1 > _ABOUT_ALL * rounds:
        return ()
    holds = f"{rounds - 1} of its {rounds}" if rounds > 1 else "nothing of it"
    return (
        "CAUTION: where another drive than the last is replaced it takes longer. A record of "
        f"{format_size(record_bytes)} takes {sectors} sectors, padded to {padded}: {rounds} on each of {width} drives, "
        f"with the padding always on the last, which holds {holds}.",
    )
