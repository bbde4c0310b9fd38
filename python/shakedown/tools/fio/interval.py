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
_NEVER_NS: Final = 2**63 - 1
# Longer than that no fio takes from its start to its first job.
_START_UP_NS: Final = 1_000_000_000
# The first rows wait for two documents that agree to a fiftieth of an interval when the first job began, or for four.
_AGREE: Final = 50
# fio tells times in milliseconds: what is shorter, and has nothing in it, is no row. The bytes of what was counted a
# document ago are something: fio noted them before it counted.
_SHORTEST_NS: Final = 1_000_000
_MOST_HELD: Final = 4


class Intervals:
    """Differences each document from the one before; jobs are merged, so that a direction has one row.

    fio notes the jobs' run times and bytes, then waits until every job thread looks up from its I/O, and then takes
    the counts and the time stamp. So a thread that is blocked makes a row longer than the interval asked for: a stall
    has its true length, and its latency is in the same row or, where the count came a moment later, in the next.

    When a job began is its document's time less its run time, or earlier if a stall held the document up. The earliest
    of what the documents say is right as soon as one of them was not held up, and two that agree were not: the first
    rows wait for them. What a job has waited for in all, one request after the other, it has waited for since it began:
    on a drive that holds up each document that is closer.
    """

    def __init__(self, step: str, directions: Iterable[Direction], begin_ns: int, interval_ns: int) -> None:
        """Rows of ``step`` in at least ``directions``, for a fio that was started at ``begin_ns`` of the run."""
        self._step = step
        self._directions = set(directions)
        self._interval_ns = interval_ns
        self._end_ns = begin_ns
        self._jobs: tuple[Job, ...] = ()
        self._held: list[tuple[Document, int]] = []
        self._begins = Begins(begin_ns)

    def samples(self, document: Document, made_ns: int, *, last: bool = False) -> list[Sample]:
        """Rows up to this document, which was made at ``made_ns`` on the run's clock; the first ones come later."""
        is_early = not self._jobs
        self._begins.note(document.jobs, made_ns, is_early=is_early)
        if not (last or self._begins.any_known or any(moved.count for moved in self._moved(document).values())):
            return []  # no job has begun
        if is_early and not last:
            self._held.append((document, made_ns))
            return self.rest() if self._knows_begin() else []
        return self.rest() + self._rows(document, made_ns, last=last)

    def rest(self) -> list[Sample]:
        """The rows that still wait for a document."""
        held, self._held = self._held, []
        return [row for document, made_ns in held for row in self._rows(document, made_ns, last=False)]

    def _knows_begin(self) -> bool:
        began_ns = sorted(_began_ns(document.jobs[0], made_ns) for document, made_ns in self._held)
        agree = len(began_ns) > 1 and began_ns[1] - began_ns[0] <= self._interval_ns // _AGREE
        return agree or len(began_ns) == _MOST_HELD

    def _rows(self, document: Document, made_ns: int, *, last: bool) -> list[Sample]:
        start_ns = self._end_ns if self._jobs else self._first_start_ns(document.jobs, made_ns)
        end_ns = max(made_ns, start_ns)
        if last and self._jobs:
            # The last document is made some 100 ms after the last I/O; the jobs' own clocks know when that was.
            noted_ns = min(start_ns, self._begins.noted_ns(self._jobs))
            end_ns = max(start_ns, min(end_ns, noted_ns + _busy_ns(document.jobs, self._jobs)))
        moved = self._moved(document)
        self._jobs, self._end_ns = document.jobs, end_ns
        if end_ns - start_ns < _SHORTEST_NS and not any(each.count or each.bytes for each in moved.values()):
            return []
        self._directions |= {each for each, counters in moved.items() if counters.count}
        return [
            _sample(self._step, each, start_ns, end_ns - start_ns, moved[each]) for each in in_order(self._directions)
        ]

    def _first_start_ns(self, jobs: tuple[Job, ...], made_ns: int) -> int:
        """When the first job began, rather than when fio was started."""
        began_ns = self._begins.first_ns(jobs, made_ns)
        # fio notes run times when its first interval is over, and that begins with fio: what comes later was held up.
        least_ns = self._end_ns + max(self._interval_ns - jobs[0].runtime_ms * 1_000_000, 0)
        return least_ns if began_ns - least_ns > _START_UP_NS else max(self._end_ns, began_ns)

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


class Begins:
    """When each job began, as far as the documents tell: at the latest."""

    def __init__(self, fio_began_ns: int) -> None:
        """No job began before fio did."""
        self._fio_began_ns = fio_began_ns
        self._latest_ns: dict[int, int] = {}
        self._runtime_ms: dict[int, int] = {}

    def note(self, jobs: tuple[Job, ...], made_ns: int, *, is_early: bool) -> None:
        """Take what a document says that was made then; how long a job has waited is believed of early ones only."""
        for at, job in enumerate(jobs):
            # Who was stopped for a while, and went on, has waited longer than the run's clock went.
            latest_ns = _began_ns(job if is_early else job._replace(depth=0), made_ns)
            if latest_ns < self._fio_began_ns:  # of a job that waits for its turn fio prints how long the machine is up
                continue
            if job.runtime_ms >= self._runtime_ms.get(at, 0):  # else fio began to count afresh
                latest_ns = min(latest_ns, self._latest_ns.get(at, latest_ns))
            self._latest_ns[at], self._runtime_ms[at] = latest_ns, job.runtime_ms

    @property
    def any_known(self) -> bool:
        """Has any job begun?"""
        return bool(self._latest_ns)

    def first_ns(self, jobs: tuple[Job, ...], made_ns: int) -> int:
        """Of the first job."""
        return self._latest_ns.get(0, made_ns - jobs[0].runtime_ms * 1_000_000)

    def noted_ns(self, jobs: tuple[Job, ...]) -> int:
        """When fio noted these run times, at the latest."""
        known = [(jobs[at].runtime_ms, began_ns) for at, began_ns in self._latest_ns.items() if at < len(jobs)]
        return max((began_ns + runtime_ms * 1_000_000 for runtime_ms, began_ns in known), default=_NEVER_NS)


def _began_ns(job: Job, made_ns: int) -> int:
    """When a job began, at the latest, as far as one document tells that was made then.

    fio noted the run time before its threads looked up, and the counts after: what was answered after 100 ms was asked
    for that long ago, and what was answered in all took no less than with as many in flight as there may be.
    """
    answered_ns = max(moved.latency_max_ns for moved in job.moves.values())
    if job.depth:
        waited_ns = sum(moved.latency_sum_ns for moved in job.moves.values())
        answered_ns = max(answered_ns, round(waited_ns / job.depth))
    return made_ns - max(job.runtime_ms * 1_000_000, answered_ns)


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
