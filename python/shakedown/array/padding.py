"""Where a raidz leaves its padding: a caution where that is mostly the drive that is replaced."""

from __future__ import annotations

from math import ceil
from typing import Final

from shakedown.array.order import RebuildOrder
from shakedown.array.zfs import ZfsOptions
from shakedown.layouts import RAIDZ, raidz_block
from shakedown.target.modelled import physical_sector_bytes
from shakedown.units import format_size

_ABOUT_ALL: Final = 0.9
"""A share of what another drive holds, of which the rebuild's time does not tell."""


def padding(order: RebuildOrder) -> tuple[str, ...]:
    """What is allocated is a multiple of the parity drives and one, so that no gap is left that nothing fits into.

    Where that goes around all drives a whole number of times each record begins on the first one, and the last one, the
    one that is replaced, is the one that is left empty at its end. But a block of the pool's own between two records
    may shift those behind it by two drives: in the lab a third of the records of 8 KiB on a raidz1 of four.
    """
    if order.layout not in RAIDZ or not isinstance(order.options, ZfsOptions):
        return ()
    parity, width = RAIDZ[order.layout].parity, len(order.members)
    sector_bytes, record_bytes = 1 << order.options.ashift, order.options.record_bytes
    sectors, padded = raidz_block(ceil(record_bytes / sector_bytes), width, parity)
    rounds = padded // width
    if order.place != width - 1:
        return ()
    if padded == sectors or padded % width or rounds - 1 > _ABOUT_ALL * rounds:
        return ()
    holds = f"{rounds - 1} of its {rounds}" if rounds > 1 else "nothing of it"
    return (
        f"CAUTION: where another drive than the last is replaced {_otherwise(order, sector_bytes, rounds)}. "
        f"A record of {format_size(record_bytes)} takes {sectors} sectors, padded to {padded}: {rounds} on each of "
        f"{width} drives, with the padding on the last, which holds {holds}, but where the pool's own blocks have "
        "shifted records.",
    )


def _otherwise(order: RebuildOrder, sector_bytes: int, rounds: int) -> str:
    """Of another drive the writes are joined; the last is given less, in writes that the gaps keep apart."""
    if rounds == 1:
        return "it takes longer"
    if sector_bytes < physical_sector_bytes(order.profiles[order.replacement]):
        return "it may take far less: the gaps keep the last one's writes apart, and each is of parts of its sectors"
    return "it takes more or less: the gaps leave the last one less to write, and keep its writes apart"
