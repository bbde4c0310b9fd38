"""Watching a level of latency for changes that last."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from shakedown.analysis.level import (
    SEARCHES,
    SETTLING_BLOCKS,
    WANDER_MEMORY_WINDOWS,
    WINDOW_BLOCKS,
    Search,
    is_moving,
    level_change,
    likely_split,
    wanted_change,
)
from shakedown.analysis.watch.blocks import Blocks


@dataclass(frozen=True)
class Change:
    """A level that changed ``at_ns`` (from the first probe on, to a block) by ``log_ratio`` and stayed since."""

    at_ns: int
    held_ns: int
    log_ratio: float


class LevelWatch:
    """Finds changes of the mean latency that have lasted for one or two ``window``s, in bounded memory.

    After each change it begins anew with the new level, so that the last of several can be had.
    """

    def __init__(self, window_ns: int, factor: float) -> None:
        """Begin without a level."""
        self._block_ns = max(1, window_ns // WINDOW_BLOCKS)
        self._log_factor = math.log(factor)
        self._probes, self._waited_s = Blocks(self._block_ns), Blocks(self._block_ns)
        self._closed = 0
        self._levels: deque[tuple[int, float]] = deque(maxlen=WANDER_MEMORY_WINDOWS * WINDOW_BLOCKS)

    def add(self, start_ns: int, probes: float, waited_s: float) -> Change | None:
        """Take an interval with so many probes that took ``waited_s`` together: the change that it settles, if any.

        It counts whole where it begins: shared out over blocks one row of probes would speak as often as it reaches
        into one, and the ranks take each for a witness of its own.
        """
        change = None
        counts = self._probes.add(start_ns, 0, probes)
        for count, total_s in zip(counts, self._waited_s.add(start_ns, 0, waited_s), strict=True):
            change = self._take(count, total_s) or change
        return change

    def _take(self, probes: float, waited_s: float) -> Change | None:
        self._closed += 1
        if self._closed <= SETTLING_BLOCKS or probes <= 0 or waited_s <= 0:
            return None
        self._levels.append((self._closed, math.log(waited_s / probes)))
        for search in SEARCHES:
            if change := self._search(search):
                return change
        return None

    def _search(self, search: Search) -> Change | None:
        levels = [level for _, level in self._levels]
        first = max(0, len(levels) - search.look_back_windows * WINDOW_BLOCKS)
        split = first + likely_split(levels[first:])
        began = self._levels[split][0] - 1
        if self._closed - began < search.hold_windows * WINDOW_BLOCKS:
            return None
        wanted = wanted_change(levels[:split]) if search.learned else self._log_factor
        before, after = levels[first:split], levels[split:]
        log_ratio = level_change(before, after, wanted) if wanted else None
        if wanted is None or log_ratio is None or is_moving(after, wanted):
            return None
        for _ in range(split):
            self._levels.popleft()
        return Change(began * self._block_ns, (self._closed - began) * self._block_ns, log_ratio)
