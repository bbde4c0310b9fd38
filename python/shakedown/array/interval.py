"""How sure the mean of several seeds is."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, hypot, log, sqrt
from statistics import fmean, stdev
from typing import Final

from shakedown.analysis.estimate import student
from shakedown.array.rebuild import Rebuild

TWO_SIDED: Final = 1.96
"""Standard deviations within which 95 of 100 normal values are."""


def interval(values: Sequence[float], sampled_off: float = 0.0) -> tuple[float, float | None, float | None]:
    """Mean and 95 % confidence interval (Student); of one value there is none, but for how it was sampled.

    Of the logarithms: what takes time takes some, and no seed that takes long makes it likely that another takes none.
    ``sampled_off`` is a share, one standard deviation, that no number of seeds makes less: all sample likewise.
    """
    mean = fmean(values)
    if len(values) == 1 and not sampled_off:
        return mean, None, None
    if min(values) <= 0:
        return mean, min(values), max(values)
    logs = [log(value) for value in values]
    of_seeds = student(len(values) - 1) * stdev(logs) / sqrt(len(values)) if len(values) > 1 else 0.0
    half = hypot(of_seeds, TWO_SIDED * sampled_off)
    if not half:
        return mean, min(values), max(values)
    middle = fmean(logs)
    return mean, min(exp(middle - half), mean), max(exp(middle + half), mean)


def sampled_off(rebuilds: Sequence[Rebuild]) -> float:
    """One standard deviation of how far samples may be off, a share of the time; the most of several."""
    return max((each.deviation_ns / each.duration_ns for each in rebuilds if each.duration_ns), default=0.0)
