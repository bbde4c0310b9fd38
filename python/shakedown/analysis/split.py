"""Where a series of logarithms changes its level: KernelCPD finds candidates, least squares the exact place."""

from __future__ import annotations

from typing import Final

import numpy as np
import ruptures

from shakedown.analysis.series import Floats

MOST_BLOCKS: Final = 2048
"""The change-point search is quadratic in its input: the series is averaged to so many blocks at most."""

_LEAST_NOISE: Final = 0.05
"""Differences of logarithms below 5 % are never worth a change point."""

_PENALTY: Final = 6.0
"""In units of the noise's variance times log(n): three times the Bayesian information criterion's two, as the noise
of a drive is not independent from block to block."""


def change_points(logs: Floats) -> list[int]:
    """Indices at which a new level begins, none of them 0, for any number of finite values."""
    if len(logs) < 2:
        return []
    noise = max(_LEAST_NOISE, 1.4826 * float(np.median(np.abs(np.diff(logs)))) / np.sqrt(2))
    search = ruptures.KernelCPD(kernel="linear", min_size=1, jump=1).fit(logs.reshape(-1, 1))
    ends: list[int] = search.predict(pen=_PENALTY * noise**2 * np.log(len(logs)))
    return ends[:-1]


def best_step(logs: Floats, before: float, after: float) -> int:
    """The index (0..len) at which a step between two known levels fits best, after clipping everything to them."""
    clipped = np.clip(logs, min(before, after), max(before, after))
    gain = (clipped - after) ** 2 - (clipped - before) ** 2
    return int(np.argmax(np.concatenate([[0.0], np.cumsum(gain)])))
