"""Cumulative documents to samples: what happened between two of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from typing import Final

from shakedown.sample import Direction, Sample
from shakedown.tools.fio.document import DIRECTIONS, Counters, Document, Job
from shakedown.tools.fio.job import in_order

_IDLE: Final = Counters()
_START_UP_NS: Final = 1_000_000_000


class Intervals:
    """Differences each document from the one before; jobs are merged, so that a direction has one row.

    fio notes the jobs' run times and bytes, then waits until every job thread looks up from its I/O, and then takes
    the counts and the time stamp. So a thread that is blocked makes a row longer than the interval asked for: a stall
    has its true length, and its latency is in the same row or, where the count came a moment later, in the next.
    """

    def __init__(self, step: str, directions: Iterable[Direction], begin_ns: int, interval_ns: int) -> None:
        """Rows of ``step`` in at least ``directions``, for a fio that was started at ``begin_ns`` of the run."""
        self._step = step
        self._directions = set(directions)
        self._interval_ns = interval_ns
        self._end_ns = begin_ns
        self._jobs: tuple[Job, ...] = ()

    def samples(self, document: Document, made_ns: int, *, last: bool = False) -> list[Sample]:
        """Rows from the previous document to this one, which was made at ``made_ns`` on the run's clock."""
        start_ns = self._start_ns(document, made_ns)
        end_ns = max(made_ns, start_ns)
        if last and self._jobs:
            # The last document is made some 100 ms after the last I/O; the jobs' own clocks know when that was.
            end_ns = min(end_ns, start_ns + _busy_ns(document.jobs, self._jobs))
        moved = self._moved(document)
        self._jobs = document.jobs
        if end_ns <= start_ns and not any(each.count for each in moved.values()):
            return []
        self._end_ns = end_ns
        self._directions |= {each for each, counters in moved.items() if counters.count}
        return [
            _sample(self._step, each, start_ns, end_ns - start_ns, moved[each]) for each in in_order(self._directions)
        ]

    def _start_ns(self, document: Document, made_ns: int) -> int:
        """The end of the previous row; for the first one, when the first job began rather than when fio was started."""
        overdue = made_ns - self._end_ns > self._interval_ns + _START_UP_NS
        # A first document that was held up by a stall has a run time from before the stall.
        if self._jobs or overdue:
            return self._end_ns
        return max(self._end_ns, made_ns - document.jobs[0].runtime_ms * 1_000_000)

    def _moved(self, document: Document) -> dict[Direction, Counters]:
        before = self._jobs if len(self._jobs) == len(document.jobs) else (None,) * len(document.jobs)
        return {
            each: _sum(
                _difference(job.moves[each], earlier.moves[each] if earlier else _IDLE)
                for job, earlier in zip(document.jobs, before, strict=True)
            )
            for each in DIRECTIONS
        }


def _difference(now: Counters, before: Counters) -> Counters:
    """What was added; a count that fell means that fio began to count afresh."""
    if now.count < before.count:
        before = _IDLE
    bins = {
        midpoint: count - before.bins.get(midpoint, 0)
        for midpoint, count in now.bins.items()
        if count > before.bins.get(midpoint, 0)
    }
    # The worst of the interval is known exactly if it is the worst so far, else to the width of a bin.
    worst_ns = now.latency_max_ns if now.latency_max_ns > before.latency_max_ns else max(bins, default=0)
    return Counters(
        count=now.count - before.count,
        bytes=max(now.bytes - before.bytes, 0),
        latency_sum_ns=max(now.latency_sum_ns - before.latency_sum_ns, 0.0),
        latency_max_ns=min(worst_ns, now.latency_max_ns),
        bins=bins,
    )


def _sum(parts: Iterable[Counters]) -> Counters:
    listed = list(parts)
    bins: Counter[int] = Counter()
    for part in listed:
        bins.update(part.bins)
    return Counters(
        count=sum(part.count for part in listed),
        bytes=sum(part.bytes for part in listed),
        latency_sum_ns=sum(part.latency_sum_ns for part in listed),
        latency_max_ns=max(part.latency_max_ns for part in listed),
        bins=dict(sorted(bins.items())),
    )


def _sample(step: str, direction: Direction, start_ns: int, duration_ns: int, moved: Counters) -> Sample:
    if moved.count == 0:
        return Sample(step, direction, start_ns, duration_ns, 0, moved.bytes, None, None, None, None, None)
    mean_ns = moved.latency_sum_ns / moved.count
    if not moved.bins:  # fio counted a completion without having noted its latency yet
        return Sample(step, direction, start_ns, duration_ns, moved.count, moved.bytes, mean_ns, None, None, None, None)
    worst_ns = max(moved.latency_max_ns, round(mean_ns))
    p50, p99, p999 = (min(_percentile(moved.bins, per_mille), worst_ns) for per_mille in (500, 990, 999))
    return Sample(step, direction, start_ns, duration_ns, moved.count, moved.bytes, mean_ns, p50, p99, p999, worst_ns)


def _percentile(bins: dict[int, int], per_mille: int) -> int:
    """The midpoint of the bin below or in which so many of the completions lie; bins are in rising order."""
    total = sum(bins.values())
    seen = 0
    for midpoint, count in bins.items():
        seen += count
        if seen * 1000 >= total * per_mille:
            return midpoint
    return 0


def _busy_ns(now: tuple[Job, ...], before: tuple[Job, ...]) -> int:
    """How long jobs ran since the document before: jobs of a group together, groups one after the other."""
    pairs = list(zip(now, before, strict=False))
    grown = [
        max(
            job.runtime_ms - (earlier.runtime_ms if job.runtime_ms >= earlier.runtime_ms else 0)
            for job, earlier in group
        )
        for _, group in groupby(pairs, key=lambda pair: pair[0].group)
    ]
    return sum(grown) * 1_000_000
