"""Means over time with confidence intervals that respect autocorrelation: batch means.

Neighbouring intervals of a drive resemble each other, so their number overstates what is known. The step is cut into a
few long batches, which hardly do; the spread of the batches gives the error. Intervals are made on the logarithm:
they stay positive, and a ratio and its inverse have the same interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special

from shakedown.analysis.rate import figure
from shakedown.analysis.series import Floats

MOST_BATCHES: Final = 10
FEWEST_INTERVALS: Final = 4
CONFIDENCE: Final = 0.95


@dataclass(frozen=True)
class Estimate:
    """A positive figure with the standard error of its logarithm (None: not known) and the degrees of freedom."""

    value: float
    log_error: float | None
    freedom: float

    def interval(self) -> tuple[float, float] | tuple[None, None]:
        """The 95 % confidence interval."""
        if self.log_error is None:
            return None, None
        reach = math.exp(float(special.stdtrit(self.freedom, 0.5 + CONFIDENCE / 2)) * self.log_error)
        return self.value / reach, self.value * reach

    def interval_text(self) -> str:
        """The interval in brackets, after a space; empty when it is not known."""
        low, high = self.interval()
        return "" if low is None or high is None else f" (95 % interval {figure(low)} to {figure(high)})"


def quotient(amount: Floats, base: Floats, duration_s: Floats) -> Estimate | None:
    """``sum(amount) / sum(base)`` over a step, such as bytes per second or waiting per request; None without a base.

    The error is that of a ratio estimator over up to ten batches of equal time, which need not weigh the same.
    """
    total = float(base.sum())
    if total <= 0:
        return None
    value = float(amount.sum()) / total
    batches = min(MOST_BATCHES, len(amount) // 2)
    if value <= 0 or len(amount) < FEWEST_INTERVALS:
        return Estimate(value, None, 0.0)
    middle = np.cumsum(duration_s) - duration_s / 2
    index = np.minimum((middle / duration_s.sum() * batches).astype(np.int64), batches - 1)
    surplus = np.bincount(index, amount - value * base, minlength=batches)
    used = int(np.count_nonzero(np.bincount(index, base, minlength=batches)))
    if used < 2:
        return Estimate(value, None, 0.0)
    error = math.sqrt(used / (used - 1) * float((surplus**2).sum())) / total
    return Estimate(value, error / value, float(used - 1))


def ratio(candidate: Estimate, baseline: Estimate) -> Estimate | None:
    """``candidate / baseline``; errors add in the logarithm, degrees of freedom after Welch and Satterthwaite."""
    if candidate.value <= 0 or baseline.value <= 0:
        return None
    value = candidate.value / baseline.value
    if candidate.log_error is None or baseline.log_error is None:
        return Estimate(value, None, 0.0)
    error = math.hypot(candidate.log_error, baseline.log_error)
    if error == 0:
        return Estimate(value, 0.0, candidate.freedom + baseline.freedom)
    shares = (candidate.log_error / error) ** 4, (baseline.log_error / error) ** 4
    return Estimate(value, error, 1 / (shares[0] / candidate.freedom + shares[1] / baseline.freedom))
