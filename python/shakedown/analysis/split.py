"""Where a series of logarithms changes from one known level to another, by least squares."""

from __future__ import annotations

import numpy as np

from shakedown.analysis.series import Floats


def step_gains(logs: Floats, before: float, after: float) -> Floats:
    """How well a step at each index (0..len) fits: the higher the better, zero for a step at the beginning."""
    gain = (logs - after) ** 2 - (logs - before) ** 2
    return np.concatenate([[0.0], np.cumsum(gain)])


def best_step(logs: Floats, before: float, after: float) -> int:
    """The index (0..len) at which a step from one level to another fits best."""
    return int(np.argmax(step_gains(logs, before, after)))
