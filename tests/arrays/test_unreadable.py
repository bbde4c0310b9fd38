"""What is told of sectors that cannot be read: only where nothing stands in for them."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from arrays.test_rebuild import RED, order
from shakedown.array.order import RebuildOrder
from shakedown.array.rebuild import Rebuild, simulate
from shakedown.array.unreadable import unreadable
from shakedown.array.zfs import ZfsOptions
from shakedown.target.md_options import MdOptions

TB = 10**12


@pytest.fixture(scope="module")
def done() -> Rebuild:
    return simulate(order())


def with_read(done: Rebuild, *read_bytes: int, failed: int | None = None) -> Rebuild:
    """The last is the replacement, of whose reads nobody speaks."""
    rows = done.members.to_dicts()[:1] * len(read_bytes)
    failed_at_ns = [1 if place == failed else None for place in range(len(read_bytes))]
    members = pl.DataFrame(rows).with_columns(
        bytes_read=pl.Series(read_bytes), failed_at_ns=pl.Series(failed_at_ns, dtype=pl.Int64)
    )
    return replace(done, members=members, replacement=len(read_bytes) - 1)


def array(layout: str, width: int, options: MdOptions | ZfsOptions | None = None, scale: int = 1) -> RebuildOrder:
    options = options or (MdOptions() if layout.startswith("raid") and layout[4].isdigit() else ZfsOptions())
    return RebuildOrder(layout=layout, members=(RED,) * width, replacement=RED, options=options, scale_divisor=scale)


def test_by_hand(done: Rebuild) -> None:
    """12.5 TB are 10^14 bits: one minus 1/e, and a tenth of that many."""
    [note] = unreadable(array("raid5", 4), [with_read(done, 4 * TB, 4 * TB, 4_500_000_000_000, 9 * TB)])
    assert "11.4 TiB are read" in note
    assert "63% (9.5%)" in note


def test_the_largest_are_not_certain(done: Rebuild) -> None:
    [note] = unreadable(array("raid5", 4), [with_read(done, 60 * TB, 60 * TB, 60 * TB, 0)])
    assert "over 99% (76%)" in note


@pytest.mark.parametrize(
    ("layout", "width", "options"),
    [
        ("raid1", 2, None),
        ("raid10", 4, None),
        ("raid10", 4, MdOptions(copies=(1, 2, False))),
        ("raid5", 3, None),
        ("mirror", 2, None),
        ("raidz1", 3, None),
        ("draid1", 6, ZfsOptions(draid=(4, 1))),
    ],
)
def test_nothing_stands_in(done: Rebuild, layout: str, width: int, options: MdOptions | ZfsOptions | None) -> None:
    assert unreadable(array(layout, width, options), [with_read(done, *[TB] * width)])


@pytest.mark.parametrize(
    ("layout", "width", "options"),
    [
        ("raid1", 3, None),
        ("raid10", 4, MdOptions(copies=(3, 1, False))),
        ("raid6", 4, None),
        ("mirror", 3, None),
        ("raidz2", 4, None),
        ("raidz3", 5, None),
    ],
)
def test_what_has_redundancy_left_is_not_told(
    done: Rebuild, layout: str, width: int, options: MdOptions | ZfsOptions | None
) -> None:
    assert not unreadable(array(layout, width, options), [with_read(done, *[TB] * width)])


def test_a_second_failure_takes_it(done: Rebuild) -> None:
    rebuilds = [with_read(done, *[TB] * 4), with_read(done, *[TB] * 4, failed=1)]
    assert unreadable(array("raid6", 4), rebuilds)


def test_a_small_drive_stands_for_no_array(done: Rebuild) -> None:
    assert not unreadable(array("raid5", 4, scale=100), [with_read(done, *[TB] * 4)])
