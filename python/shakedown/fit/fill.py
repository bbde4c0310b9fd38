"""Filling the persistent cache: after how much of each kind of writing does the drive stall for the first time?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shakedown.fit.append import journal
from shakedown.fit.estimate import Estimate
from shakedown.fit.place import aligned, rewrite, scattered
from shakedown.fit.trace import BLOCK_BYTES, Bench, Ints, Log, Trace

_LEAST_CHUNK: Final = 1500
_CHUNK_SHARE: Final = 4
_MOST_WRITES: Final = 8_000_000
_CALM_WRITES: Final = 600
_CALM_FACTOR: Final = 3.0


@dataclass(frozen=True)
class Fill:
    """A fill up to the first stall."""

    writes: int | None
    """Until the first one that stalled; None: none did."""
    size: int
    """Bytes of each."""
    writes_per_byte: float
    """How densely the region that was filled first was written."""
    stall_ms: float
    """Median of the long stalls from then on: bands at a region's edge hold less and take less."""
    usual_ms: float
    """Mean time of a write before."""
    logs: tuple[Log, ...]


def fill(
    bench: Bench,
    name: str,
    share: float,
    size: int,
    *,
    flush_every: int,
    journal_ms: float | None,
    region_bytes: int,
    settle_ns: int,
) -> Fill:
    """Write scattered requests into regions, one after the other, until one stalls; then rewrite the regions.

    ``settle_ns`` is how long the drive needs for what rewriting leaves behind: a band or two at either end.

    ``journal_ms`` is what the drive is known to take now and then without being full; None: find it in the first
    writes, each of which has to be durable then.
    """
    slot = size if size == BLOCK_BYTES else size + 16 * BLOCK_BYTES
    first = aligned(share * bench.capacity_bytes)
    slots = max(region_bytes // slot, 16)
    most = min(_MOST_WRITES, (bench.capacity_bytes - first) // (slots * slot) * (slots * 6 // 10))
    logs: list[Log] = []
    done, limit_ms, stalled = 0, None, None
    while stalled is None and done < most:
        # Not much more than needed: after the collapse every write takes long.
        chunk = min(max(_LEAST_CHUNK, done // _CHUNK_SHARE), most - done)
        offsets = _places(done, chunk, first, slots, slot)
        log = bench.play(f"{name}-{len(logs)}", Trace.writes(offsets, size, flush_every=flush_every))
        logs.append(log)
        if limit_ms is None:
            limit_ms = stall_limit_ms(log, journal(log).ms if journal_ms is None else journal_ms)
        stalled = first_stall(log, limit_ms)
        done += len(log.offsets) if stalled is None else stalled
    end = int(max(log.offsets.max() for log in logs)) + size
    rewrite(bench, f"{name}-rewrite", first, end - first)
    bench.idle(settle_ns)
    late = logs[-1].cycle_ms[1:]
    long = late[late > 0.5 * late.max()]
    stall_ms = 0.0 if stalled is None else float(np.median(long))
    spent = np.concatenate([log.cycle_ms for log in logs])[:done]
    return Fill(
        None if stalled is None else done,
        size,
        min(done, slots * 6 // 10) / (slots * slot),
        stall_ms,
        float(np.mean(spent)),
        tuple(logs),
    )


def stall_limit_ms(log: Log, journal_ms: float) -> float:
    """What is longer than anything that the drive did while it certainly had room."""
    usual = float(log.cycle_ms[1:_CALM_WRITES].max())
    usual -= journal_ms if usual > journal_ms else 0.0
    return max(_CALM_FACTOR * usual, 1.25 * (usual + journal_ms), 150.0)


def first_stall(log: Log, limit_ms: float) -> int | None:
    """The first write that took longer than ``limit_ms``; the very first may have had to wake the heads."""
    late = np.flatnonzero(log.cycle_ms[1:] > limit_ms)
    return int(late[0]) + 1 if len(late) else None


def _places(begin: int, count: int, first: int, slots: int, slot: int) -> Ints:
    """The next places: six tenths of a region, then the next region."""
    each = slots * 6 // 10
    numbers = np.arange(begin, begin + count)
    regions, inside = numbers // each, numbers % each
    base = scattered(each, 0, slots, slot)
    return first + regions * slots * slot + base[inside]


def capacity(count: int, slack: float) -> Estimate:
    """A count of which up to ``slack`` was still in memory."""
    return Estimate(count - slack / 2, count - slack, count)
