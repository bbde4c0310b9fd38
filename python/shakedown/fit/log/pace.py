"""How a full memory is emptied into the log while that has room: a host waits again and again, each time as long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shakedown.fit.estimate import Estimate
from shakedown.fit.trace import Floats

_LEAST_WAITS: Final = 5
_ALIKE: Final = 0.05
_MOST_ALIKE: Final = 0.6
_LONG: Final = 0.5


@dataclass(frozen=True)
class Pace:
    """From the end of one wait to the end of the next."""

    writes: int
    ms: Estimate


def estimate(cycle_ms: Floats) -> Pace | None:
    """From what each of many small writes took, as fast as they were taken; None where waits are no even ones."""
    # A host is late more often than memory is full, but not for long: half of all time that was waited is longer.
    rising = np.sort(cycle_ms)
    usual_ms = float(rising[np.searchsorted(np.cumsum(rising), float(rising.sum()) / 2)])
    waits = np.flatnonzero(cycle_ms > _LONG * usual_ms)[1:]
    if len(waits) < _LEAST_WAITS:
        return None
    gaps, each_ms = np.diff(waits), np.diff(np.cumsum(cycle_ms)[waits])
    writes = int(np.median(gaps))
    alike = each_ms[gaps == writes]
    ms = float(np.median(alike)) if len(alike) else 0.0
    alike = alike[np.abs(alike - ms) <= _ALIKE * ms]
    return Pace(writes, Estimate.mean(alike)) if len(alike) >= _MOST_ALIKE * len(gaps) else None
