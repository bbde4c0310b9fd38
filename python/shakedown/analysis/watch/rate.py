"""Watching a rate for its collapse: one detector for the running step and for the finished one."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shakedown.analysis.condition import Cliff
from shakedown.analysis.watch.blocks import Blocks
from shakedown.units import NS_PER_S

HOLD_BLOCKS: Final = 6
"""Blocks per ``hold``. Coarser than a journal pause of a second for every hold of some seconds or more."""

_LOW_BLOCKS: Final = 5
"""So many of them must be low: a collapsed drive may deliver a burst between two cleaning passes."""

_BURSTS_HOLDS: Final = 2
"""With more bursts, the mean of a hold must stay low for so many holds: no stall shorter than one can do that."""

_SETTLING_BLOCKS: Final = 2
"""Nothing counts before this: the burst into a drive's DRAM cache lasts seconds."""

_ESTABLISHED_BLOCKS: Final = 3
"""So much history the established rate needs at least. A small persistent cache is full within minutes."""

EARLIEST_BLOCKS: Final = _SETTLING_BLOCKS + _ESTABLISHED_BLOCKS
"""A collapse that begins before so many blocks cannot be told from the burst: there is no established rate."""

HISTORY_HOLDS: Final = 20
"""The established rate is the median over so much history: short enough to follow the decline from outer to inner
tracks (a factor of two in hours), long enough to keep a collapse that takes several holds."""

_SCATTERS: Final = 4.0
"""A fall must exceed the usual scatter of the blocks by so many standard deviations as well."""

_STRICTEST: Final = 0.1
"""A fall to a tenth always counts, however wild the rate was before."""

_QUARTILES_APART: Final = 1.349
"""The distance of a normal distribution's quartiles in standard deviations."""


@dataclass(frozen=True)
class Collapse:
    """A rate that fell ``began_ns`` after the first sample (to a block) and had stayed low by ``certain_ns``.

    ``before`` is the established rate, ``after`` the mean of the last ``hold``, both in bytes a second.
    """

    began_ns: int
    certain_ns: int
    before: float
    after: float


def low_limit(ranked: Sequence[float], drop: float) -> float:
    """The rate from which on down a block is low, given the rates before it in rising order."""
    count = len(ranked)
    lower, established, upper = (ranked[count * quarter // 4] for quarter in (1, 2, 3))
    if lower <= 0:
        return min(drop, _STRICTEST) * established
    usual = math.exp(-_SCATTERS * math.log(upper / lower) / _QUARTILES_APART)
    return min(drop, max(usual, _STRICTEST)) * established


class RateWatch:
    """Compares the last ``hold``, in blocks, with the median of the blocks before it, in bounded memory.

    The blocks of the last ``hold`` never enter that history, so a collapse cannot become its own reference. Reports
    one ``hold`` (and up to two blocks) after the collapse began, two holds later when it comes with bursts.
    """

    def __init__(self, condition: Cliff) -> None:
        """Begin with an unknown rate."""
        self._drop = condition.drop
        self._blocks = Blocks(condition.hold_ns // HOLD_BLOCKS)
        self._closed = 0
        self._pending: deque[float] = deque()
        self._history: deque[float] = deque()
        self._ranked: list[float] = []
        self._low_for = 0

    def add(self, start_ns: int, duration_ns: int, amount_bytes: float) -> Collapse | None:
        """Take an interval in which so many bytes were moved: the collapse that it makes certain, if any."""
        for amount in self._blocks.add(start_ns, duration_ns, amount_bytes):
            self._take(amount)
            if self._has_collapsed():
                return self._collapse()
        return None

    def _take(self, amount: float) -> None:
        self._closed += 1
        if self._closed <= _SETTLING_BLOCKS:
            return
        self._pending.append(amount)
        if len(self._pending) <= HOLD_BLOCKS:
            return
        self._history.append(self._pending.popleft())
        insort(self._ranked, self._history[-1])
        if len(self._history) > HISTORY_HOLDS * HOLD_BLOCKS:
            del self._ranked[bisect_left(self._ranked, self._history.popleft())]

    def _has_collapsed(self) -> bool:
        if len(self._history) < _ESTABLISHED_BLOCKS:
            return False
        limit = low_limit(self._ranked, self._drop)
        if limit <= 0 or sum(self._pending) > limit * HOLD_BLOCKS:
            self._low_for = 0
            return False
        self._low_for += 1
        low = sum(amount <= limit for amount in self._pending)
        return self._low_for >= _BURSTS_HOLDS * HOLD_BLOCKS or (low >= _LOW_BLOCKS and self._pending[0] <= limit)

    def _collapse(self) -> Collapse:
        block_ns = self._blocks.block_ns
        low_before = max(0, self._low_for - HOLD_BLOCKS // 2)
        per_second = NS_PER_S / block_ns
        return Collapse(
            began_ns=(self._closed - HOLD_BLOCKS - low_before) * block_ns,
            certain_ns=self._closed * block_ns,
            before=self._ranked[len(self._ranked) // 2] * per_second,
            after=sum(self._pending) / HOLD_BLOCKS * per_second,
        )
