"""Filling the persistent cache: after how much of each kind of writing does the drive stall for the first time?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shakedown.fit.append import journal
from shakedown.fit.place import aligned, rewrite, scattered
from shakedown.fit.trace import BLOCK_BYTES, Bench, Ints, Log, Trace

_LEAST_CHUNK: Final = 1500
_CHUNK_SHARE: Final = 0.25
_LEAST_EACH: Final = 600
_EACH_SHARE: Final = 100
_MOST_WRITES: Final = 16_000_000
_CALM_WRITES: Final = 600
_CALM_FACTOR: Final = 3.0


@dataclass(frozen=True)
class Fill:
    """A fill up to the first stall."""

    writes: int | None
    """Until the first one that stalled; None: none did."""
    writes_per_byte: float
    """How densely the regions that were filled first were written."""
    stall_ms: float
    """Median of the long stalls from then on: bands at a region's edge hold less and take less."""


def fill(
    bench: Bench,
    name: str,
    share: float,
    *,
    flush_every: int,
    journal_ms: float | None,
    region_bytes: int,
    settle_ns: int,
    most: int = _MOST_WRITES,
) -> Fill:
    """Write scattered blocks into regions, one after the other, until one stalls; then rewrite the regions.

    ``settle_ns`` is how long the drive needs for what rewriting leaves behind: a band or two at either end.

    ``journal_ms`` is what the drive is known to take now and then without being full; None: find it in the first
    writes, each of which has to be durable then.
    """
    first = aligned(share * bench.capacity_bytes)
    plan = _Regions.of(region_bytes, most, bench.capacity_bytes - first)
    logs: list[Log] = []
    done, limit_ms, stalled = 0, None, None
    while stalled is None and done < plan.writes:
        # Not much more than needed: after the collapse every write takes long.
        chunk = min(max(_LEAST_CHUNK, int(done * _CHUNK_SHARE)), plan.writes - done)
        offsets = first + plan.places(done, chunk)
        log = bench.play(f"{name}-{len(logs)}", Trace.writes(offsets, flush_every=flush_every))
        logs.append(log)
        if limit_ms is None:
            limit_ms = stall_limit_ms(log, journal(log).ms if journal_ms is None else journal_ms)
        stalled = first_stall(log, limit_ms)
        done += len(log.offsets) if stalled is None else stalled
    end = int(max(log.offsets.max() for log in logs)) + BLOCK_BYTES
    rewrite(bench, f"{name}-rewrite", first, end - first)
    bench.idle(settle_ns)
    late = logs[-1].cycle_ms[1:]
    long = late[late > 0.5 * late.max()]
    return Fill(
        None if stalled is None else done,
        float(plan.counts[0]) / region_bytes,
        0.0 if stalled is None else float(np.median(long)),
    )


@dataclass(frozen=True)
class _Regions:
    """How many writes go into each region: few at first, later a small share of all before.

    So one band that is cleaned early, in the pause between two loads, hardly counts, and the regions do not become many.
    """

    counts: Ints
    slots: int
    bytes_each: int

    @staticmethod
    def of(region_bytes: int, most: int, room_bytes: int) -> _Regions:
        slots = max(region_bytes // BLOCK_BYTES, 16)
        counts, done = [], 0
        for _ in range(max(room_bytes // (slots * BLOCK_BYTES), 1)):
            if done >= most:
                break
            counts.append(min(max(_LEAST_EACH, done // _EACH_SHARE), slots * 6 // 10, most - done))
            done += counts[-1]
        return _Regions(np.array(counts), slots, slots * BLOCK_BYTES)

    @property
    def writes(self) -> int:
        return int(self.counts.sum())

    def places(self, begin: int, count: int) -> Ints:
        """The next places, from the beginning of the first region on."""
        ends = np.cumsum(self.counts)
        numbers = np.arange(begin, begin + count)
        region = np.searchsorted(ends, numbers, side="right")
        inside = numbers - np.concatenate([[0], ends])[region]
        base = scattered(int(self.counts.max()), 0, self.slots, BLOCK_BYTES)
        return np.asarray(region * self.bytes_each + base[inside])


def stall_limit_ms(log: Log, journal_ms: float) -> float:
    """What is longer than anything that the drive did while it certainly had room."""
    usual = float(log.cycle_ms[1:_CALM_WRITES].max())
    usual -= journal_ms if usual > journal_ms else 0.0
    return max(_CALM_FACTOR * usual, 1.25 * (usual + journal_ms), 150.0)


def first_stall(log: Log, limit_ms: float) -> int | None:
    """The first write that took longer than ``limit_ms``; the very first may have had to wake the heads."""
    late = np.flatnonzero(log.cycle_ms[1:] > limit_ms)
    return int(late[0]) + 1 if len(late) else None
