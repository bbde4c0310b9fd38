"""A stream of samples of any length as sums over blocks of equal length."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from operator import add


class Blocks:
    """Sums of an amount over consecutive blocks of time that start with the first sample.

    A sample that reaches over several blocks (a status that came late) is spread evenly over them; time that no
    sample covers counts as nothing done.
    """

    def __init__(self, block_ns: int, join: Callable[[float, float], float] = add) -> None:
        """Blocks of ``block_ns`` nanoseconds, at least one; ``join`` makes one amount of two within a block."""
        self.block_ns = max(1, block_ns)
        self._join = join
        self._end_ns: int | None = None
        self._open = deque([0.0])

    def add(self, start_ns: int, duration_ns: int, amount: float) -> Sequence[float]:
        """Take a sample; returns the sums of the blocks that ended before it started, oldest first."""
        if self._end_ns is None:
            self._end_ns = start_ns + self.block_ns
        closed = () if start_ns < self._end_ns else self._close(start_ns, self._end_ns)
        if start_ns + duration_ns <= self._end_ns:
            self._open[0] = self._join(self._open[0], amount)
        else:
            self._spread(start_ns, duration_ns, amount, self._end_ns)
        return closed

    def _close(self, start_ns: int, end_ns: int) -> Sequence[float]:
        count = (start_ns - end_ns) // self.block_ns + 1
        self._end_ns = end_ns + count * self.block_ns
        closed = []
        for _ in range(count):
            closed.append(self._open.popleft())
            if not self._open:
                self._open.append(0.0)
        return closed

    def _spread(self, start_ns: int, duration_ns: int, amount: float, edge_ns: int) -> None:
        end_ns = start_ns + duration_ns
        index = 0
        while start_ns < end_ns:
            if index == len(self._open):
                self._open.append(0.0)
            upto_ns = min(edge_ns, end_ns)
            self._open[index] += amount * (upto_ns - start_ns) / duration_ns
            start_ns, edge_ns, index = upto_ns, edge_ns + self.block_ns, index + 1
