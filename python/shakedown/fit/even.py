"""Waits that come evenly: a drive's own, for a host is late at any time."""

from __future__ import annotations

from typing import Final

import numpy as np

from shakedown.fit.trace import Floats, Ints

_FEW: Final = 3
# Of lengths, and of distances: the first finds memory empty.
_ALIKE: Final = 0.25
_EVEN: Final = 0.1


def even_waits(times_ms: Floats, long_ms: float) -> Ints | None:
    """The first few requests that took longer, the very first apart, if they come evenly and took as long."""
    waits = np.flatnonzero(times_ms[1:] > long_ms)[:_FEW] + 1
    if len(waits) < _FEW:
        return None
    lengths, gaps = times_ms[waits], np.diff(waits)
    even = np.ptp(lengths) < _ALIKE * lengths.max() and np.ptp(gaps) < _EVEN * gaps.max()
    return waits if even else None
