"""What is told of sectors that cannot be read: only where nothing stands in for them."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from arrays.test_rebuild import IRONWOLF, RED, order
from shakedown.array.order import RebuildOrder
from shakedown.array.rebuild import Rebuild, simulate
from shakedown.array.unreadable import unreadable
from shakedown.array.zfs import ZfsOptions
from shakedown.target.md_options import MdOptions

TB = 10**12


@pytest.fixture(scope="module")
def done() -> Rebuild:
    return simulate(order())


def with_read(done: Rebuild, unguarded_bytes: int, failed: int | None = None) -> Rebuild:
    """So much was read of the others with nothing to stand in for it, and one of them failed."""
    failed_at_ns = [1 if place == failed else None for place in range(done.members.height)]
    members = done.members.with_columns(failed_at_ns=pl.Series(failed_at_ns, dtype=pl.Int64))
    return replace(done, members=members, unguarded_bytes=unguarded_bytes)


def array(layout: str, width: int, options: MdOptions | ZfsOptions | None = None, scale: int = 1) -> RebuildOrder:
    options = options or (MdOptions() if layout.startswith("raid") and layout[4].isdigit() else ZfsOptions())
    return RebuildOrder(layout=layout, members=(RED,) * width, replacement=RED, options=options, scale_divisor=scale)


def test_by_hand(done: Rebuild) -> None:
    """12.5 TB are 10^14 bits: one minus 1/e, and a tenth of that many."""
    [note] = unreadable(array("raid5", 4), [with_read(done, 12 * TB), with_read(done, 13 * TB)])
    assert note.startswith("Until the rebuild is done, a sector that the other drives cannot read is lost. ")
    assert "reads 11.4 TiB of them: with" in note
    assert "63% (9.5%)" in note


def test_the_largest_are_not_certain(done: Rebuild) -> None:
    [note] = unreadable(array("raid5", 4), [with_read(done, 180 * TB)])
    assert "over 99% (76%)" in note


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
def test_a_second_failure_takes_what_stood_in(
    done: Rebuild, layout: str, width: int, options: MdOptions | ZfsOptions | None
) -> None:
    asked = array(layout, width, options)
    assert not unreadable(asked, [with_read(done, 0)] * 2)
    [note] = unreadable(asked, [with_read(done, 12_500_000_000_000, failed=1)])
    assert note.startswith("Once drive 1 has failed, a sector that the other drives cannot read is lost. ")
    assert "reads 11.4 TiB of them from then on: with" in note
    assert "63% (9.5%)" in note
    [note] = unreadable(asked, [with_read(done, 0), with_read(done, TB, failed=1), with_read(done, TB, failed=2)])
    assert note.startswith("Once another drive has failed, as in 2 of 3 seeds, a sector that")


@pytest.mark.parametrize(
    ("layout", "width", "options", "sources"),
    [
        ("raid1", 2, None, 1),
        ("raid10", 4, None, 1),
        ("raid10", 4, MdOptions(copies=(1, 2, False)), 1),
        ("raid5", 3, None, 2),
        ("mirror", 2, None, 1),
        ("raidz1", 3, None, 2),
        ("draid1", 6, ZfsOptions(draid=(4, 1)), 4),
    ],
)
def test_from_the_beginning_nothing_stands_in(
    layout: str, width: int, options: MdOptions | ZfsOptions | None, sources: int
) -> None:
    """Of each byte of what the new drive is given so many are read; ZFS joins the reads of neighbours over padding."""
    asked = array(layout, width, options, scale=2000)
    done = simulate(replace(asked, fill=0.2, whole=True))
    assert done.unguarded_bytes == pytest.approx(sources * done.filled_bytes, rel=0.02)
    assert unreadable(replace(asked, scale_divisor=1), [done])[0].startswith("Until the rebuild is done,")


def test_what_users_read_is_no_risk_and_what_was_read_before_a_second_failure_neither() -> None:
    """All that was read counted once, from the beginning on, and what users read with it, be it the same again."""
    alone = replace(array("raid6", 4, scale=1000), members=(IRONWOLF,) * 4, replacement=IRONWOLF)
    gone = 'format_version = 1\n[[faults]]\nkind = "gone"\nfrom_s = {}\n'
    late = gone.format(simulate(alone).duration_ns * 9 // 10 / 10**9)
    after = simulate(replace(alone, faults={1: late}))
    assert list(after.failed_on_the_way) == [1]
    assert 0 < after.unguarded_bytes < 0.15 * 2 * after.filled_bytes
    job = "[users]\nrw=randread\nbs=16k\niodepth=4\n"
    raid5 = array("raid5", 4, scale=1000)
    beside = simulate(replace(raid5, load=job, fill=0.5))
    assert beside.unguarded_bytes == simulate(raid5).unguarded_bytes
    assert sum(beside.members["bytes_read"].to_list()) > beside.unguarded_bytes + 10**8


def test_a_small_drive_stands_for_no_array(done: Rebuild) -> None:
    assert not unreadable(array("raid5", 4, scale=100), [with_read(done, TB)])
