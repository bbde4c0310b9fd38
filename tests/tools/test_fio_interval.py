from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from shakedown.sample import Sample
from shakedown.tools.fio.document import Counters, Document, Job, parse_document
from shakedown.tools.fio.interval import Intervals

MS = 1_000_000
STALLED = Path(__file__).parent / "fio-stalled.jsonl"


def job(count: int, bins: dict[int, int], *, mean: float = 0.0, worst: int = 0, **more: Any) -> Job:
    moves = {"read": Counters(), "trim": Counters(), "write": Counters(count, count * 4096, mean * count, worst, bins)}
    facts: dict[str, Any] = {"name": "a", "group": 0, "runtime_ms": 1000, "remaining_s": 9, "error": 0, "failed": 0}
    return Job(**(facts | {"moves": moves} | more))


def document(*jobs: Job) -> Document:
    return Document(1, jobs, {})


def rows_of(intervals: Intervals, *made: tuple[Document, int], last: bool = False) -> list[Sample]:
    """Of all documents, and the last one is fio's last or only the last that came."""
    found = [intervals.samples(*each, last=last and each is made[-1]) for each in made]
    return [row for rows in [*found, intervals.rest()] for row in rows]


def test_counts_and_latencies_are_those_of_the_interval_alone() -> None:
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    (*_, row) = rows_of(
        intervals,
        (document(job(100, {10: 100}, mean=10, worst=12)), 1000 * MS),
        (document(job(110, {10: 100, 50: 9, 900: 1}, mean=25, worst=905)), 2000 * MS),
        last=False,
    )
    assert (row.start_ns, row.duration_ns, row.count, row.bytes) == (1000 * MS, 1000 * MS, 10, 40960)
    assert row.latency_mean_ns == pytest.approx((25 * 110 - 10 * 100) / 10)
    assert (row.latency_p50_ns, row.latency_p99_ns, row.latency_max_ns) == (50, 900, 905)


def test_the_worst_of_an_interval_that_is_not_the_worst_so_far_comes_from_the_bins() -> None:
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    (*_, row) = rows_of(
        intervals,
        (document(job(1, {900: 1}, mean=905, worst=905)), 1000 * MS),
        (document(job(3, {900: 1, 40: 1, 60: 1}, mean=335, worst=905)), 2000 * MS),
        last=False,
    )
    assert row.latency_max_ns == 60


def test_an_interval_without_completions_is_a_row() -> None:
    intervals = Intervals("s", ["read", "write"], 0, 1000 * MS)
    rows = intervals.samples(document(job(0, {})), 1000 * MS, last=True)
    assert [(row.direction, row.count, row.latency_max_ns) for row in rows] == [("read", 0, None), ("write", 0, None)]


def test_a_late_document_covers_all_the_time_since_the_one_before() -> None:
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    (*_, row) = rows_of(
        intervals,
        (document(job(5, {10: 5}, mean=10, worst=10)), 1000 * MS),
        (document(job(6, {10: 5, 8000: 1}, mean=1341, worst=8000)), 9000 * MS),
        last=False,
    )
    assert (row.start_ns, row.duration_ns, row.count, row.latency_max_ns) == (1000 * MS, 8000 * MS, 1, 8000)


def test_jobs_are_merged_by_direction() -> None:
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    (row,) = intervals.samples(
        document(job(10, {10: 10}, mean=10, worst=11), job(30, {30: 30}, mean=30, worst=31)), 1000 * MS, last=True
    )
    assert (row.count, row.latency_mean_ns, row.latency_p50_ns, row.latency_max_ns) == (40, 25, 30, 31)


def test_the_first_row_starts_with_the_first_job_not_with_fio() -> None:
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    assert intervals.samples(document(job(1, {1: 1}, mean=1, worst=1, runtime_ms=900)), 1100 * MS) == []
    (row,) = intervals.rest()
    assert (row.start_ns, row.duration_ns) == (200 * MS, 900 * MS)


def test_the_last_row_ends_with_the_last_job_not_with_fio() -> None:
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    intervals.samples(document(job(1, {1: 1}, mean=1, worst=1)), 1000 * MS)
    last = job(2, {1: 2}, mean=1, worst=1, runtime_ms=1020)
    (*_, row) = intervals.samples(document(last), 1200 * MS, last=True)
    assert row.duration_ns == 20 * MS


def test_a_stall_from_the_start_is_in_the_first_row() -> None:
    stalled = job(1, {8000: 1}, mean=8000, worst=8000, runtime_ms=900)
    intervals = Intervals("s", ["write"], 50 * MS, 1000 * MS)
    intervals.samples(document(stalled), 8100 * MS)
    (row,) = intervals.rest()
    assert (row.start_ns, row.duration_ns) == (150 * MS, 7950 * MS)


def test_a_job_that_was_held_up_under_each_document_began_before_all_that_it_waited_for() -> None:
    """One request in flight: of 2000 ms it has waited for 1990, and each document came 700 ms after it was noted."""
    held_up = [(1, 1490, 890, 1600), (2, 1990, 1390, 2100), (3, 2990, 2390, 3100)]
    intervals = Intervals("s", ["write"], 0, 500 * MS)
    made = [
        (document(job(at, {MS: at}, mean=waited_ms * MS / at, worst=900 * MS, runtime_ms=noted_ms, depth=1)), ms * MS)
        for at, waited_ms, noted_ms, ms in held_up
    ]
    assert rows_of(intervals, *made)[0].start_ns == 110 * MS


def test_a_job_that_was_stopped_later_on_did_not_begin_earlier() -> None:
    """What was in flight seems to have taken as long as the pause, which is not on the run's clock."""
    told = [(900, 890), (1900, 1890), (2900, 3390)]
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    made = [
        (
            document(job(at, {MS: at}, mean=waited_ms * MS / at, worst=MS, runtime_ms=ran_ms, depth=1)),
            (ran_ms + 600) * MS,
        )
        for at, (ran_ms, waited_ms) in enumerate(told, start=1)
    ]
    last = rows_of(intervals, *made, last=True)[-1]
    assert (last.start_ns, last.duration_ns) == (2500 * MS, 1000 * MS)


def test_a_count_that_begins_afresh_is_not_negative() -> None:
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    (*_, row) = rows_of(
        intervals,
        (document(job(100, {10: 100}, mean=10, worst=12)), 1000 * MS),
        (document(job(7, {20: 7}, mean=20, worst=21)), 2000 * MS),
        last=False,
    )
    assert (row.count, row.latency_mean_ns) == (7, 20)


def test_time_never_runs_backwards() -> None:
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    (*_, row) = rows_of(
        intervals,
        (document(job(1, {1: 1}, mean=1, worst=1)), 2000 * MS),
        (document(job(2, {1: 2}, mean=1, worst=1)), 1500 * MS),
        last=False,
    )
    assert (row.start_ns, row.duration_ns, row.iops) == (2000 * MS, 0, 0.0)


def test_what_is_shorter_than_fios_milliseconds_and_empty_is_no_row() -> None:
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    same = job(1, {1: 1}, mean=1, worst=1)
    rows = rows_of(intervals, *((document(same), made_ns) for made_ns in (1000 * MS, 2000 * MS, 2000 * MS + 999_999)))
    assert [(row.start_ns, row.duration_ns) for row in rows] == [(0, 1000 * MS), (1000 * MS, 1000 * MS)]


def test_bytes_that_fio_notes_before_it_counts_are_not_lost_with_a_row_that_has_no_length() -> None:
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    counted = job(4, {1: 4}, mean=1, worst=1)
    noted_before = counted._replace(moves=counted.moves | {"write": Counters(4, 4096, 4, 1, {1: 4})})
    rows = rows_of(intervals, (document(noted_before), 1000 * MS), (document(counted), 1000 * MS), last=True)
    assert [(row.duration_ns, row.count, row.bytes) for row in rows] == [(1000 * MS, 4, 4096), (0, 0, 3 * 4096)]


def test_a_direction_that_shows_up_unannounced_is_reported() -> None:
    intervals = Intervals("s", ["read"], 0, 1000 * MS)
    rows = intervals.samples(document(job(1, {1: 1}, mean=1, worst=1)), 1000 * MS, last=True)
    assert [row.direction for row in rows] == ["read", "write"]


def test_documents_of_a_drive_that_stalls_give_the_pass_the_length_that_fio_gives_it() -> None:
    """Recorded: 128 MiB of sequential writes that stall four times, the first and the third time under a document."""
    documents = [parse_document(line) for line in STALLED.read_text().splitlines()]
    started_ms = documents[0].timestamp_ms - 1_750
    intervals = Intervals("used", ["write"], 0, 1000 * MS)
    made = [(each, (each.timestamp_ms - started_ms) * MS) for each in documents]
    rows = [row for each, made_ns in made for row in intervals.samples(each, made_ns, last=each is documents[-1])]
    ran_ms = documents[-1].jobs[0].runtime_ms
    assert (rows[-1].start_ns + rows[-1].duration_ns - rows[0].start_ns) / MS == pytest.approx(ran_ms, abs=20)
    assert sum(row.bytes for row in rows) == 128 << 20
    assert all(row.start_ns + row.duration_ns == after.start_ns for row, after in pairwise(rows))
    # The first document says 898 ms, and was made 724 ms later.
    assert rows[0].duration_ns / MS == pytest.approx(898 + 724, abs=20)


def test_a_last_document_after_one_that_was_held_up_ends_with_the_last_job() -> None:
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    intervals.samples(document(job(1, {1: 1}, mean=1, worst=1, runtime_ms=900)), 1000 * MS)
    intervals.samples(document(job(2, {1: 2}, mean=1, worst=1, runtime_ms=1900)), 2700 * MS)
    (*_, row) = intervals.samples(document(job(3, {1: 3}, mean=1, worst=1, runtime_ms=2700)), 2900 * MS, last=True)
    assert (row.start_ns, row.duration_ns) == (2700 * MS, 100 * MS)


def test_a_job_that_waits_for_its_turn_says_nothing_of_when_it_began() -> None:
    up = {"runtime_ms": 10**9, "group": 1}
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    first = job(1, {1: 1}, mean=1, worst=1, runtime_ms=900)
    second = job(1, {1: 1}, mean=1, worst=1, runtime_ms=700, group=1)
    made = [(document(first, job(0, {}, **up)), 1000 * MS), (document(first, second), 2000 * MS)]
    rows = rows_of(intervals, *made)
    assert [(row.start_ns, row.duration_ns) for row in rows] == [(100 * MS, 900 * MS), (1000 * MS, 1000 * MS)]


def test_the_first_rows_wait_until_two_documents_agree_or_for_four_of_them() -> None:
    def held_up(late_ms: list[int]) -> list[int]:
        intervals = Intervals("s", ["write"], 0, 1000 * MS)
        each = [
            (document(job(at, {1: at}, mean=1, worst=1, runtime_ms=900 + 1000 * at)), (1000 * (at + 1) + late) * MS)
            for at, late in enumerate(late_ms)
        ]
        return [len(intervals.samples(*one)) for one in each]

    assert held_up([0, 15, 0]) == [0, 2, 1]
    assert held_up([300, 400, 0, 5, 0]) == [0, 0, 0, 4, 1]
    assert held_up([300, 400, 200, 100, 0]) == [0, 0, 0, 4, 1]


def test_a_job_that_has_ended_before_the_first_interval_was_as_long_as_it_says() -> None:
    intervals = Intervals("s", ["write"], 0, 1000 * MS)
    (row,) = rows_of(intervals, (document(job(1, {1: 1}, mean=1, worst=1, runtime_ms=570)), 760 * MS))
    assert (row.start_ns, row.duration_ns) == (190 * MS, 570 * MS)


def test_a_document_from_before_the_first_job_is_no_row() -> None:
    intervals = Intervals("s", ["write"], 50 * MS, 100 * MS)
    early, late = job(0, {}, runtime_ms=10**6), job(9, {1: 9}, mean=1, worst=1, runtime_ms=61)
    (row,) = rows_of(intervals, (document(early), 180 * MS), (document(late), 261 * MS), last=True)
    assert (row.start_ns, row.duration_ns, row.count) == (200 * MS, 61 * MS, 9)


def test_a_first_document_without_requests_does_not_make_the_first_row_begin_with_fio() -> None:
    """As real fio told of a drive that kept its first write waiting for 141 ms, 500 ms after fio was started."""
    intervals = Intervals("s", ["write"], 0, 100 * MS)
    told = [(0, 100, 0, 500), (25, 99, 141, 645), (49, 198, 141, 786), (73, 386, 141, 928)]
    first, *_ = rows_of(
        intervals,
        *(
            (document(job(count, {MS: count}, mean=MS, worst=worst_ms * MS, runtime_ms=runtime_ms)), made_ms * MS)
            for count, runtime_ms, worst_ms, made_ms in told
        ),
    )
    assert (first.start_ns, first.duration_ns, first.count) == (504 * MS, 141 * MS, 25)
