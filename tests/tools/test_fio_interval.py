from typing import Any

import pytest

from shakedown.tools.fio.document import Counters, Document, Job
from shakedown.tools.fio.interval import Intervals

MS = 1_000_000


def job(count: int, bins: dict[int, int], *, mean: float = 0.0, worst: int = 0, **more: Any) -> Job:
    moves = {"read": Counters(), "trim": Counters(), "write": Counters(count, count * 4096, mean * count, worst, bins)}
    facts = {"name": "a", "group": 0, "runtime_ms": 1000, "remaining_s": 9, "error": 0, "failed": 0, "moves": moves}
    return Job(**(facts | more))


def document(*jobs: Job) -> Document:
    return Document(1, jobs, {})


def test_counts_and_latencies_are_those_of_the_interval_alone() -> None:
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    intervals.samples(document(job(100, {10: 100}, mean=10, worst=12)), 1000 * MS)
    (row,) = intervals.samples(document(job(110, {10: 100, 50: 9, 900: 1}, mean=25, worst=905)), 2000 * MS)
    assert (row.start_ns, row.duration_ns, row.count, row.bytes) == (1000 * MS, 1000 * MS, 10, 40960)
    assert row.latency_mean_ns == pytest.approx((25 * 110 - 10 * 100) / 10)
    assert (row.latency_p50_ns, row.latency_p99_ns, row.latency_max_ns) == (50, 900, 905)


def test_the_worst_of_an_interval_that_is_not_the_worst_so_far_comes_from_the_bins() -> None:
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    intervals.samples(document(job(1, {900: 1}, mean=905, worst=905)), 1000 * MS)
    (row,) = intervals.samples(document(job(3, {900: 1, 40: 1, 60: 1}, mean=335, worst=905)), 2000 * MS)
    assert row.latency_max_ns == 60


def test_an_interval_without_completions_is_a_row() -> None:
    intervals = Intervals("s", ["read", "write"], 0, 1000 * MS)
    rows = intervals.samples(document(job(0, {})), 1000 * MS)
    assert [(row.direction, row.count, row.latency_max_ns) for row in rows] == [("read", 0, None), ("write", 0, None)]


def test_a_late_document_covers_all_the_time_since_the_one_before() -> None:
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    intervals.samples(document(job(5, {10: 5}, mean=10, worst=10)), 1000 * MS)
    (row,) = intervals.samples(document(job(6, {10: 5, 8000: 1}, mean=1341, worst=8000)), 9000 * MS)
    assert (row.start_ns, row.duration_ns, row.count, row.latency_max_ns) == (1000 * MS, 8000 * MS, 1, 8000)


def test_jobs_are_merged_by_direction() -> None:
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    (row,) = intervals.samples(
        document(job(10, {10: 10}, mean=10, worst=11), job(30, {30: 30}, mean=30, worst=31)), 1000 * MS
    )
    assert (row.count, row.latency_mean_ns, row.latency_p50_ns, row.latency_max_ns) == (40, 25, 30, 31)


def test_the_first_row_starts_with_the_first_job_not_with_fio() -> None:
    (row,) = Intervals("s", ["write"], 0, 1000 * MS).samples(
        document(job(1, {1: 1}, mean=1, worst=1, runtime_ms=900)), 1100 * MS
    )
    assert (row.start_ns, row.duration_ns) == (200 * MS, 900 * MS)


def test_the_last_row_ends_with_the_last_job_not_with_fio() -> None:
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    intervals.samples(document(job(1, {1: 1}, mean=1, worst=1)), 1000 * MS)
    last = job(2, {1: 2}, mean=1, worst=1, runtime_ms=1020)
    (row,) = intervals.samples(document(last), 1200 * MS, last=True)
    assert row.duration_ns == 20 * MS


def test_a_stall_from_the_start_is_in_the_first_row() -> None:
    stalled = job(1, {8000: 1}, mean=8000, worst=8000, runtime_ms=900)
    (row,) = Intervals("s", ["write"], 50 * MS, 1000 * MS).samples(document(stalled), 8100 * MS)
    assert (row.start_ns, row.duration_ns) == (50 * MS, 8050 * MS)


def test_a_count_that_begins_afresh_is_not_negative() -> None:
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    intervals.samples(document(job(100, {10: 100}, mean=10, worst=12)), 1000 * MS)
    (row,) = intervals.samples(document(job(7, {20: 7}, mean=20, worst=21)), 2000 * MS)
    assert (row.count, row.latency_mean_ns) == (7, 20)


def test_time_never_runs_backwards() -> None:
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    intervals.samples(document(job(1, {1: 1}, mean=1, worst=1)), 2000 * MS)
    (row,) = intervals.samples(document(job(2, {1: 2}, mean=1, worst=1)), 1500 * MS)
    assert (row.start_ns, row.duration_ns, row.iops) == (2000 * MS, 0, 0.0)


def test_a_direction_that_shows_up_unannounced_is_reported() -> None:
    rows = Intervals("s", ["read"], 0, 1000 * MS).samples(document(job(1, {1: 1}, mean=1, worst=1)), 1000 * MS)
    assert [row.direction for row in rows] == ["read", "write"]
