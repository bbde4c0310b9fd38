"""Watching levels of latency for changes that last."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from shakedown.analysis.level import (
    SEARCHES,
    SETTLING_BLOCKS,
    WANDER_MEMORY_WINDOWS,
    WINDOW_BLOCKS,
    WORST_SEARCHES,
    Search,
    centre,
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
    before_s: float
    of: Literal["mean", "worst"] = "mean"


class LatencyWatch:
    """Finds changes of the mean latency, and of the worst in a block where the mean tells nothing, in bounded memory.

    Few probes that wait for the cleaning move the mean too little to be told from noise, and the worst of many by far.
    After each change it begins anew with the new level, so that the last of several can be had.
    """

    def __init__(self, window_ns: int, factor: float) -> None:
        """Begin without a level."""
        self._block_ns = max(1, window_ns // WINDOW_BLOCKS)
        self._probes, self._waited_s = Blocks(self._block_ns), Blocks(self._block_ns)
        self._worst_s = Blocks(self._block_ns, max)
        self._mean = _LevelWatch(self._block_ns, factor, SEARCHES)
        self._worst = _LevelWatch(self._block_ns, factor, WORST_SEARCHES)

    def add(self, start_ns: int, probes: float, waited_s: float, worst_s: float) -> Change | None:
        """Take an interval with so many probes that took ``waited_s`` together: the change that it settles, if any.

        It counts whole where it begins: shared out over blocks one row of probes would speak as often as it reaches
        into one, and the ranks take each for a witness of its own.
        """
        change = None
        counts = self._probes.add(start_ns, 0, probes)
        sums = self._waited_s.add(start_ns, 0, waited_s)
        for count, total_s, most_s in zip(counts, sums, self._worst_s.add(start_ns, 0, worst_s), strict=True):
            change = self._take(total_s / count if count > 0 else 0.0, most_s) or change
        return change

    def _take(self, mean_s: float, worst_s: float) -> Change | None:
        of_worst = self._worst.take(worst_s)
        if change := self._mean.take(mean_s):
            # The worst would tell of the same again.
            self._worst.forget()
            return change
        return replace(of_worst, of="worst") if of_worst else None


class _LevelWatch:
    """Finds changes of a level, a figure a block, that have lasted for some ``window``s."""

    def __init__(self, block_ns: int, factor: float, searches: Sequence[Search]) -> None:
        self._block_ns, self._searches = block_ns, searches
        self._log_factor = math.log(factor)
        self._closed = 0
        # Apart from the blocks that they are of: each block's search copies these whole.
        self._levels: deque[float] = deque(maxlen=WANDER_MEMORY_WINDOWS * WINDOW_BLOCKS)
        self._blocks: deque[int] = deque(maxlen=WANDER_MEMORY_WINDOWS * WINDOW_BLOCKS)

    def forget(self) -> None:
        """Begin anew with what comes."""
        self._levels.clear()
        self._blocks.clear()

    def take(self, latency_s: float) -> Change | None:
        """Take the next block's figure, zero where nothing was probed."""
        self._closed += 1
        if self._closed <= SETTLING_BLOCKS or latency_s <= 0:
            return None
        self._levels.append(math.log(latency_s))
        self._blocks.append(self._closed)
        for search in self._searches:
            if change := self._search(search):
                return change
        return None

    def _search(self, search: Search) -> Change | None:
        levels = list(self._levels)
        first = max(0, len(levels) - search.look_back_windows * WINDOW_BLOCKS)
        split = first + likely_split(levels[first:])
        began = self._blocks[split] - 1
        if self._closed - began < search.hold_windows * WINDOW_BLOCKS:
            return None
        wanted = wanted_change(levels[:split]) if search.learned else 0.0
        if wanted is not None and search.great:
            wanted = max(wanted, self._log_factor)
        before, after = levels[first:split], levels[split:]
        log_ratio = level_change(before, after, wanted) if wanted else None
        if wanted is None or log_ratio is None or is_moving(after, wanted):
            return None
        for _ in range(split):
            self._levels.popleft()
            self._blocks.popleft()
        held_ns = (self._closed - began) * self._block_ns
        return Change(began * self._block_ns, held_ns, log_ratio, math.exp(centre(before)))
