"""The rows of a modelled load as fio would have told them of the same requests.

A thread of fio's sleeps until a row is due, but never longer than 250 ms. Then it asks the workers for what has
happened, and a worker that waits for a request answers when that has completed. So a row ends with the first completion
after it was due, and a stall belongs to the row in which it ends. A row that came due meanwhile is seen when the thread
has slept once more, for as long as it meant to before it asked, and the timer begins anew there (``helper_thread.c``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shakedown.sample import Direction, Sample

_QUANTILES = (0.5, 0.99, 0.999)
# From the beginning of fio's first interval to the first request, in the lab's traces.
_AHEAD_NS = 102_000_000
_LONGEST_SLEEP_NS = 250_000_000
# How long it takes to print a document, in the lab's documents.
_PRINTS_NS = 17_000_000
# So late or early a timer is still on time.
_ACCURACY_NS = 1_000_000


class Timer:
    """When fio's thread sees that a row is due."""

    def __init__(self, begin_ns: int, interval_ns: int) -> None:
        """It is set at ``begin_ns``."""
        self._interval_ns = interval_ns
        self._expires_ns = begin_ns + interval_ns
        self._sleep_ns = min(_LONGEST_SLEEP_NS, interval_ns)

    def due_ns(self, idle_ns: int) -> int:
        """The next time that a row is due, if the thread has nothing to do from ``idle_ns`` on."""
        is_due = False
        while not is_due:
            idle_ns += self._sleep_ns
            late_ns = idle_ns - self._expires_ns
            is_due = late_ns >= -_ACCURACY_NS
            if is_due:
                self._expires_ns = self._interval_ns + (idle_ns if late_ns > _ACCURACY_NS else self._expires_ns)
            self._sleep_ns = min(_LONGEST_SLEEP_NS, self._expires_ns - idle_ns)
        return idle_ns


class FioRows:
    """Cuts the completions of a load into rows, one for each of its directions, all at the same moments."""

    def __init__(self, step: str, directions: Sequence[Direction], *, began_ns: int, interval_ns: int) -> None:
        """Begin with a job whose first request was made at ``began_ns``."""
        self._step = step
        self._directions = directions
        self._began_ns = began_ns
        self._timer = Timer(began_ns - _AHEAD_NS, interval_ns)
        self._due_ns = self._timer.due_ns(began_ns - _AHEAD_NS)
        while self._due_ns <= began_ns:
            self._due_ns = self._timer.due_ns(self._due_ns)
        self._open = pl.DataFrame()

    def take(self, requests: pl.DataFrame, until_ns: int) -> list[Sample]:
        """The rows that are over, now that the load has come to ``until_ns``; ``requests`` as in ``REQUEST_SCHEMA``."""
        new = requests.filter(pl.col("verb").is_in(list(self._directions)))
        self._open = pl.concat([self._open, new]) if self._open.width else new
        return list(self._closed(until_ns))

    def _closed(self, until_ns: int) -> Iterator[Sample]:
        while self._due_ns <= until_ns:
            completed_ns = self._open["completed_ns"].to_numpy()
            at = int(np.searchsorted(completed_ns, self._due_ns))
            if at == len(completed_ns):
                return
            end_ns = int(completed_ns[at])
            # Those that complete together are looked at together.
            yield from self._close(end_ns, int(np.searchsorted(completed_ns, end_ns, side="right")))
            self._due_ns = self._timer.due_ns(end_ns + _PRINTS_NS)

    def end(self, until_ns: int) -> list[Sample]:
        """The last rows."""
        return self._close(until_ns, self._open.height) if until_ns > self._began_ns else []

    def _close(self, end_ns: int, requests: int) -> list[Sample]:
        ended = self._open[:requests]
        rows = [self._row(each, end_ns, ended.filter(pl.col("verb") == each)) for each in self._directions]
        self._began_ns, self._open = end_ns, self._open[requests:]
        return rows

    def _row(self, direction: Direction, end_ns: int, requests: pl.DataFrame) -> Sample:
        latency_ns: NDArray[np.int64] = requests["latency_ns"].to_numpy()
        place = (self._step, direction, self._began_ns, end_ns - self._began_ns)
        if not len(latency_ns):
            return Sample(*place, 0, 0, None, None, None, None, None)
        p50, p99, p999 = (int(np.quantile(latency_ns, part, method="inverted_cdf")) for part in _QUANTILES)
        bytes_moved = int(requests["bytes"].sum())
        return Sample(
            *place, len(latency_ns), bytes_moved, float(latency_ns.mean()), p50, p99, p999, int(latency_ns.max())
        )
