"""In how many places a persistent cache lies: two writes share a log if one moves on where the other will lie."""

from __future__ import annotations

from typing import Final

import numpy as np

from shakedown.fit.layout import SIZES, Layout, logged_angles
from shakedown.fit.place import aligned, rewrite
from shakedown.fit.seek import Surface
from shakedown.fit.trace import BLOCK_BYTES, Bench, Ints, Trace
from shakedown.fit.whereabouts import forget

_PLACES: Final = 97
_REPEATS: Final = 3
_SLOT_BYTES: Final = 2 << 20
_DECIDED: Final = 0.25


def measure(bench: Bench, surface: Surface, layout: Layout, turn_ms: float, turn_bytes: float) -> int:
    """How many logs there are over the surface; a border nearer to the next than a hundredth of the stroke is missed."""
    between = min(SIZES, key=lambda size: abs(layout.space_bytes(size) / turn_bytes % 1.0 - 0.5))
    places = [_place(bench, surface.offset(stroke)) for stroke in np.linspace(0, 1, _PLACES)]
    offsets, lengths = [], []
    slot = np.zeros(_PLACES, int)
    for number in range(_PLACES - 1):
        for _ in range(_REPEATS):
            for which, size in ((number, BLOCK_BYTES), (number + 1, between), (number, BLOCK_BYTES)):
                offsets.append(places[which] + int(slot[which]) * _SLOT_BYTES)
                lengths.append(size)
                slot[which] += 1
    trace = Trace.writes(np.array(offsets), flush_every=1)
    sizes = trace.lengths.copy()
    sizes[::2] = lengths
    bench.play("regions-write", Trace(trace.verbs, trace.offsets, sizes))
    forget(bench)
    watched: Ints = np.array(offsets).reshape(-1, 3)[:, ::2].ravel()
    angles = logged_angles(bench, "regions-read", watched, turn_ms).reshape(-1, _REPEATS, 2)
    for place, used in zip(places, slot, strict=True):
        rewrite(bench, "regions-rewrite", place, int(used) * _SLOT_BYTES)
    alone = layout.space_bytes(BLOCK_BYTES) / turn_bytes
    beyond = (angles[:, :, 1] - angles[:, :, 0] - alone + 0.5) % 1.0 - 0.5
    parted = np.median(np.abs(beyond), axis=1) < _DECIDED
    return int(np.sum(parted[1:] & ~parted[:-1])) + int(parted[0]) + 1


def _place(bench: Bench, offset: float) -> int:
    room = _PLACES and 12 * _REPEATS * _SLOT_BYTES
    return aligned(min(offset, 0.98 * bench.capacity_bytes - room))
