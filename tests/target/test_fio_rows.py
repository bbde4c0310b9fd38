"""Rows cut where fio cuts them: the case is a lab's, in which a drive stalls again and again."""

from __future__ import annotations

from itertools import pairwise

import polars as pl

from shakedown.target.fio_rows import FioRows, Timer

MS = 1_000_000


def writes(completed_ms: list[int]) -> pl.DataFrame:
    """One after the other, each submitted when the one before has completed."""
    latency_ms = [after - before for before, after in pairwise([0, *completed_ms])]
    return pl.DataFrame(
        {
            "completed_ns": [each * MS for each in completed_ms],
            "latency_ns": [each * MS for each in latency_ms],
            "verb": "write",
            "bytes": 4096,
        }
    )


def test_a_row_ends_with_the_first_completion_after_its_interval_and_has_the_stall_in_it() -> None:
    rows = FioRows("s", ["write"], began_ns=0, interval_ns=200 * MS)
    # Due after 98 ms and 298 ms.
    first = rows.take(writes([10, 97, 100, 150, 290, 700]), 600 * MS)
    assert [(row.start_ns / MS, row.duration_ns / MS, row.count) for row in first] == [(0, 100, 3), (100, 600, 3)]
    assert first[1].latency_max_ns == 410 * MS
    assert first[1].bytes == 3 * 4096
    assert rows.end(800 * MS)[0].count == 0


def test_a_first_row_that_was_held_up_for_long_begins_with_the_job() -> None:
    rows = FioRows("s", ["write"], began_ns=0, interval_ns=1000 * MS)
    (row,) = rows.take(writes([3000]), 3000 * MS)
    assert (row.start_ns, row.duration_ns) == (0, 3000 * MS)


def test_a_row_that_was_missed_is_due_when_the_thread_wakes_next() -> None:
    """As in fio's documents of a drive that stalls: noted 1002, 999, 1199, 999 and 1065 ms after the one before."""
    timer = Timer(0, 1000 * MS)
    idle_ms = [0, 1000 + 751, 2001 + 26, 3000 + 949, 4199 + 26, 5199 + 815]
    assert [timer.due_ns(each * MS) / MS for each in idle_ms] == [1000, 2001, 3000, 4199, 5199, 6264]


def test_requests_that_complete_together_are_in_one_row() -> None:
    rows = FioRows("s", ["write"], began_ns=0, interval_ns=200 * MS)
    found = rows.take(writes([90, 300, 300, 300]), 300 * MS) + rows.end(300 * MS)
    assert [(row.duration_ns / MS, row.count) for row in found] == [(300, 4)]


def test_both_directions_of_a_mixed_load_end_their_rows_at_the_same_moments() -> None:
    rows = FioRows("s", ["read", "write"], began_ns=0, interval_ns=200 * MS)
    mixed = pl.concat([writes([90, 300]), writes([95, 110, 400]).with_columns(verb=pl.lit("read"))])
    found = rows.take(mixed.sort("completed_ns"), 500 * MS) + rows.end(500 * MS)
    assert [(row.direction, row.start_ns / MS, row.duration_ns / MS, row.count) for row in found] == [
        ("read", 0, 110, 2),
        ("write", 0, 110, 1),
        ("read", 110, 290, 1),
        ("write", 110, 290, 1),
        ("read", 400, 100, 0),
        ("write", 400, 100, 0),
    ]
