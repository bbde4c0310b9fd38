"""Bands are equally long: at which length and phase do the blocks of each come home in one round?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shakedown.fit.trace import Floats, Ints

# What a block can speak against a grid at most: whoever looked at it wrongly once may have done so at every look.
_MOST_AGAINST: Final = 3.0
# What each band more has to explain.
_BAND_WEIGHT: Final = 1.5
_FEWEST_BLOCKS: Final = 4
_FEWEST_BANDS: Final = 2
_FEWEST_CUTS: Final = 3
# Of a grid of so many steps the far end moves by less than half a block from one size to the next.
_SIZES_PER_STEP: Final = 2
_PHASES_PER_STEP: Final = 2
# What one look more speaks for one grid does not tell it from another.
_AS_GOOD: Final = 1.0
_CLEARLY: Final = 4.0
_ELSEWHERE: Final = 1.1


@dataclass(frozen=True)
class Grid:
    """Borders at even distances: the sizes and a border that agree with what was seen."""

    size: float
    least: float
    most: float
    border: float


def fitted(offsets: Ints, against: Floats, sizes: tuple[float, float] | None = None) -> Grid | None:
    """The grid that explains best in which rounds blocks came home; None where another one does as well.

    ``against`` has a row a round, and one for none: what speaks against each block having come home in it. ``sizes``
    are the least and the largest that may be; None, too, where others explain it better.
    """
    # Sums over blocks that lie side by side, by round: what speaks against all having come home in one.
    capped = np.minimum(against - against.min(axis=0), _MOST_AGAINST)
    sums = np.concatenate([np.zeros((1, len(capped))), np.cumsum(capped.T, axis=0)])
    together = np.array([(sums - row).min(axis=1) for row in sums])
    step = float(np.min(np.diff(offsets)))
    span = float(offsets[-1] - offsets[0]) + step
    least, most = _FEWEST_BLOCKS * step, span / _FEWEST_BANDS
    count = max(int(np.log(most / least) * _SIZES_PER_STEP * span / step), 3)
    tried = np.geomspace(least, most, count)
    found = [_best(offsets, together, float(size), step) for size in tried]
    unexplained = np.array([worst for worst, _ in found])
    cost = unexplained + _BAND_WEIGHT * span / tried
    least_unexplained = unexplained[np.argmin(cost)]
    if sizes:
        cost[(tried < sizes[0]) | (tried > sizes[1])] = np.inf
    good = cost <= cost.min() + _AS_GOOD
    best = int(np.argmin(cost))
    # Bands of half the size explain as much: each two may have come home in one round.
    if unexplained[best] >= least_unexplained + _CLEARLY:
        return None
    # Around the best only: what lies beyond a gap is another grid.
    low = high = best
    while low and good[low - 1]:
        low -= 1
    while high + 1 < count and good[high + 1]:
        high += 1
    apart = (tried < tried[low] / _ELSEWHERE) | (tried > tried[high] * _ELSEWHERE)
    if np.any(cost[apart] < cost.min() + _CLEARLY):
        return None
    middle = (low + high) // 2
    size, border = _polished(offsets, sums, float(tried[middle]), found[middle][1])
    # Borders at both ends are known to a step at best.
    grain = step * size / span
    return Grid(size, min(float(tried[low]), size - grain), max(float(tried[high]), size + grain), border)


def _best(offsets: Ints, together: Floats, size: float, step: float) -> tuple[float, float]:
    """What speaks against a grid of this size at its best phase, and the middle of the borders that are as good."""
    phases = np.arange(0.0, size, step / _PHASES_PER_STEP)
    ranks = np.arange(-1, int((offsets[-1] - offsets[0]) / size) + 2)
    borders = offsets[0] + phases[:, None] + ranks * size
    at = np.searchsorted(offsets, borders)
    cost = together[at[:, :-1], at[:, 1:]].sum(axis=1)
    cost += together[0, at[:, 0]] + together[at[:, -1], len(offsets)]
    # The phase goes round: counted from the worst one none that is as good is parted.
    turned = np.roll(np.arange(len(phases)), -int(np.argmax(cost)))
    good = np.flatnonzero(cost[turned] == cost.min())
    runs = np.split(good, np.flatnonzero(np.diff(good) > 1) + 1)
    longest = max(runs, key=len)
    first, last = (phases[turned[one]] for one in (longest[0], longest[-1]))
    last += size if last < first else 0.0
    return float(cost.min()), float(offsets[0] + (first + last) / 2)


def _polished(offsets: Ints, sums: Floats, size: float, border: float) -> tuple[float, float]:
    """Size and border by a line through the borders that show: where two neighbours part best, if they differ."""
    ranks = np.arange(int((offsets[-1] - border) / size) + 1)
    shown, cuts = [], []
    for rank in ranks:
        begin, at, end = np.searchsorted(offsets, border + (rank + np.array([-1, 0, 1])) * size)
        before, behind = (int(np.argmin(sums[last] - sums[first])) for first, last in ((begin, at), (at, end)))
        # From half a band before it to half a band behind it.
        tried = np.arange((begin + at) // 2 + 1, (at + end) // 2)
        if before == behind or not len(tried):
            continue
        cost = sums[tried, before] - sums[tried, behind]
        best = tried[cost == cost.min()]
        shown.append(rank)
        cuts.append(float((offsets[best] + offsets[best - 1]).mean()) / 2)
    if len(cuts) < _FEWEST_CUTS:
        return size, border
    slope, first = np.polyfit(shown, cuts, 1)
    return float(slope), float(first)
