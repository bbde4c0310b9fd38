"""Waits that come evenly: a drive's own, for a host is late at any time."""

from __future__ import annotations

from typing import Final

import numpy as np

from shakedown.fit.trace import Floats, Ints

_FEW: Final = 3
# Of lengths, and of distances: the first finds memory empty.
_ALIKE: Final = 0.25
_EVEN: Final = 0.1
_LEAST: Final = 0.5


def even_waits(times_ms: Floats, long_ms: float) -> Ints | None:
    """The first few requests that took longer, the very first apart, if they come evenly and took as long."""
    waits = np.flatnonzero(times_ms[1:] > long_ms)[:_FEW] + 1
    if len(waits) < _FEW:
        return None
    lengths, gaps = times_ms[waits], np.diff(waits)
    usual = lengths[1:].max()
    # The first takes less along where it comes sooner.
    alike = np.ptp(lengths[1:]) < _ALIKE * usual and _LEAST * usual < lengths[0] < (1 + _ALIKE) * usual
    return waits if alike and np.ptp(gaps) < _EVEN * gaps.max() else None
