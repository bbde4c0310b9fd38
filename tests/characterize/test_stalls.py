"""A fill of which each write's time is known: which waits are the journal's or memory's, and which stalls."""

from __future__ import annotations

import numpy as np
import pytest

from shakedown.fit.log import append
from shakedown.fit.log.fill import Fill, Order, fill
from shakedown.fit.trace import Log, Trace, Uninterrupted


def _log(completed_ms: np.ndarray, latency_ms: np.ndarray, offsets: np.ndarray | None = None) -> Log:
    completed = (completed_ms * 1e6).astype(np.int64)
    submitted = completed - (latency_ms * 1e6).astype(np.int64)
    zeros = np.zeros(len(completed), np.int64)
    return Log(submitted, completed, zeros if offsets is None else offsets, zeros + 4096, zeros, int(completed[-1]))


class _Cache(Uninterrupted):
    """A bench of which each small write of a fill takes as long as is said."""

    capacity_bytes = 1 << 40

    def __init__(self, cycle_ms: np.ndarray) -> None:
        self._cycle_ms, self._done = cycle_ms, 0

    def play(self, name: str, trace: Trace) -> Log:
        if name.endswith("-wake"):
            return _log(np.ones(1), np.ones(1))
        taken = self._cycle_ms[self._done : self._done + len(trace)]
        self._done += len(trace)
        return _log(np.cumsum(taken), taken)

    def idle(self, duration_ns: int) -> None:
        pass


def _filled(cycle_ms: np.ndarray, every: int, *, pass_ms: float = 0.0) -> Fill:
    order = Order((0,), _Cache.capacity_bytes, 64 << 20, 0, pass_ms, rewritten=False)
    return fill(_Cache(cycle_ms), "fill", order, flush_every=0, known=append.Journal(every, 120.0))


@pytest.mark.parametrize("every", [15, 30, 51])
@pytest.mark.parametrize("stall_ms", [700.0, 5700.0])
def test_a_journal_is_no_stall_where_a_large_memory_waits_for_every_third_visit(every: int, stall_ms: float) -> None:
    """The first writes hold no wait, so three times as many journals came as visits: 48,314 entries for 200,000."""
    cycle = np.full(400_000, 0.1)
    cycle[986::986] = 97.2
    cycle[986 * every // 3 :: 986 * every // 3] = 217.2
    cycle[200_388::600] = stall_ms
    assert _filled(cycle, every).writes == 200_388


def test_what_is_much_shorter_than_a_pass_is_no_stall() -> None:
    """Of a memory that waits too rarely to be seen at first each visit takes longer than any of small bands."""
    cycle = np.full(300_000, 0.1)
    cycle[2900::2900] = 300.0
    cycle[100_000::600] = 1200.0
    assert _filled(cycle, 240, pass_ms=1000.0).writes == 100_000
