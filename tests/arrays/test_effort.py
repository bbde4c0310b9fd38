"""What a rebuild in the lab takes of this machine follows from how much data the array holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shakedown.array.capacity import usable_bytes
from shakedown.array.effort import effort_in_lab
from shakedown.array.order import RebuildOrder
from shakedown.array.settings import parse_options
from shakedown.errors import UsageError

MEMBER_BYTES = 400 << 20


def order_of(layout: str, width: int, *settings: str) -> RebuildOrder:
    """An array of which all of each drive holds data."""
    members = ("lab:wd40efrx",) * width
    options = parse_options(layout, settings)
    return RebuildOrder(layout, members, members[0], member_bytes=MEMBER_BYTES, scale_divisor=100, options=options)


@pytest.mark.parametrize(("copies", "number"), [("n2", 2), ("n3", 3), ("f3", 3), ("o2", 2)])
def test_of_a_raid10_the_more_copies_the_less_is_read_back(copies: str, number: int) -> None:
    """All six are filled; data is read back twice; the new drive and the one that has the same move once more."""
    effort = effort_in_lab(order_of("raid10", 6, f"copies={copies}"), with_baseline=False)
    assert effort.moved_bytes == (6 + 2 * 6 / number + 2) * MEMBER_BYTES


@pytest.mark.parametrize(("layout", "data", "sources"), [("raid1", 1, 1), ("raid5", 3, 3), ("raid6", 2, 3)])
def test_of_others_of_md_what_is_no_copy_and_no_parity_is_read_back(layout: str, data: int, sources: int) -> None:
    effort = effort_in_lab(order_of(layout, 4), with_baseline=True)
    assert effort.moved_bytes == (4 + 2 * data + 2 * (sources + 1)) * MEMBER_BYTES


def test_a_pool_of_drives_that_openzfs_does_not_take_is_refused_before_it_is_made() -> None:
    """OpenZFS 2.3 says of a partition of 38 MiB: `less than the minimum device size (64M)`."""
    smallest = replace(order_of("mirror", 2), member_bytes=None, scale_divisor=51_000)
    assert effort_in_lab(smallest, with_baseline=False).moved_bytes > 0
    with pytest.raises(UsageError, match="less than 64"):
        effort_in_lab(replace(smallest, scale_divisor=52_500), with_baseline=False)


def test_what_is_too_large_for_drives_of_the_lab_is_told_by_their_name() -> None:
    order = replace(order_of("raid1", 2), member_bytes=1 << 40)
    with pytest.raises(UsageError, match=r"^`wd40efrx` has 37"):
        effort_in_lab(order, with_baseline=False)


@pytest.mark.parametrize("layout", ["mirror", "raidz2", "draid1"])
def test_of_zfs_as_much_is_read_back_as_it_has_room_for(layout: str) -> None:
    order = order_of(layout, 4)
    sources = 1 if layout == "mirror" else 3
    moved = (4 + sources + 1) * MEMBER_BYTES + 2 * usable_bytes(order, MEMBER_BYTES)
    assert effort_in_lab(order, with_baseline=False).moved_bytes == moved
