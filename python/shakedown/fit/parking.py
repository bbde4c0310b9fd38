"""Heads that are put away while nobody asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shakedown.fit.estimate import Estimate
from shakedown.fit.trace import BLOCK_BYTES, Bench, Trace

_FIRST_MS: Final = 2_000.0
_LONGEST_MS: Final = 600_000.0
_CLOSE: Final = 1.1


@dataclass(frozen=True)
class Parking:
    """After how many seconds of rest the heads are parked (None: not within ten minutes), and ms to bring them back."""

    after_s: Estimate | None
    unpark_ms: Estimate | None


def measure(bench: Bench, slow_ms: float, turn_ms: float) -> Parking:
    """Read after longer and longer rests; a read that no seek explains met parked heads."""
    draw = np.random.default_rng(6)
    blocks = bench.capacity_bytes // BLOCK_BYTES
    low, high, late, rest_ms = 0.0, np.inf, [], _FIRST_MS
    bench.play("parking-wake", Trace.reads(draw.integers(0, blocks, 2) * BLOCK_BYTES))
    while rest_ms <= _LONGEST_MS and high > _CLOSE * low:
        bench.idle(int(rest_ms * 1e6))
        latency = bench.play("parking", Trace.reads(draw.integers(0, blocks, 2) * BLOCK_BYTES)).latency_ms[0]
        if latency > slow_ms:
            high = rest_ms
            late.append(float(latency))
        else:
            low = rest_ms
        rest_ms = 2 * rest_ms if np.isinf(high) else (low + high) / 2
    if not late:
        return Parking(None, None)
    unpark = Estimate.around(float(np.mean(late)) - turn_ms / 2, turn_ms / len(late) ** 0.5 / 2)
    return Parking(Estimate((low + high) / 2e3, low / 1e3, high / 1e3), unpark)
