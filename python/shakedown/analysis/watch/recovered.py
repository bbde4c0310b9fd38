"""Watching read probes for the end of a backlog, whichever way the latency goes."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Final

from shakedown.analysis.condition import Recovered
from shakedown.analysis.level import WINDOW_BLOCKS, is_moving, level_change
from shakedown.analysis.watch.blocks import Blocks
from shakedown.sample import Sample
from shakedown.units import NS_PER_S, format_duration

SETTLING_BLOCKS: Final = 2
"""Blocks at the start that never count: the DRAM cache is still being written out."""


class RecoveredWatcher:
    """A two-window rank test: the last ``window`` of mean latencies against the ``window`` before it.

    Both windows move, so a level that drifts never looks abrupt; the change must exceed ``factor`` up or down, be
    beyond chance, and the last window must no longer move in itself. Reports about one ``window`` after the change. A
    backlog gone before some 60 % of a ``window`` had passed is not seen, since nothing is known of the level before.
    """

    def __init__(self, condition: Recovered) -> None:
        """Begin without a level."""
        self._condition = condition
        self._probes = Blocks(condition.window_ns // WINDOW_BLOCKS)
        self._waited_s = Blocks(condition.window_ns // WINDOW_BLOCKS)
        self._closed = 0
        self._levels: deque[float | None] = deque(maxlen=2 * WINDOW_BLOCKS)
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
        if self._closed <= SETTLING_BLOCKS:
            return None
        self._levels.append(math.log(waited_s / probes) if probes > 0 and waited_s > 0 else None)
        split = len(self._levels) - WINDOW_BLOCKS
        if split <= 0:
            return None
        before = [level for level in islice(self._levels, split) if level is not None]
        after = [level for level in islice(self._levels, split, None) if level is not None]
        change = level_change(before, after, self._condition.factor)
        if change is None or is_moving(after, self._condition.factor):
            return None
        began_ns = (self._closed - WINDOW_BLOCKS) * self._probes.block_ns
        direction = "rose" if change > 0 else "fell"
        return (
            f"the mean latency {direction} by a factor of {math.exp(abs(change)):.2g}"
            f" about {format_duration(began_ns)} after the step began and has stayed so"
        )
