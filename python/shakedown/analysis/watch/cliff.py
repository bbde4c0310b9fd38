"""Watching for the collapse of the rate."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence
from typing import Final

from shakedown.analysis.condition import Cliff
from shakedown.analysis.rate import Rate
from shakedown.analysis.watch.blocks import Blocks
from shakedown.sample import Sample
from shakedown.units import NS_PER_S, format_duration

HOLD_BLOCKS: Final = 6
"""Blocks per ``hold``. Coarser than a journal pause of a second for every hold of some seconds or more."""

LOW_BLOCKS: Final = 5
"""So many of them must be low: a collapsed drive may deliver a burst between two cleaning passes."""

SETTLING_HOLDS: Final = 1
"""Nothing counts before this: the burst into a drive's DRAM cache lasts seconds."""

ESTABLISHED_HOLDS: Final = 1
"""So much history the established rate needs at least."""

HISTORY_HOLDS: Final = 20
"""The established rate is the median over so much history: short enough to follow the decline from outer to inner
tracks (a factor of two in hours), long enough to keep a collapse that takes several holds."""


class CliffWatcher:
    """Compares the last ``hold``, in blocks, with the median of the blocks before it.

    The blocks of the last ``hold`` never enter that history, so a collapse cannot become its own reference. Reports
    one ``hold`` (and up to two blocks) after the collapse began.
    """

    def __init__(self, condition: Cliff) -> None:
        """Begin with an unknown rate."""
        self._condition = condition
        self._blocks = Blocks(condition.hold_ns // HOLD_BLOCKS)
        self._closed = 0
        self._pending: deque[float] = deque()
        self._history: deque[float] = deque()
        self._ranked: list[float] = []
        self._bytes = 0
        self._requests = 0

    def see(self, samples: Sequence[Sample]) -> str | None:
        """See `Watcher.see`."""
        for sample in samples:
            self._bytes += sample.bytes
            self._requests += sample.count
            for amount in self._blocks.add(sample.start_ns, sample.duration_ns, sample.bytes):
                self._take(amount)
                if self._has_collapsed():
                    return self._sentence()
        return None

    def _take(self, amount: float) -> None:
        self._closed += 1
        if self._closed <= SETTLING_HOLDS * HOLD_BLOCKS:
            return
        self._pending.append(amount)
        if len(self._pending) <= HOLD_BLOCKS:
            return
        self._history.append(self._pending.popleft())
        insort(self._ranked, self._history[-1])
        if len(self._history) > HISTORY_HOLDS * HOLD_BLOCKS:
            del self._ranked[bisect_left(self._ranked, self._history.popleft())]

    @property
    def _established(self) -> float:
        return self._ranked[len(self._ranked) // 2]

    def _has_collapsed(self) -> bool:
        if len(self._history) < ESTABLISHED_HOLDS * HOLD_BLOCKS:
            return False
        limit = self._condition.drop * self._established
        if limit <= 0 or self._pending[0] > limit:
            return False
        low = sum(amount <= limit for amount in self._pending)
        return low >= LOW_BLOCKS and sum(self._pending) <= limit * HOLD_BLOCKS

    def _sentence(self) -> str:
        block_s = self._blocks.block_ns / NS_PER_S
        request_bytes = self._bytes / self._requests if self._requests else 0.0
        before = Rate.of(self._established, block_s, request_bytes)
        after = Rate.of(sum(self._pending), block_s * HOLD_BLOCKS, request_bytes)
        began_ns = (self._closed - HOLD_BLOCKS) * self._blocks.block_ns
        return (
            f"the rate fell from {before} to {after} about {format_duration(began_ns)} after the step began"
            f" and stayed low for {format_duration(self._condition.hold_ns)}"
        )
