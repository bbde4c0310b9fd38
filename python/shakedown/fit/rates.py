"""Transfer rates over the surface: long sequential reads."""

from __future__ import annotations

from typing import Final

import numpy as np

from shakedown.fit.estimate import Estimate
from shakedown.fit.trace import Bench, Log, Trace

_CHUNK_BYTES: Final = 1 << 20
_CHUNKS: Final = 96
_WARM: Final = 16


def measure(bench: Bench, share: float) -> Estimate:
    """Bytes a second from ``share`` of the capacity on."""
    return estimate(bench.play(f"rate-{share:.3f}", trace(bench.capacity_bytes, share)))


def trace(capacity_bytes: int, share: float) -> Trace:
    """Some requests in flight, so that the host is not what limits."""
    chunks = min(_CHUNKS, capacity_bytes // _CHUNK_BYTES)
    first = int(share * (capacity_bytes - chunks * _CHUNK_BYTES)) // _CHUNK_BYTES * _CHUNK_BYTES
    return Trace.reads(first + np.arange(chunks) * _CHUNK_BYTES, _CHUNK_BYTES, depth=4)


def estimate(log: Log) -> Estimate:
    """Bytes a second, the beginning left out; the interval from quarters of the run."""
    done = np.sort(log.completed_ns)
    warm = min(_WARM, len(done) // 4)
    parts = np.linspace(warm, len(done) - 1, 5).astype(int)
    rates = np.diff(parts) * float(log.lengths[0]) / np.diff(done[parts]) * 1e9
    mean = (parts[-1] - parts[0]) * float(log.lengths[0]) / float(done[-1] - done[warm]) * 1e9
    return Estimate.around(mean, float(np.std(rates)))
