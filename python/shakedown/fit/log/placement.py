"""Where the persistent cache lies: how far the arm goes to cached blocks from the outer edge, middle and inner edge."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from shakedown.fit.drive.seek import Surface, between_known, bracket
from shakedown.fit.drive.whereabouts import forget_these
from shakedown.fit.estimate import Estimate
from shakedown.fit.place import aligned, apart, rewrite
from shakedown.fit.trace import Bench, Ints, Trace, at_blocks

Place = Literal["outer", "inner", "spread", "flash"]

_BLOCKS: Final = 48
_HOME: Final = 0.4
_FROM: Final = (0.02, 0.5, 0.98)
_SLOT_BYTES: Final = 1 << 20


def place_of_cache(
    bench: Bench, surface: Surface, seeks: dict[float, Estimate], overhead_ms: float, turn_ms: float, kept: int
) -> Place:
    """To which edge seeks to freshly written blocks lead; that there are several places is told by their logs."""
    first = aligned(_HOME * bench.capacity_bytes)
    offsets = first + apart(_BLOCKS) * _SLOT_BYTES
    bench.play("place-write", Trace.writes(offsets, flush_every=1))
    found = []
    for share in _FROM:
        pairs = _pairs(bench, share, offsets)
        forget_these(bench, pairs, kept)
        log = bench.play(f"place-from-{share}", Trace.reads(pairs))
        found.append(bracket(log.latency_ms[1::2], overhead_ms, turn_ms).value)
    rewrite(bench, "place-rewrite", first, _BLOCKS * _SLOT_BYTES)
    strokes = np.array([surface.stroke(share * bench.capacity_bytes) for share in _FROM])
    guesses: dict[Place, float] = {"outer": 0.0, "inner": 1.0}
    misses = {
        place: float(np.sum((between_known(seeks, np.abs(strokes - at)) - np.array(found)) ** 2))
        for place, at in guesses.items()
    }
    return min(misses, key=lambda place: misses[place])


def _pairs(bench: Bench, share: float, cached: Ints) -> Ints:
    """A fresh block near the place to come from, then a cached one, in an order in which none was written."""
    near = aligned(share * (bench.capacity_bytes - (len(cached) << 22))) + apart(len(cached)) * (1 << 22)
    pairs = np.empty(2 * len(cached), np.int64)
    pairs[::2] = at_blocks(near)
    pairs[1::2] = cached[::-1]
    return pairs
