"""Sectors of a pool that are smaller than those of a drive: a caution, for each write may cost a turn more."""

from __future__ import annotations

from shakedown.array.order import RebuildOrder, drive_name
from shakedown.array.zfs import ZfsOptions
from shakedown.target.modelled import physical_sector_bytes


def small_sectors(order: RebuildOrder) -> tuple[str, ...]:
    """Of each kind of drive whose physical sectors are larger than the pool's; of modelled drives only."""
    if not isinstance(order.options, ZfsOptions):
        return ()
    pool_bytes = 1 << order.options.ashift
    kinds = dict.fromkeys(order.drives)
    coarse = {kind: own for kind in kinds if (own := physical_sector_bytes(order.profiles[kind])) > pool_bytes}
    if not coarse:
        return ()
    largest = max(coarse.values())
    return (
        f"CAUTION: ashift={order.options.ashift} makes sectors of {pool_bytes} bytes, but the physical sectors of "
        f"{', '.join(map(drive_name, coarse))} have {largest}: a write that begins or ends within one "
        f"costs another turn of the platters. Such drives want ashift={largest.bit_length() - 1}.",
    )
