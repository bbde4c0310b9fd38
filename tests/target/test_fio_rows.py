"""Rows cut where fio cuts them: the case is a lab's, in which a drive stalls again and again."""

from __future__ import annotations

from itertools import pairwise

import polars as pl

from shakedown.target.fio_rows import FioRows, Pause, Thread

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
    first = rows.take(writes([10, 97, 100, 150, 290, 700]), 700 * MS)
    assert [(row.start_ns / MS, row.duration_ns / MS, row.count) for row in first] == [(0, 100, 3), (100, 600, 3)]
    assert first[1].latency_max_ns == 410 * MS
    # Bytes are noted when a row is due.
    assert [row.bytes // 4096 for row in first] == [2, 3]
    assert [(row.count, row.bytes // 4096) for row in rows.end(700 * MS + 1280)] == [(0, 1)]
    assert rows.end(700 * MS + 2560) == []
    assert rows.end(800 * MS)[0].count == 0


def test_a_first_row_that_was_held_up_for_long_begins_with_the_job() -> None:
    rows = FioRows("s", ["write"], began_ns=0, interval_ns=1000 * MS)
    (row,) = rows.take(writes([3000]), 3000 * MS)
    assert (row.start_ns, row.duration_ns) == (0, 3000 * MS)


def test_a_row_is_due_when_fio_noted_it() -> None:
    """As in fio's documents of a drive that stalls: what it noted as the run time, and when the answer came."""
    noted_ms = [99, 299, 499, 698, 906, 1105, 1305, 11840, 12043, 12242, 12442]
    answered_ms = [103.665, 307.932, 501.985, 706.251, 910.518, 1105.871]
    answered_ms += [11732.358, 11842.995, 12043.097, 12246.749, 12442.822]
    thread = Thread(0, 200 * MS)
    found_ms = []
    for each in answered_ms:
        found_ms.append(thread.due_ns() / MS)
        thread.told(round(each * MS))
    # fio counts from a few looks at the clock before its first request.
    assert [int(each + 0.01) for each in found_ms] == noted_ms


def test_who_pauses_answers_when_his_pause_is_over() -> None:
    rows = FioRows("s", ["write"], began_ns=0, interval_ns=200 * MS, pause=Pause(5000 * MS, 3))
    # Due after 100 ms, while the third request is under way, and 51 ms after the pause is over.
    assert rows.take(writes([40, 80, 120]), 5119 * MS) == []
    (row,) = rows.take(writes([5160]), 5165 * MS)
    assert (row.duration_ns / MS, row.count) == (5120, 3)


def test_a_job_with_one_section_tells_when_it_pauses() -> None:
    pauses = "[a]\nrw=randread\nthinktime=5s\nthinktime_blocks=1k\n"
    assert Pause.of(pauses) == (5000 * MS, 1024)
    assert Pause.of("[a]\nrw=randread\nthinktime=70\n") == (70_000, 1)
    assert Pause.of("[a]\nrw=randread\n") is None
    assert Pause.of(pauses + "[b]\nstonewall\nrw=randread\n") is None


def test_requests_that_complete_together_are_in_one_row() -> None:
    rows = FioRows("s", ["write"], began_ns=0, interval_ns=200 * MS)
    found = rows.take(writes([90, 300, 300, 300]), 300 * MS) + rows.end(300 * MS)
    assert [(row.duration_ns / MS, row.count, row.bytes // 4096) for row in found] == [(300, 4, 1), (0, 0, 3)]


def test_both_directions_of_a_mixed_load_end_their_rows_at_the_same_moments() -> None:
    rows = FioRows("s", ["read", "write"], began_ns=0, interval_ns=200 * MS)
    mixed = pl.concat([writes([90, 300]), writes([95, 110, 400]).with_columns(verb=pl.lit("read"))])
    found = rows.take(mixed.sort("completed_ns"), 500 * MS) + rows.end(500 * MS)
    assert [(row.direction, row.start_ns / MS, row.duration_ns / MS, row.count) for row in found] == [
        ("read", 0, 110, 2),
        ("write", 0, 110, 1),
        ("read", 110, 190, 0),
        ("write", 110, 190, 1),
        ("read", 300, 200, 1),
        ("write", 300, 200, 0),
    ]
