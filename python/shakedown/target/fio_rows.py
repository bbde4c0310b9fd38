"""The rows of a modelled load as fio would have told them of the same requests.

fio tells what happened in an interval when it is over, but asks its workers for that first, and a worker that waits for
a request answers when that has completed. So a row ends with the first completion after the interval's end, the next
interval begins there, and a stall belongs to the row in which it ends. Its first interval began before its first
request, and how long its jobs have run it notes before it asks (see ``tools/fio/interval.py``).
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
# A first row that comes later than that is known to have been held up.
_OVERDUE_NS = 1_000_000_000


class FioRows:
    """Cuts the completions of a load into rows, one for each of its directions, all at the same moments."""

    def __init__(self, step: str, directions: Sequence[Direction], *, began_ns: int, interval_ns: int) -> None:
        """Begin with a job whose first request was made at ``began_ns``."""
        self._step = step
        self._directions = directions
        self._interval_ns = interval_ns
        self._began_ns = began_ns
        self._due_ns = began_ns + (interval_ns - _AHEAD_NS) % interval_ns
        self._is_first = True
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
            yield from self._close(int(completed_ns[at]), at + 1)

    def end(self, until_ns: int) -> list[Sample]:
        """The last rows."""
        return self._close(until_ns, self._open.height) if until_ns > self._began_ns else []

    def _close(self, end_ns: int, requests: int) -> list[Sample]:
        if self._is_first and end_ns - self._began_ns <= _OVERDUE_NS:
            self._began_ns += max(0, end_ns - self._due_ns)
        self._is_first = False
        ended = self._open[:requests]
        rows = [self._row(each, end_ns, ended.filter(pl.col("verb") == each)) for each in self._directions]
        self._began_ns, self._due_ns, self._open = end_ns, end_ns + self._interval_ns, self._open[requests:]
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
