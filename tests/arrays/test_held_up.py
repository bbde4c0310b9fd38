"""Who held a rebuild up is told of the time in which it could have."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from arrays.test_rebuild import POOL, order
from shakedown.array.bottleneck import held_up
from shakedown.array.rebuild import simulate
from shakedown.array.zfs import ZfsOptions


@pytest.mark.parametrize(("share", "is_told"), [(0.5, True), (0.15, True), (0.05, False)])
def test_a_limit_that_holds_the_rebuild_back_for_a_while_is_told(share: float, is_told: bool) -> None:
    """Half as fast where the disks are slower than the limit: as on their inner tracks."""
    done = simulate(order())
    at_limit_ns, limit = round(share * done.duration_ns), 1 << 40
    outer = round(limit * at_limit_ns / 1e9)
    ends = outer + round(limit / 2 * (done.duration_ns - at_limit_ns) / 1e9)
    progress = pl.DataFrame({"at_ns": [0, at_limit_ns, done.duration_ns], "done_bytes": [0, outer, ends]})
    told = held_up([replace(done, progress=progress)], ["a", "b", "c", "d"], limit).text
    assert (f"For {share:.0%} of the time md was at its own limit of 1.0 TiB a second (`speed-max`)" in told) == is_told


@pytest.mark.parametrize(
    ("over", "says"), [(0.1, "The rebuild goes 10% faster than that: "), (0.01, None), (-0.01, None)]
)
def test_why_md_goes_beyond_its_own_limit_is_told(over: float, says: str | None) -> None:
    done = simulate(order())
    limit = round(done.filled_bytes / done.duration_s / (1 + over))
    told = held_up([done], ["a", "b", "c", "d"], limit).text
    assert "md limits itself to" in told
    assert ("faster than that" in told) == (says is not None)
    assert (says or "") in told


@pytest.mark.parametrize("share_of_first", [0.35, 0.6])
def test_drives_that_stood_in_for_each_other_are_not_called_slow(share_of_first: float) -> None:
    """Each was all the rebuild waited for while it was read: how busy it was is of the whole time."""
    done = simulate(order())
    shares = [share_of_first, 1 - share_of_first, 0.0, 0.2]
    failed_at_ns = [round(share_of_first * done.duration_ns), None, None, None]
    members = done.members.with_columns(
        awaited=pl.Series([0.8 * share for share in shares[:3]] + [0.0]),
        busy_ns=pl.Series([round(share * done.duration_ns) for share in shares]),
        failed_at_ns=pl.Series(failed_at_ns, dtype=pl.Int64),
    )
    told = held_up([replace(done, members=members)], ["red"] * 4).text
    assert "was read for a part of the time, before or after drive 0 failed" in told
    assert "not asked for more" not in told
    alone = held_up(
        [replace(done, members=members.with_columns(failed_at_ns=pl.lit(None, dtype=pl.Int64)))], ["red"] * 4
    )
    assert "not asked for more" in alone.text


@pytest.mark.parametrize(("core_bytes_per_s", "is_told"), [(20e6, True), (400e6, False), (None, False)])
def test_cores_that_are_busy_all_the_time_are_told(core_bytes_per_s: float | None, is_told: bool) -> None:
    done = simulate(replace(POOL, options=ZfsOptions(cores=2, core_bytes_per_s=core_bytes_per_s)))
    told = held_up([done], ["red"] * 4).text
    assert ("cores hold the rebuild up" in told) == is_told, (done.cores_busy, told)
