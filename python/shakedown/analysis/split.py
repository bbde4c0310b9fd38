"""Where a series of logarithms changes its level: KernelCPD finds candidates, least squares the exact place."""

from __future__ import annotations

from typing import Final

import numpy as np

from shakedown.analysis.series import Floats

_PIECE: Final = 2048
"""The search is quadratic in its input, so a longer series is searched in pieces of so many values."""

_OVERLAP: Final = 256
"""A piece begins so many values before the end of the one before: a change near an edge lies well within another."""

_LEAST_NOISE: Final = 0.05
"""Differences of logarithms below 5 % are never worth a change point."""

_PENALTY: Final = 3.0
"""In units of the noise's variance times log(n); the Bayesian information criterion has two. Rather too many points
than too few: whoever asks for them tests each by its own standard."""


def change_points(logs: Floats) -> list[int]:
    """Indices at which a new level begins, rising, none of them 0, for any number of finite values."""
    found: set[int] = set()
    for first in range(0, max(1, len(logs) - _OVERLAP), _PIECE - _OVERLAP):
        found.update(first + point for point in _search(logs[first : first + _PIECE]))
    return sorted(found)


def _search(logs: Floats) -> list[int]:
    if len(logs) < 2:
        return []
    import ruptures  # noqa: PLC0415 - takes longer to import than most commands take to run

    noise = max(_LEAST_NOISE, 1.4826 * float(np.median(np.abs(np.diff(logs)))) / np.sqrt(2))
    search = ruptures.KernelCPD(kernel="linear", min_size=1, jump=1).fit(logs.reshape(-1, 1))
    ends: list[int] = search.predict(pen=_PENALTY * noise**2 * np.log(len(logs)))
    return ends[:-1]


def best_step(logs: Floats, before: float, after: float) -> int:
    """The index (0..len) at which a step from one level to another fits best by least squares."""
    gain = (logs - after) ** 2 - (logs - before) ** 2
    return int(np.argmax(np.concatenate([[0.0], np.cumsum(gain)])))
