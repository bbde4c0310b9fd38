"""Where a modelled rebuild is known to be less certain than its interval says: onto shingled drives."""

from __future__ import annotations

from typing import Final

from shakedown.array.order import RebuildOrder
from shakedown.target.modelled import is_shingled

OFF_BY: Final = {("raid1", "raid10"): 0.18, ("raid5", "raid6"): 0.14}
OFF_BY_OF_ZFS: Final = 0.23
"""How far the time was off at the most beside the real md or OpenZFS, onto a shingled drive: conformance-arrays.csv."""


def unsure(order: RebuildOrder) -> tuple[str, ...]:
    """A caution, if a shingled drive is put in."""
    if order.on_spare or not is_shingled(order.profiles[order.replacement]):
        return ()
    off_by = next((share for layouts, share in OFF_BY.items() if order.layout in layouts), OFF_BY_OF_ZFS)
    real = "OpenZFS" if order.is_zfs else "md"
    return (
        f"CAUTION: onto a shingled drive the model's time was up to {off_by:.0%} off the real {real}'s, whatever the "
        "interval says: docs/conformance-arrays.md.",
    )
