"""Watching read probes for the end of a backlog, whichever way the latency goes."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Final

from shakedown.analysis.condition import Recovered
from shakedown.analysis.level import REFERENCE_BLOCKS, WINDOW_BLOCKS, is_moving, level_change, likely_split
from shakedown.analysis.watch.blocks import Blocks
from shakedown.sample import Sample
from shakedown.units import NS_PER_S, format_duration

SETTLING_BLOCKS: Final = 2
"""Blocks at the start that never count: the DRAM cache is still being written out."""


class RecoveredWatcher:
    """A rank test on either side of the likeliest change within the last three windows of mean latencies.

    The likeliest place is that of least squares. The step ends when it lies a ``window`` or more back, the levels
    differ by ``factor`` up or down and beyond chance, and the later one no longer moves. Only three windows are
    looked at, so a level that merely drifts does not look abrupt. A backlog that is gone before some 60 % of a
    ``window`` has passed is not seen, since nothing is known of the level before.
    """

    def __init__(self, condition: Recovered) -> None:
        """Begin without a level."""
        self._condition = condition
        self._probes = Blocks(condition.window_ns // WINDOW_BLOCKS)
        self._waited_s = Blocks(condition.window_ns // WINDOW_BLOCKS)
        self._closed = 0
        self._levels: deque[tuple[int, float]] = deque()
        self._origin_ns: int | None = None

    def see(self, samples: Sequence[Sample]) -> str | None:
        """See `Watcher.see`."""
        for sample in samples:
            if self._origin_ns is None:
                self._origin_ns = sample.start_ns
            start_ns, duration_ns, latency_ns = sample.start_ns, sample.duration_ns, sample.latency_mean_ns
            probes = sample.count if latency_ns is not None else 0
            waited_s = probes * (latency_ns or 0.0) / NS_PER_S
            counts = self._probes.add(start_ns, duration_ns, probes)
            for count, total_s in zip(counts, self._waited_s.add(start_ns, duration_ns, waited_s), strict=True):
                if sentence := self._take(count, total_s):
                    return sentence
            if start_ns + duration_ns - self._origin_ns >= self._condition.patience_ns:
                return (
                    "no lasting change of the latency level was seen within"
                    f" {format_duration(self._condition.patience_ns)}: no backlog, or one that is still there"
                )
        return None

    def _take(self, probes: float, waited_s: float) -> str | None:
        self._closed += 1
        while self._levels and self._levels[0][0] <= self._closed - REFERENCE_BLOCKS - WINDOW_BLOCKS:
            self._levels.popleft()
        if self._closed <= SETTLING_BLOCKS or probes <= 0 or waited_s <= 0:
            return None
        self._levels.append((self._closed, math.log(waited_s / probes)))
        levels = [level for _, level in self._levels]
        split = likely_split(levels)
        began = self._levels[split][0] - 1
        if self._closed - began < WINDOW_BLOCKS:
            return None
        before, after = levels[:split], levels[split:]
        change = level_change(before, after, self._condition.factor)
        if change is None or is_moving(after, self._condition.factor):
            return None
        return (
            f"the mean latency {'rose' if change > 0 else 'fell'} by a factor of {math.exp(abs(change)):.2g}"
            f" about {format_duration(began * self._probes.block_ns)} after the step began"
            f" and has stayed so for {format_duration((self._closed - began) * self._probes.block_ns)}"
        )
