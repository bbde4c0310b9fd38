"""Transfer rates over the surface: long sequential reads."""

from __future__ import annotations

from typing import Final

import numpy as np

from shakedown.fit.estimate import Estimate
from shakedown.fit.trace import Bench, Log, Trace

CHUNK_BYTES: Final = 1 << 20
_CHUNKS: Final = 96
_WARM: Final = 16
_STRETCHES: Final = 8


def measure(bench: Bench, share: float) -> Estimate:
    """Bytes a second from ``share`` of the capacity on."""
    return estimate(bench.play(f"rate-{share:.3f}", trace(bench.capacity_bytes, share)))


def trace(capacity_bytes: int, share: float) -> Trace:
    """Some requests in flight, so that the host is not what limits."""
    chunks = min(_CHUNKS, capacity_bytes // CHUNK_BYTES)
    first = int(share * (capacity_bytes - chunks * CHUNK_BYTES)) // CHUNK_BYTES * CHUNK_BYTES
    return Trace.reads(first + np.arange(chunks) * CHUNK_BYTES, CHUNK_BYTES, depth=4)


def estimate(log: Log) -> Estimate:
    """Bytes a second: the middle one of many short stretches, so that a lost turn or a late answer does not count."""
    done = np.sort(log.completed_ns)
    done = done[min(_WARM, len(done) // 4) :]
    stretch = max(len(done) // _STRETCHES, 1)
    rates = stretch * float(log.lengths[0]) / (done[stretch:] - done[:-stretch]) * 1e9
    middle = float(np.median(rates))
    return Estimate.around(middle, 2 * float(np.median(np.abs(rates - middle))))
