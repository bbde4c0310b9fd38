"""What the lab's filesystem is known to be like where a modelled array stands beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arrays.test_rebuild import JOB
from shakedown.array.like_lab import as_filled_in_lab, like_lab
from shakedown.array.order import RebuildOrder
from shakedown.array.settings import parse_options
from shakedown.array.zfs import partition_bytes
from shakedown.target.md_options import MdOptions


def _order(layout: str, width: int, divisor: int, *settings: str) -> RebuildOrder:
    drive = "model:wd40efrx"
    options = parse_options(layout, like_lab(layout, settings))
    return RebuildOrder(layout, (drive,) * width, drive, scale_divisor=divisor, options=options)


@pytest.mark.parametrize(
    ("layout", "width", "divisor", "journal_mib"),
    [
        # As the lab's requests show: of arrays of less than four gigabytes in the group before the middle one,
        # of larger ones in the first of its flexible group that is empty.
        ("raid1", 2, 4000, 256),
        ("raid10", 4, 4000, 768),
        ("raid5", 4, 4000, 1280),
        ("raid6", 4, 4000, 768),
        ("raid1", 2, 1000, 1664),
        ("raid5", 4, 1000, 4224),
    ],
)
def test_the_journal_lies_before_the_middle(layout: str, width: int, divisor: int, journal_mib: int) -> None:
    options = as_filled_in_lab(_order(layout, width, divisor)).options
    assert isinstance(options, MdOptions)
    assert options.journal_at_bytes == journal_mib << 20


def test_a_load_has_run_alone_for_a_minute() -> None:
    idle = _order("raid6", 4, 1000)
    told = [as_filled_in_lab(order).options for order in (idle, replace(idle, load=JOB))]
    assert [options.mounted_before_ns for options in told if isinstance(options, MdOptions)] == [
        1_200_000_000,
        61_600_000_000,
    ]
    assert [options.stripe_cache for options in told if isinstance(options, MdOptions)] == [359, 409]


def test_what_is_set_holds() -> None:
    given = _order("raid5", 4, 1000, "ext4-journal=1GiB", "ext4-mounted=2s", "stripe-cache=500", "hz=250")
    filled = as_filled_in_lab(given).options
    assert isinstance(filled, MdOptions)
    assert (filled.journal_at_bytes, filled.mounted_before_ns) == (2**30, 2 * 10**9)
    assert (filled.stripe_cache, filled.jiffy_ns, filled.processors) == (500, 4_000_000, 1)


def test_a_pool_needs_no_more_than_its_settings() -> None:
    pool = _order("raidz1", 4, 1000)
    assert as_filled_in_lab(pool) == pool
    aged = like_lab("raidz1", ("run=4",))
    assert "file=auto" not in aged
    assert "file=auto" in like_lab("raidz1")


def test_a_pool_has_a_partition_of_a_whole_drive() -> None:
    # As `zpool create` made it in the lab of a drive of 4,000,784,384 bytes: its last label ended there.
    assert partition_bytes(4_000_784_384) == 3_991_928_832 - 2**20
    # Of 10 MiB the table at the end takes a little.
    assert [partition_bytes(size) for size in (0, 9 << 20, 10 << 20, (10 << 20) + 33 * 512)] == [0, 0, 0, 1 << 20]
