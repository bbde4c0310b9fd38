"""The seek curve: of many reads at one distance, the luckiest waited for nothing but the arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shakedown.fit.drive.whereabouts import forget
from shakedown.fit.estimate import Estimate
from shakedown.fit.trace import BLOCK_BYTES, Bench, Bools, Floats, Log, Trace

_PAIRS: Final = 48
LATE: Final = 2
_SURELY: Final = 4.0
_MOSTLY: Final = 0.5
_FROM_MEMORY_TURNS: Final = 0.03
# Where memory answers whatever is asked.
USUAL: Final = {0.001: Estimate(1.0, 0.0, 2.0), 0.95: Estimate(18.0, 9.0, 27.0)}
SHARES: Final = (0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 1 / 3, 0.5, 0.7, 0.95)


@dataclass(frozen=True)
class Surface:
    """Where on the stroke an offset lies: tracks hold as much as rates say."""

    offsets: Floats
    strokes: Floats

    @staticmethod
    def of_rates(offsets: Floats, rates: Floats) -> Surface:
        """From rates at rising offsets, the first at 0 and the last at the end."""
        slowness = 1 / rates
        steps = np.diff(offsets) * (slowness[1:] + slowness[:-1]) / 2
        strokes = np.concatenate([[0.0], np.cumsum(steps)])
        return Surface(offsets, strokes / strokes[-1])

    def stroke(self, offset: float) -> float:
        """Share of the stroke at an offset."""
        return float(np.interp(offset, self.offsets, self.strokes))

    def offset(self, stroke: float) -> float:
        """Offset at a share of the stroke."""
        return float(np.interp(stroke, self.strokes, self.offsets))


def between_known(seeks: dict[float, Estimate], strokes: Floats) -> Floats:
    """Time in ms of seeks over these shares of the stroke, from those that were measured."""
    shares = sorted(seeks)
    return np.interp(strokes, shares, [seeks[share].value for share in shares])


def measure(bench: Bench, surface: Surface, share: float, overhead_ms: float, turn_ms: float) -> Estimate | None:
    """The seek in ms over a share of the stroke; None where memory answered nearly all."""
    capacity = bench.capacity_bytes
    first = surface.offset(0.02) if share < 0.9 else 0.0
    second = surface.offset(surface.stroke(first) + share)
    ways = trace(int(first), min(int(second), capacity - (256 << 20)), capacity)
    log = bench.play(f"seek-{share:.3f}", ways)
    if np.mean(from_elsewhere(log, overhead_ms, turn_ms)) < _MOSTLY:
        # One of both places is that of every way: memory may keep all that was read there.
        forget(bench, ways.offsets, 0)
        log = bench.play(f"seek-{share:.3f}", ways)
    return estimate(log, overhead_ms, turn_ms)


def trace(first: int, second: int, capacity_bytes: int) -> Trace:
    """From one place to another and back, each time to a fresh block nearby, at any angle."""
    room = max(min(192 << 20, capacity_bytes // 200, max(second - first, 1 << 20)), 1 << 20)
    return between(first, second, room, capacity_bytes, 2)


def between(first: int, second: int, room_bytes: int, capacity_bytes: int, seed: int) -> Trace:
    """The same with so much room around either place."""
    draw, room = np.random.default_rng(seed), room_bytes // BLOCK_BYTES
    offsets = np.empty(2 * _PAIRS, np.int64)
    for half, base in ((0, first), (1, second)):
        offsets[half::2] = (max(base, 0) // BLOCK_BYTES + draw.choice(room, _PAIRS, replace=False)) * BLOCK_BYTES
    return Trace.reads(np.clip(offsets, 0, capacity_bytes - BLOCK_BYTES))


def estimate(log: Log, overhead_ms: float, turn_ms: float) -> Estimate | None:
    """Between the luckiest read and what the unluckiest leaves after a whole turn of waiting."""
    here = from_elsewhere(log, overhead_ms, turn_ms)
    return bracket(log.latency_ms[here], overhead_ms, turn_ms) if np.sum(here) > LATE else None


def from_elsewhere(log: Log, overhead_ms: float, turn_ms: float) -> Bools:
    """What memory answered did not move the arm, so the next read did not come from the other place, nor the first."""
    hit = log.latency_ms < overhead_ms + _FROM_MEMORY_TURNS * turn_ms
    return np.asarray(~hit & ~np.concatenate([[True], hit[:-1]]))


def bracket(latency_ms: Floats, overhead_ms: float, turn_ms: float) -> Estimate:
    """How long the arm took before the wait for an angle, which is anything below a turn.

    What memory answered says nothing, nor do the few of which the host may have been late.
    """
    moved = np.sort(latency_ms[latency_ms > overhead_ms + _FROM_MEMORY_TURNS * turn_ms])
    if len(moved) <= 2 * LATE:
        moved = np.sort(latency_ms)
    high = float(moved[0]) - overhead_ms
    low = max(float(moved[-1 - LATE]) - overhead_ms - turn_ms, 0.0)
    if low > high:
        # More answers were late than that. So many reads come that near to the luckiest possible, 49 times of 50.
        low = max(high - _SURELY * turn_ms / len(moved), 0.0)
    return Estimate((low + high) / 2, low, high)
