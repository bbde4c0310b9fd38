"""A persistent cache in flash: what a read and a packet cost there, and how fast data is moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shakedown.fit.append import Visits
from shakedown.fit.estimate import Estimate
from shakedown.fit.place import aligned, apart, rewrite
from shakedown.fit.trace import Bench, Trace
from shakedown.fit.whereabouts import forget

_SIZES: Final = (4096, 16_384, 65_536, 262_144)
_EACH: Final = 24
_SLOT_BYTES: Final = 1 << 20


@dataclass(frozen=True)
class Flash:
    """Costs beyond the link's."""

    read_us: Estimate
    write_us: Estimate
    rate_mb_s: Estimate


def measure(bench: Bench, seen: Visits, packet_bytes: int, overhead_ms: float, link_mb_s: float) -> Flash:
    """Read what was written, once memory has forgotten it; writes are those of ``append.visits``."""
    first = aligned(0.42 * bench.capacity_bytes)
    count = _EACH * len(_SIZES)
    offsets = first + np.arange(count) * _SLOT_BYTES
    order = apart(count)
    lengths = np.repeat(_SIZES, _EACH)
    written = Trace.writes(offsets[order], flush_every=1)
    sizes = written.lengths.copy()
    sizes[::2] = lengths[order]
    bench.play("flash-write", Trace(written.verbs, written.offsets, sizes))
    forget(bench)
    again = order[::-1]
    log = bench.play("flash-read", Trace(np.zeros(count, np.int64), offsets[again], lengths[again]))
    rewrite(bench, "flash-rewrite", first, count * _SLOT_BYTES)
    medians = np.array([np.median(log.latency_ms[log.lengths == size]) for size in _SIZES])
    slope, least = np.polyfit(_SIZES, medians - overhead_ms, 1)
    slope = max(slope - 1 / link_mb_s / 1e3, 1e-9)
    rate = 1 / slope / 1e3
    packets = np.ceil(seen.sizes / packet_bytes)
    costs = (seen.size_ms - 2 * overhead_ms - seen.sizes * (1 / link_mb_s + 1 / rate) / 1e3) / packets
    write_ms = max(float(np.median(costs[:4])), 0.001)
    return Flash(
        Estimate.around(max(float(least), 0.001) * 1e3, 20),
        Estimate.around(write_ms * 1e3, 2e3 * float(np.std(costs[:4])) + 5),
        Estimate.around(rate, 0.05 * rate),
    )
