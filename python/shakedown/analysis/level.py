"""Has a level of latency changed? One test for the running step and for the finished one.

Latencies of single probes are wild: most take a seek, some wait for a whole band to be cleaned. So they are first
averaged over blocks of time; the logarithms of these means are compared, as ratios are what matters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Final

WINDOW_BLOCKS: Final = 20
"""Blocks per window: enough for the rank test to forgive a few on the wrong side."""

REFERENCE_BLOCKS: Final = 2 * WINDOW_BLOCKS
"""Blocks before it with which it is compared, at most."""

CHANGE_SCORE: Final = 4.4
"""Standard deviations of the rank sum: about one false alarm in 100,000 independent looks (two-sided, normal), so
that a thousand looks in half a day rarely raise one. Fewer than ten blocks against twenty cannot reach it, which
keeps the first minutes out without a rule of their own."""

_EDGE_BLOCKS: Final = 3
"""A split nearer to an end would rest on one or two outliers."""

UNSTABLE_SCORE: Final = 2.5
"""The halves of the recent window may not differ by so much *and* by half the wanted change: the level still moves."""


def rank_score(before: Sequence[float], after: Sequence[float]) -> float:
    """Mann-Whitney's rank sum in standard deviations, positive when ``after`` is higher. Zero when either is empty."""
    if not before or not after:
        return 0.0
    wins = sum((b < a) + 0.5 * (b == a) for b in before for a in after)
    pairs = len(before) * len(after)
    return (wins - pairs / 2) / math.sqrt(pairs * (len(before) + len(after) + 1) / 12)


def level_change(before: Sequence[float], after: Sequence[float], factor: float) -> float | None:
    """How much higher the log level is ``after``; None unless it is by ``factor`` (up or down) and beyond chance."""
    if not before or not after:
        return None
    change = median(after) - median(before)
    if abs(change) < math.log(factor) or change * rank_score(before, after) < abs(change) * CHANGE_SCORE:
        return None
    return change


def likely_split(levels: Sequence[float]) -> int:
    """The index at which a second level most likely begins (least squares), away from the ends by `_EDGE_BLOCKS`.

    Zero when there are too few levels.
    """
    total, count = sum(levels), len(levels)
    best, split, first = -1.0, 0, sum(levels[:_EDGE_BLOCKS])
    for index in range(_EDGE_BLOCKS, count - _EDGE_BLOCKS + 1):
        apart = first / index - (total - first) / (count - index)
        between = index * (count - index) * apart * apart
        if between > best:
            best, split = between, index
        first += levels[index]
    return split


def is_moving(levels: Sequence[float], factor: float) -> bool:
    """Whether the second half of some log levels lies apart from the first."""
    half = len(levels) // 2
    first, second = levels[:half], levels[half:]
    if not first:
        return False
    apart = abs(median(second) - median(first)) >= math.log(factor) / 2
    return apart and abs(rank_score(first, second)) >= UNSTABLE_SCORE
