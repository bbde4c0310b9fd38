"""What a write into the persistent cache costs: small durable writes in groups, and single ones of growing size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shakedown.fit.estimate import Estimate
from shakedown.fit.layout import Layout
from shakedown.fit.place import aligned, rewrite, scattered
from shakedown.fit.trace import BLOCK_BYTES, Bench, Floats, Ints, Log, Trace

GROUPS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
SIZES: Final = (4096, 16_384, 65_536, 131_072, 262_144, 393_216, 524_288, 786_432, 1 << 20, 3 << 19)
_RUN_BYTES: Final = 384 << 20
_RUN_WRITE_BYTES: Final = 8192
_RUN_REST_NS: Final = 20_000_000_000
_REPEATS: Final = 48
_MOST_IN_FLIGHT: Final = 16
_PACKET_BYTES: Final = tuple(1 << shift for shift in range(16, 25))
_NOISE: Final = 0.003
_LEAST_TURNS: Final = 0.02
_PACKET_WRITES: Final = tuple(range(1, 49))


@dataclass(frozen=True)
class Visits:
    """Mean ms of durable writes: of groups of small ones, and of one of each size."""

    groups: Ints
    group_ms: Floats
    sizes: Ints
    size_ms: Floats
    write_back: bool


@dataclass(frozen=True)
class Journal:
    """Every how many visits to the log one takes longer, and by how much."""

    every: int
    ms: float


@dataclass(frozen=True)
class Append:
    """The cost of a visit: ``append_turns``, then for each packet ``packet_turns`` and the passing of its space."""

    append_turns: Estimate
    packet_turns: Estimate
    packet_bytes: Estimate | None
    packet_writes: Estimate | None
    misfit: float
    """Root of the mean square of what the formula misses, as a share."""


def visits(bench: Bench, *, write_back: bool) -> Visits:
    """Measure both rows; the region is rewritten afterwards.

    A drive that answers no write from memory gets its groups as writes in flight: it visits the log for the first of
    them, and then for all others at once.
    """
    first = aligned(0.3 * bench.capacity_bytes)
    room = min(bench.capacity_bytes // 16, 4 << 30) // (64 * BLOCK_BYTES)
    done, group_ms, size_ms = 0, [], []
    groups = GROUPS if write_back else tuple(group for group in GROUPS if group <= _MOST_IN_FLIGHT)
    for group in groups:
        offsets = scattered(group * _REPEATS, first, room, 64 * BLOCK_BYTES, begin=done)
        done += group * _REPEATS
        if write_back:
            log = bench.play(f"append-{group}", Trace.writes(offsets, flush_every=group))
            group_ms.append(float(np.median(log.cycle_ms.reshape(-1, group).sum(axis=1))))
        else:
            log = bench.play(f"append-{group}", Trace.writes(offsets, depth=group))
            # The first came from afar.
            begun_ns = int(np.sort(log.completed_ns)[group - 1])
            group_ms.append((log.ended_ns - begun_ns) / 1e6 / (_REPEATS - 1))
    wide = SIZES[-1] + BLOCK_BYTES
    slots = max(64 * BLOCK_BYTES * room // wide, _REPEATS + 1)
    for number, size in enumerate(SIZES):
        offsets = scattered(_REPEATS, first, slots, wide, begin=number * _REPEATS)
        log = bench.play(f"append-{size}", Trace.writes(offsets, size, flush_every=1))
        size_ms.append(float(np.median(log.cycle_ms)))
    rewrite(bench, "append-rewrite", first, max(room * 64 * BLOCK_BYTES, slots * wide))
    return Visits(np.array(groups), np.array(group_ms), np.array(SIZES), np.array(size_ms), write_back)


def run_ms(bench: Bench) -> float:
    """What each of many small writes in sequence takes, once memory is full.

    They merge in memory, but a packet takes only so many: so many fewer visits to the log it needs.
    """
    first = aligned(0.35 * bench.capacity_bytes)
    count = min(_RUN_BYTES, bench.capacity_bytes // 64) // _RUN_WRITE_BYTES
    bench.idle(_RUN_REST_NS)
    log = bench.play("append-run", Trace.writes(first + np.arange(count) * _RUN_WRITE_BYTES, _RUN_WRITE_BYTES))
    rewrite(bench, "append-run-rewrite", first, count * _RUN_WRITE_BYTES)
    return float(np.mean(log.cycle_ms[count // 2 :]))


def journal(log: Log) -> Journal:
    """From the log of single durable writes: visits that take much longer, at even distances."""
    cycle = log.cycle_ms
    usual = float(np.median(cycle))
    late = np.flatnonzero(cycle > max(4 * usual, usual + 40))
    if len(late) < 3:
        return Journal(0, 0.0)
    every = int(np.median(np.diff(late)))
    regular = float(np.mean(np.abs(np.diff(late) % every) <= 1))
    if every < 2 or regular < 0.6:
        return Journal(0, 0.0)
    return Journal(every, float(np.median(cycle[late])) - usual)


def estimate(seen: Visits, turn_ms: float, layout: Layout, overhead_ms: float, link_mb_s: float) -> Append:
    """The packets that explain the measured times best: sizes and limits tried out, costs by least squares."""
    carry = seen.sizes / link_mb_s / 1e3
    each_ms = overhead_ms + BLOCK_BYTES / link_mb_s / 1e3
    if seen.write_back:
        host_ms, host_size_ms = seen.groups * each_ms + overhead_ms, carry + 2 * overhead_ms
    else:
        # Where several are in flight, the next has arrived before the visit at hand ends.
        host_ms, host_size_ms = np.where(seen.groups > 1, 0.0, each_ms), carry + overhead_ms
    turns = np.concatenate([seen.group_ms - host_ms, seen.size_ms - host_size_ms]) / turn_ms
    weights = 1 / np.maximum(np.concatenate([seen.group_ms, seen.size_ms]) / turn_ms, 0.2)
    sizes_tried = _PACKET_BYTES if layout.packet_bytes not in _PACKET_BYTES else (layout.packet_bytes,)
    tried = [
        (*_misfit(seen, turns, weights, layout, size, writes), size, writes)
        for size in sizes_tried
        for writes in _PACKET_WRITES
    ]
    best = min(tried, key=lambda one: one[0])
    near = [one for one in tried if one[0] <= 1.1 * best[0] + 1e-3]
    misfit, append, packet, size, writes = best
    sizes, counts = {one[3] for one in near}, {one[4] for one in near}
    return Append(
        _over(append, [one[1] for one in near]),
        _over(packet, [one[2] for one in near]),
        # Packets that cost nothing and leave no gaps do not show.
        _over(size, list(sizes)) if len(sizes) <= 2 and (packet > _LEAST_TURNS or len(sizes_tried) == 1) else None,
        _over(writes, list(counts)) if len(counts) <= 3 else None,
        misfit,
    )


def _misfit(
    seen: Visits, turns: Floats, weights: Floats, layout: Layout, packet_bytes: int, writes: int
) -> tuple[float, float, float]:
    """How badly packets of this kind explain the times, and the costs of visit and packet that do it best."""
    track_bytes = layout.track_bytes
    least = layout.packet_tracks.value * track_bytes
    visits, by_group, space_group = _small_visits(seen, writes, least)
    by_size = np.ceil(seen.sizes / packet_bytes)
    last_size = seen.sizes - (by_size - 1) * packet_bytes
    space_size = (by_size - 1) * max(packet_bytes, least) + np.maximum(last_size, least)
    packets = np.concatenate([by_group, by_size])
    fixed = np.concatenate([space_group, space_size]) / track_bytes
    weighted = (turns - fixed) * weights
    visited = np.concatenate([visits, np.ones(len(seen.sizes))])
    design = np.stack([visited, packets], axis=1) * weights[:, None]
    (append, packet), *_ = np.linalg.lstsq(design, weighted, rcond=None)
    append, packet = max(float(append), 0.0), max(float(packet), 0.0)
    alone = max(float(np.sum(weighted * design[:, 0]) / np.sum(design[:, 0] ** 2)), 0.0)
    with_packets = float(np.sqrt(np.mean((weighted - design @ np.array([append, packet])) ** 2)))
    # Packets cost something only if that explains more than the noise does.
    if packet == 0.0 or float(np.sqrt(np.mean((weighted - design[:, 0] * alone) ** 2))) < with_packets + _NOISE:
        append, packet = alone, 0.0
    residual = weighted - design @ np.array([append, packet])
    return float(np.sqrt(np.mean(residual**2))), append, packet


def _small_visits(seen: Visits, writes: int, least: float) -> tuple[Floats, Floats, Floats]:
    """Visits, packets and bytes of log that each group takes."""
    parts = [seen.groups] if seen.write_back else [np.ones(len(seen.groups)), seen.groups - 1]
    visits, packets, space = np.zeros(len(seen.groups)), np.zeros(len(seen.groups)), np.zeros(len(seen.groups))
    for count in parts:
        here = np.ceil(count / writes)
        last = (count - np.maximum(here - 1, 0) * writes) * BLOCK_BYTES
        visits += count > 0
        packets += here
        space += np.maximum(here - 1, 0) * max(writes * BLOCK_BYTES, least)
        space += np.where(count > 0, np.maximum(last, least), 0.0)
    return visits, packets, space


def _over(value: float, values: list[float]) -> Estimate:
    return Estimate(float(value), float(min(values)), float(max(values)))
