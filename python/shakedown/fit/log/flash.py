"""A persistent cache in flash: what a read and a packet cost there, and how fast data is moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import nnls

from shakedown.errors import InconclusiveError
from shakedown.fit.drive.dram import Bursts, Link
from shakedown.fit.drive.whereabouts import forget
from shakedown.fit.estimate import Estimate
from shakedown.fit.log.append import (
    Visits,
    flushed_ms,
    holdings,
    host_share_ms,
    packet_bytes_of,
    small_visits,
    writes_of,
)
from shakedown.fit.place import aligned, apart, rewrite
from shakedown.fit.trace import BLOCK_BYTES, Bench, Trace

_SIZES: Final = (4096, 16_384, 65_536, 262_144)
_EACH: Final = 24
_SLOT_BYTES: Final = 1 << 20
_NOISE: Final = 0.002
_BY_CHANCE: Final = 0.5
_HIDDEN: Final = 1.02
# By which share a time may be off for whatever reason.
_SHARE_OFF: Final = 0.02
_ERROR_MS: Final = 0.005
_READ_US: Final = 20.0
_MOST_APART: Final = 4
# Faster than any link, so that it does not show.
_MOST_RATE_MB_S: Final = 10_000.0
# A write that goes through takes longer than the link by so much; a host is late with one by less.
_THROUGH_BYTES: Final = 262_144
_THROUGH_SHARE: Final = 0.2
_AT: Final = 0.42


@dataclass(frozen=True)
class Packets:
    """What writes into flash cost, and what goes into a packet; None where that does not show."""

    write_ms: Estimate
    ms_per_byte: Estimate
    bytes_held: Estimate | None
    writes_held: Estimate | None


@dataclass(frozen=True)
class Flash:
    """Costs beyond the link's."""

    read_us: Estimate
    rate_mb_s: Estimate
    packets: Packets

    @property
    def write_us(self) -> Estimate:
        """Of a packet."""
        each = self.packets.write_ms
        return Estimate(each.value * 1e3, each.low * 1e3, each.high * 1e3)


def bursts(bench: Bench, seen: Bursts, link: Link) -> Bursts:
    """What memory takes at once: nothing, if writes go through to flash, though they are answered without any motion.

    Then a write takes flash's time and leaves none to the flush behind it; from memory it is the flush that takes it.
    """
    offsets = aligned(_AT * bench.capacity_bytes) + apart(_EACH) * _SLOT_BYTES
    log = bench.play("flash-through", Trace.writes(offsets, _THROUGH_BYTES, flush_every=1))
    rewrite(bench, "flash-through-rewrite", int(offsets.min()), _EACH * _SLOT_BYTES)
    answer_ms = link.answer_ms(_THROUGH_BYTES)
    write_ms = float(np.median(log.latency_ms)) - answer_ms
    flush_ms = flushed_ms(log, 1) - link.overhead_us.value / 1e3
    through = write_ms > max(flush_ms, _THROUGH_SHARE * answer_ms)
    return Bursts(False, None, None) if through else seen


def measure(bench: Bench, seen: Visits, overhead_ms: float, link_mb_s: float, kept: int) -> Flash:
    """Read what was written, once memory has forgotten it; writes are those of ``append.visits``."""
    first = aligned(_AT * bench.capacity_bytes)
    count = _EACH * len(_SIZES)
    offsets = first + np.arange(count) * _SLOT_BYTES
    order = apart(count)
    lengths = np.repeat(_SIZES, _EACH)
    written = Trace.writes(offsets[order], flush_every=1)
    sizes = written.lengths.copy()
    sizes[::2] = lengths[order]
    bench.play("flash-write", Trace(written.verbs, written.offsets, sizes))
    forget(bench, offsets, kept)
    again = order[::-1]
    log = bench.play("flash-read", Trace(np.zeros(count, np.int64), offsets[again], lengths[again]))
    rewrite(bench, "flash-rewrite", first, count * _SLOT_BYTES)
    medians = np.array([np.median(log.latency_ms[log.lengths == size]) for size in _SIZES])
    packets = estimate_writes(seen, overhead_ms, link_mb_s)
    rate = packets.ms_per_byte
    # Data is on its way to the host while the rest is read: the slower of both counts.
    passing = max(rate.value, 1 / link_mb_s / 1e3)
    read_ms = max(float(np.median(medians - overhead_ms - passing * np.array(_SIZES))), 0.001)
    return Flash(
        Estimate.around(read_ms * 1e3, _READ_US + seen.blur_ms * 1e3),
        Estimate(1 / rate.value / 1e3, 1 / rate.high / 1e3, 1 / rate.low / 1e3),
        packets,
    )


def estimate_writes(seen: Visits, overhead_ms: float, link_mb_s: float) -> Packets:
    """The packets that explain the times best: limits tried out, costs of a packet and a byte by least squares.

    What is written durably comes over the link first, and goes to flash then.
    """
    host_ms, host_size_ms = host_share_ms(seen, overhead_ms, link_mb_s)
    times = np.concatenate([seen.group_ms - host_ms, seen.size_ms - host_size_ms])
    # What a short one is known to is a large share of it.
    weights = 1 / np.hypot(np.concatenate([seen.group_ms, seen.size_ms]), seen.blur_ms / _SHARE_OFF)
    moved = np.concatenate([seen.groups * BLOCK_BYTES, seen.sizes])
    # What is done before the flush has arrived shows as that.
    shows = times > _HIDDEN * overhead_ms if seen.write_back else np.ones(len(times), bool)
    if not shows.any():
        raise InconclusiveError(
            "the cache is in flash, and no flush waits for what was written before it: what it costs does not show",
            hint="something between host and drive may answer flushes by itself: connect the drive without it",
        )
    tried = []
    for held in holdings():
        for writes in range(1, held.most_writes + 1):
            _, by_group, _ = small_visits(seen, writes, 0.0)
            packets = np.concatenate([by_group, np.ceil(seen.sizes / held.usual)])
            parts = np.stack([packets, moved / 1e6], axis=1) * weights[:, None]
            found, misfit = nnls(parts[shows], (times * weights)[shows])
            tried.append((misfit / np.sum(shows) ** 0.5, float(found[0]), float(found[1]) / 1e6, held, writes))
    best = min(tried, key=lambda one: one[0])
    # By chance another may explain them better, by a part of what they are known to.
    blurred = _BY_CHANCE * float(np.sqrt(np.mean((seen.blur_ms * weights[shows]) ** 2)))
    near = [one for one in tried if one[0] <= 1.1 * best[0] + _NOISE + blurred]
    even = [one for one in near if one[3].is_even]
    best = min(even, key=lambda one: one[0], default=best)
    costs, slopes = [one[1] for one in near], [max(one[2], 1 / _MOST_RATE_MB_S / 1e3) for one in near]
    error = _ERROR_MS + seen.blur_ms + best[0] * float(np.min(seen.group_ms))
    write_ms, slope = max(best[1], 0.001), max(best[2], 1 / _MOST_RATE_MB_S / 1e3)
    return Packets(
        Estimate(write_ms, max(min(costs) - error, 0.0), max(costs) + error),
        Estimate(slope, min(slopes) / (1 + best[0]) / 1.02, max(slopes) * (1 + best[0]) * 1.02),
        packet_bytes_of(best[3], [one[3] for one in near], _MOST_APART),
        writes_of(best[4], [(one[3], one[4]) for one in near]),
    )
