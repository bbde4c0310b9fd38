"""A value with its interval, and how it was come by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shakedown.fit.trace import Floats


@dataclass(frozen=True)
class Estimate:
    """What was found: the value lies between ``low`` and ``high`` (about 95 %)."""

    value: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half of the interval."""
        return (self.high - self.low) / 2

    def over(self, whole: Estimate) -> Estimate:
        """Its share of another."""
        return Estimate(self.value / whole.value, self.low / whole.high, self.high / whole.low)

    def scaled(self, by: float) -> Estimate:
        """In another unit."""
        return Estimate(self.value * by, self.low * by, self.high * by)

    def less(self, other: Estimate) -> Estimate:
        """What is left of it without another."""
        return Estimate(self.value - other.value, self.low - other.high, self.high - other.low)

    @staticmethod
    def around(value: float, error: float) -> Estimate:
        """A value and what it may be off by on either side."""
        return Estimate(float(value), float(value - error), float(value + error))

    @staticmethod
    def mean(values: Floats) -> Estimate:
        """The mean of independent values."""
        error = 2 * float(np.std(values)) / max(len(values) - 1, 1) ** 0.5
        return Estimate.around(float(np.mean(values)), error)
