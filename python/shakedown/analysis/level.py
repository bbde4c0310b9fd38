"""Has a level of latency changed for good? One detector for the running step and for the finished one.

Latencies of single probes are wild: most take a seek, some wait for a whole band to be cleaned. So they are first
averaged over blocks of time; the logarithms of these means are compared, as ratios are what matters. How much a level
wanders by itself is learned from the step: a drive whose means keep within two percent for hours shows a change of
fifteen without doubt, while one of which little is known yet must change by a whole ``factor``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

WINDOW_BLOCKS: Final = 20
"""Blocks per window: enough for the rank test to forgive a few on the wrong side."""

SETTLING_BLOCKS: Final = 2
"""Blocks at the start that never count: the DRAM cache is still being written out."""

CHANGE_SCORE: Final = 4.4
"""Standard deviations of the rank sum: about one false alarm in 100,000 independent looks (two-sided, normal). Fewer
than ten blocks against twenty cannot reach it, which keeps the first minutes out without a rule of their own."""

WANDER_WINDOWS: Final = 6
"""From so many windows before the change on, the level's own wandering is known; earlier only a great change counts."""

WANDER_SCORE: Final = 3.0
"""A small change must be so many times the usual difference between neighbouring windows. It is averaged over two
windows on either side, which makes it less likely by chance than it sounds."""

WANDER_DOUBT: Final = 4.0
"""With so many windows the score is doubled, with more of them less is added: few windows may agree by chance."""

DRIFT_WINDOWS: Final = 2.5
"""So many windows lie between the middles of the two sides: by so much drift they differ without any change."""

WANDER_MEMORY_WINDOWS: Final = 48
"""So much history tells how the level wanders: a day with windows of half an hour."""

LEAST_CHANGE: Final = math.log(1.05)
"""Nothing smaller is called a change, however quiet the level."""

_EDGE_BLOCKS: Final = 3
"""A split nearer to an end would rest on one or two outliers."""

_MOVING_SCORE: Final = 2.5
"""The halves of the recent window may not differ by so much *and* by half the wanted change: the level still moves."""

_MAD_TO_SIGMA: Final = 1.4826


@dataclass(frozen=True)
class Search:
    """Where a change is sought: within so many windows, and not before it has held for so many.

    Wanted is a ``great`` change, by ``factor``; if ``learned``, one beyond the level's own wandering; or both.
    """

    look_back_windows: int
    hold_windows: float
    great: bool = False
    learned: bool = False


SEARCHES: Final = (Search(3, 1, great=True), Search(5, 2, learned=True))
"""A great change is believed after one window, a small one after two. The look back is short, so that a level that
merely drifts does not look abrupt."""

WORST_SEARCHES: Final = (Search(5, 2.5, great=True, learned=True),)
"""The worst probes wander more: a change of theirs must be both, and counts later than one that the mean shows, too."""


def centre(levels: Sequence[float]) -> float:
    """The mean without the lowest and the highest fifth: nearly as exact as a mean, and no outlier moves it."""
    trimmed = len(levels) // 5
    kept = sorted(levels)[trimmed : len(levels) - trimmed]
    return sum(kept) / len(kept)


def wanted_change(before: Sequence[float]) -> float | None:
    """How far a level must move to be beyond its own wandering so far; None while too little of it is known."""
    count = len(before) // WINDOW_BLOCKS
    if count < WANDER_WINDOWS:
        return None
    recent = before[-count * WINDOW_BLOCKS :]
    means = [centre(recent[first : first + WINDOW_BLOCKS]) for first in range(0, len(recent), WINDOW_BLOCKS)]
    apart = [abs(later - earlier) for earlier, later in pairwise(means)]
    wander = max(_MAD_TO_SIGMA * median(apart), math.sqrt(sum(each * each for each in apart) / len(apart)))
    drift = DRIFT_WINDOWS * abs(means[-1] - means[0]) / (count - 1)
    return max(LEAST_CHANGE, drift + WANDER_SCORE * (1 + WANDER_DOUBT / count) * wander)


def rank_score(before: Sequence[float], after: Sequence[float]) -> float:
    """Mann-Whitney's rank sum in standard deviations, positive when ``after`` is higher. Zero when either is empty."""
    if not before or not after:
        return 0.0
    wins = sum((b < a) + 0.5 * (b == a) for b in before for a in after)
    pairs = len(before) * len(after)
    return (wins - pairs / 2) / math.sqrt(pairs * (len(before) + len(after) + 1) / 12)


def level_change(before: Sequence[float], after: Sequence[float], wanted: float) -> float | None:
    """How much higher the log level is ``after``; None unless it is by ``wanted`` (up or down) and beyond chance."""
    if not before or not after:
        return None
    change = centre(after) - centre(before)
    if abs(change) < wanted or change * rank_score(before, after) < abs(change) * CHANGE_SCORE:
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


def is_moving(levels: Sequence[float], wanted: float) -> bool:
    """Whether the second half of some log levels lies apart from the first, by half of ``wanted`` and beyond chance."""
    half = len(levels) // 2
    first, second = levels[:half], levels[half:]
    if not first:
        return False
    apart = abs(centre(second) - centre(first)) >= wanted / 2
    return apart and abs(rank_score(first, second)) >= _MOVING_SCORE
