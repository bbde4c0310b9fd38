"""How much the drive writes from memory to its log at once: so many bytes pass between two waits of a full memory."""

from __future__ import annotations

from typing import Final

import numpy as np

from shakedown.fit.estimate import Estimate
from shakedown.fit.log.streams import Streams
from shakedown.fit.place import aligned, rewrite
from shakedown.fit.trace import Bench, Ints, Log, Trace, whole_blocks

_MOST_WRITE_BYTES: Final = 1 << 16
_LEAST_WRITE_BYTES: Final = 1 << 13
_RUN_BYTES: Final = 256 << 20
_CACHE_SHARE: Final = 0.6
_LEAST_WAITS: Final = 5
_ALIKE: Final = 0.1
_MOST_ALIKE: Final = 0.6
_LONG: Final = 0.5
_MOST_WAIT: Final = 0.75


def request_bytes(streams: Streams | None) -> int | None:
    """The largest writes in sequence that go to the cache for certain, and are no power of two; None: there are none.

    The larger they are, the fewer packets a visit to the log takes, of which there is a limit as well.
    """
    most = int(min(streams.min_request_bytes.low, _MOST_WRITE_BYTES)) if streams else _MOST_WRITE_BYTES
    whole = whole_blocks(most // 8 * 7)
    return whole if whole >= _LEAST_WRITE_BYTES else None


def measure(bench: Bench, size: int, held_bytes: int, cache_bytes: float, waited_ms: float) -> Estimate | None:
    """A run of writes of ``size``, once memory, which holds ``held_bytes``, is full; the cache is not to be.

    None where the cache is too small for that, or nothing is regular.
    """
    run_bytes = min(held_bytes + _RUN_BYTES, _CACHE_SHARE * cache_bytes, bench.capacity_bytes / 64)
    count = int(run_bytes) // size
    if count * size < 1.5 * held_bytes:
        return None
    first = aligned(0.37 * bench.capacity_bytes)
    log = bench.play("destage", Trace.writes(first + np.arange(count) * size, size))
    rewrite(bench, "destage-rewrite", first, count * size)
    return estimate(log, waited_ms)


def estimate(log: Log, waited_ms: float) -> Estimate | None:
    """The distance of most waits: what memory takes after one until it is full again is what was written meanwhile."""
    latency_ms = log.latency_ms
    waits = np.flatnonzero(latency_ms > waited_ms)
    if not len(waits):
        return None
    # A host that is late seldom takes as long as the drive does to write that much.
    long_ms = _LONG * float(np.quantile(latency_ms[waits], _MOST_WAIT))
    return _regular(log, waits) or _regular(log, waits[latency_ms[waits] > long_ms])


def _regular(log: Log, waits: Ints) -> Estimate | None:
    # The first are those of a memory that was not full everywhere.
    gaps = np.diff(waits[len(waits) // 4 :])
    if len(gaps) < _LEAST_WAITS:
        return None
    usual = float(np.median(gaps))
    alike = gaps[np.abs(gaps - usual) <= max(_ALIKE * usual, 1)]
    if len(alike) < _MOST_ALIKE * len(gaps):
        return None
    size = int(log.lengths[0])
    return Estimate.around(float(np.mean(alike)) * size, size)
