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

from shakedown.analysis.rate import figure
from shakedown.analysis.series import Floats

MOST_BATCHES: Final = 10
FEWEST_INTERVALS: Final = 4
CONFIDENCE: Final = 0.95
STUDENT: Final = (
    12.706204736174694,
    4.302652729749462,
    3.1824463052837078,
    2.7764451051977934,
    2.5705818356363146,
    2.4469118511449786,
    2.364624251592784,
    2.306004135204166,
    2.262157162798205,
)
"""Standard errors from the middle to the end of such an interval, for 1, 2, 3, ... degrees of freedom: all that batches
have. With these most runs need not wait for scipy, whose import takes longer than they do."""
LEAST_TREND: Final = 0.1
"""Batches that lie within a tenth of the mean are one level for every purpose."""
TREND_RATIO: Final = 0.5
"""Ten independent batches are below it once in a thousand."""


@dataclass(frozen=True)
class Estimate:
    """A positive figure with the standard error of its logarithm (None: not known) and the degrees of freedom.

    The mean of a level that is not ``steady`` has no confidence interval: more of the same step would not be the same.
    """

    value: float
    log_error: float | None
    freedom: float
    steady: bool = True

    def interval(self) -> tuple[float, float] | tuple[None, None]:
        """The 95 % confidence interval of a steady level."""
        return self.spread() if self.steady else (None, None)

    def spread(self) -> tuple[float, float] | tuple[None, None]:
        """How far the figure might be off by the scatter of the batches, be they steady or not."""
        if self.log_error is None:
            return None, None
        reach = math.exp(student(self.freedom) * self.log_error)
        return self.value / reach, self.value * reach

    def named_spread(self, name: str) -> dict[str, float]:
        """The `spread` as evidence: its ends are called ``name_low`` and ``name_high``; empty when it is not known."""
        low, high = self.spread()
        return {} if low is None or high is None else {f"{name}_low": low, f"{name}_high": high}

    def interval_text(self) -> str:
        """The interval in brackets, after a space; empty when it is not known."""
        low, high = self.interval()
        if not self.steady:
            return " (no interval: the level changed within the step)"
        return "" if low is None or high is None else f" (95 % interval {figure(low)} to {figure(high)})"


def student(freedom: float) -> float:
    """Student's quantile: how many standard errors a 95 % interval reaches to either side."""
    if freedom in range(1, len(STUDENT) + 1):
        return STUDENT[int(freedom) - 1]
    from scipy import special  # noqa: PLC0415 - for what a table does not hold, see above

    return float(special.stdtrit(freedom, 0.5 + CONFIDENCE / 2))


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
    weights = np.bincount(index, base, minlength=batches)
    used = int(np.count_nonzero(weights))
    if used < 2:
        return Estimate(value, None, 0.0)
    error = math.sqrt(used / (used - 1) * float((surplus**2).sum())) / total
    steady = _is_steady(surplus[weights > 0] / weights[weights > 0] / value)
    return Estimate(value, error / value, float(used - 1), steady)


def _is_steady(deviations: Floats) -> bool:
    """Whether batches scatter around one level: von Neumann's ratio of successive to overall differences.

    It is 2 for independent batches; a steady fall has 0.1, one collapse in the middle 0.4. Small changes are forgiven.
    """
    if len(deviations) < MOST_BATCHES or np.ptp(deviations) < LEAST_TREND:
        return True
    return float(np.square(np.diff(deviations)).sum() / np.square(deviations).sum()) > TREND_RATIO


def ratio(candidate: Estimate, baseline: Estimate) -> Estimate | None:
    """``candidate / baseline``; errors add in the logarithm, degrees of freedom after Welch and Satterthwaite."""
    if candidate.value <= 0 or baseline.value <= 0:
        return None
    value = candidate.value / baseline.value
    steady = candidate.steady and baseline.steady
    if candidate.log_error is None or baseline.log_error is None:
        return Estimate(value, None, 0.0, steady)
    error = math.hypot(candidate.log_error, baseline.log_error)
    if error == 0:
        return Estimate(value, 0.0, candidate.freedom + baseline.freedom, steady)
    shares = (candidate.log_error / error) ** 4, (baseline.log_error / error) ** 4
    freedom = 1 / (shares[0] / candidate.freedom + shares[1] / baseline.freedom)
    return Estimate(value, error, freedom, steady)
