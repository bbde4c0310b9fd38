"""The rows of a modelled load as fio would have told them of the same requests.

A thread of fio's sleeps until one of three things is due: to tell of an interval, to read the disk's statistics, every
250 ms, or to note the rate, every 500 ms. An interval that is over is seen whenever it wakes. Then it asks the workers
for what has happened, and a worker answers before it makes its next request: one that waits for an answer when that
has come, one that pauses when its pause is over. So a stall belongs to the row in which it ends; but bytes are noted
before it asks, and those of what completes meanwhile are in the next row. What the thread was about to do before it
asked it sleeps for afterwards; what came due meanwhile is seen then, and counts anew from there (``helper_thread.c``,
and ``calc_log_samples`` in ``stat.c``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shakedown.sample import Direction, Sample
from shakedown.tools.fio.job import parse_fio_time_ns, parse_job

_QUANTILES = (0.5, 0.99, 0.999)
_NS_PER_MS = 1_000_000
# From the beginning of fio's first interval to the first request: a sleep of 100 ms, and what Linux adds to it.
_AHEAD_NS = 100_060_000
_STATISTICS_EVERY_MS = 250
_RATE_EVERY_MS = 500
# So late or early a timer is still on time.
_ACCURACY_MS = 1
# In whole milliseconds fio cuts off what is left: its looks at the clock, at 256 ns each, see to it that it is less.
_LOOKS_NS = 1_024


class Timer:
    """Something that fio's thread does every so often."""

    def __init__(self, begin_ns: int, every_ms: int) -> None:
        """It is set at ``begin_ns``."""
        self._every_ms = every_ms
        self._expires_ns = begin_ns + every_ms * _NS_PER_MS
        self.left_ms = every_ms

    def look(self, now_ns: int) -> bool:
        """Whether it is due; then it is set again."""
        self.left_ms = (self._expires_ns - now_ns) // _NS_PER_MS
        if self.left_ms > _ACCURACY_MS:
            return False
        self._expires_ns += self._every_ms * _NS_PER_MS
        self.left_ms = (self._expires_ns - now_ns) // _NS_PER_MS
        if abs(self.left_ms - self._every_ms) > _ACCURACY_MS:
            self._expires_ns = now_ns + self._every_ms * _NS_PER_MS
            self.left_ms = self._every_ms
        return True


class Rate:
    """What fio's thread notes of a job's rate: not by a timer, but by when it did so last."""

    def __init__(self, began_ns: int) -> None:
        """Of a job that began then."""
        self._noted_ns = began_ns

    def left_ms(self, now_ns: int) -> int:
        """For how long there is nothing to note again; what is due now is noted."""
        past_ms = (now_ns - self._noted_ns) // _NS_PER_MS
        if past_ms < 0:
            return _RATE_EVERY_MS
        if past_ms < _RATE_EVERY_MS - _ACCURACY_MS:
            return _RATE_EVERY_MS - past_ms
        self._noted_ns = now_ns
        late_ms = past_ms - _RATE_EVERY_MS
        if not 0 < late_ms < _RATE_EVERY_MS:
            return _RATE_EVERY_MS
        return _RATE_EVERY_MS - 1 - late_ms or _STATISTICS_EVERY_MS


class Thread:
    """When fio's thread sees that a row is due."""

    def __init__(self, began_ns: int, interval_ns: int) -> None:
        """Of a job that makes its first request at ``began_ns``."""
        self._idle_ns = began_ns - _AHEAD_NS
        self._statistics = Timer(self._idle_ns, _STATISTICS_EVERY_MS)
        self._row = Timer(self._idle_ns, max(interval_ns // _NS_PER_MS, 1))
        self._rate = Rate(began_ns)
        self._sleep_ms = min(self._statistics.left_ms, self._row.left_ms)

    def due_ns(self) -> int:
        """When it sees that a row is due, and asks for it."""
        while True:
            now_ns = self._idle_ns + self._sleep_ms * _NS_PER_MS + _LOOKS_NS
            self._statistics.look(now_ns)
            is_due = self._row.look(now_ns)
            self._sleep_ms = min(self._statistics.left_ms, self._row.left_ms)
            if is_due:
                return now_ns
            self.told(now_ns)

    def told(self, at_ns: int) -> None:
        """The row was made then, and the thread goes to sleep."""
        self._sleep_ms = min(self._sleep_ms, self._rate.left_ms(at_ns))
        self._idle_ns = at_ns


class Pause(NamedTuple):
    """That a worker rests for so long after so many requests."""

    length_ns: int
    requests: int

    @classmethod
    def of(cls, job: str) -> Pause | None:
        """Of a job with one section, if it has one."""
        (section, *others) = parse_job(job, "job")
        length_ns = parse_fio_time_ns(section.last("thinktime", "0"), 1000)
        if length_ns == 0 or others:
            return None
        return cls(length_ns, section.count("thinktime_blocks", 1))


class FioRows:
    """Cuts the completions of a load into rows, one for each of its directions, all at the same moments."""

    def __init__(
        self, step: str, directions: Sequence[Direction], *, began_ns: int, interval_ns: int, pause: Pause | None = None
    ) -> None:
        """Begin with a job whose first request was made at ``began_ns``."""
        self._step = step
        self._directions = directions
        self._began_ns = began_ns
        self._pause = pause
        self._completed = 0
        self._late_bytes = dict.fromkeys(directions, 0)
        self._thread = Thread(began_ns, interval_ns)
        self._due_ns = self._thread.due_ns()
        while self._due_ns <= began_ns:
            self._thread.told(began_ns)
            self._due_ns = self._thread.due_ns()
        self._open = pl.DataFrame()

    @property
    def due_ns(self) -> int:
        """From when on the next row ends with what a worker answers."""
        return self._due_ns

    def take(self, requests: pl.DataFrame, until_ns: int) -> list[Sample]:
        """The rows that are over, now that the load has come to ``until_ns``; ``requests`` as in ``REQUEST_SCHEMA``."""
        new = requests.filter(pl.col("verb").is_in(list(self._directions)))
        self._open = pl.concat([self._open, new]) if self._open.width else new
        return list(self._closed(until_ns))

    def _closed(self, until_ns: int) -> Iterator[Sample]:
        while self._due_ns <= until_ns:
            completed_ns = self._open["completed_ns"].to_numpy()
            answers_ns = self._answers_ns(completed_ns)
            at = int(np.searchsorted(answers_ns, self._due_ns))
            if at == len(completed_ns) or answers_ns[at] > until_ns:
                return
            end_ns = int(answers_ns[at])
            # Those that complete together are looked at together.
            yield from self._close(end_ns, int(np.searchsorted(completed_ns, end_ns, side="right")), self._due_ns)
            self._thread.told(end_ns)
            self._due_ns = self._thread.due_ns()

    def _answers_ns(self, completed_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """When the worker that waited for each of these was ready to answer: it pauses first."""
        if self._pause is None:
            return completed_ns
        ordinals = self._completed + 1 + np.arange(len(completed_ns))
        pauses_ns: NDArray[np.int64] = np.where(ordinals % self._pause.requests, 0, self._pause.length_ns)
        return completed_ns + pauses_ns

    def end(self, until_ns: int) -> list[Sample]:
        """The last rows; what is shorter than fio's milliseconds and has nothing in it is none."""
        has_something = self._open.height or any(self._late_bytes.values())
        is_row = has_something or until_ns - self._began_ns >= _NS_PER_MS
        return self._close(until_ns, self._open.height, until_ns) if is_row else []

    def _close(self, end_ns: int, requests: int, noted_ns: int) -> list[Sample]:
        ended = self._open[:requests]
        rows = [self._row(each, end_ns, ended.filter(pl.col("verb") == each), noted_ns) for each in self._directions]
        self._began_ns, self._open = end_ns, self._open[requests:]
        self._completed += requests
        return rows

    def _row(self, direction: Direction, end_ns: int, requests: pl.DataFrame, noted_ns: int) -> Sample:
        latency_ns: NDArray[np.int64] = requests["latency_ns"].to_numpy()
        place = (self._step, direction, self._began_ns, end_ns - self._began_ns)
        late_bytes = int(requests.filter(pl.col("completed_ns") > noted_ns)["bytes"].sum())
        bytes_moved = self._late_bytes[direction] + int(requests["bytes"].sum()) - late_bytes
        self._late_bytes[direction] = late_bytes
        if not len(latency_ns):
            return Sample(*place, 0, bytes_moved, None, None, None, None, None)
        p50, p99, p999 = (int(np.quantile(latency_ns, part, method="inverted_cdf")) for part in _QUANTILES)
        return Sample(
            *place, len(latency_ns), bytes_moved, float(latency_ns.mean()), p50, p99, p999, int(latency_ns.max())
        )
