"""In how many places a persistent cache lies: two writes share a log if one moves on where the other will lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shakedown.fit.layout import Layout, logged_angles
from shakedown.fit.place import aligned, rewrite
from shakedown.fit.rotation import short_way
from shakedown.fit.seek import Surface
from shakedown.fit.trace import BLOCK_BYTES, Bench, Floats, Trace
from shakedown.fit.whereabouts import forget

_PLACES: Final = 97
_BETWEEN: Final = (65_536, 262_144, 393_216, 524_288, 786_432)
# Each size so often: where a track of the log ends, a skew may be what the size should be.
_AT_EDGES: Final = 4
_SLOT_BYTES: Final = 2 << 20
_DECIDED: Final = 0.08


def measure(bench: Bench, surface: Surface, layout: Layout, turn_ms: float, skew: float) -> int:
    """How many logs there are over the surface; a border nearer to the next than a hundredth of the stroke is missed.

    Writes at the very edges tell whether there are several at all.
    """
    probe = _Probe(bench, turn_ms, layout, skew)
    if not probe.parted("logs-edges", [surface.offset(stroke) for stroke in (0.0, 1.0)], _AT_EDGES).any():
        return 1
    parted = probe.parted("logs", [surface.offset(stroke) for stroke in np.linspace(0, 1, _PLACES)], 1)
    # A border that lies within what is written at a place shows on both sides of it.
    return int(np.sum(parted[1:] & ~parted[:-1])) + int(parted[0]) + 1


@dataclass(frozen=True)
class _Probe:
    bench: Bench
    turn_ms: float
    layout: Layout
    skew: float
    """By how much of a turn a track begins later than the one before ends."""

    def parted(self, name: str, offsets: list[float], times: int) -> NDArray[np.bool_]:
        """Which neighbours of some places do not share a log: a write at one moves on what follows at the other."""
        bench, sizes = self.bench, _BETWEEN * times
        places = [self._place(offset, len(sizes)) for offset in offsets]
        used = np.zeros(len(places), int)
        rows: list[tuple[int, int]] = []
        for number in range(len(places) - 1):
            # Of several sizes in between most show, however many bytes a turn has where the log is.
            for between in sizes:
                for which, length in ((number, BLOCK_BYTES), (number + 1, between), (number, BLOCK_BYTES)):
                    rows.append((places[which] + int(used[which]) * _SLOT_BYTES, length))
                    used[which] += 1
        written = np.array(rows)
        trace = Trace.writes(written[:, 0], flush_every=1)
        lengths = trace.lengths.copy()
        lengths[::2] = written[:, 1]
        bench.play(f"{name}-write", Trace(trace.verbs, trace.offsets, lengths))
        forget(bench)
        watched = written[:, 0].reshape(-1, 3)[:, ::2].ravel()
        angles = logged_angles(bench, f"{name}-read", watched, self.turn_ms).reshape(-1, len(sizes), 2)
        for place, count in zip(places, used, strict=True):
            rewrite(bench, f"{name}-rewrite", place, int(count) * _SLOT_BYTES)
        steps = angles[:, :, 1] - angles[:, :, 0]
        small = self.layout.space_bytes(BLOCK_BYTES)
        alone = self._misses(steps, np.full(len(sizes), small))
        shared = self._misses(steps, np.array([small + self.layout.space_bytes(size) for size in sizes]))
        return np.asarray((np.median(alone, axis=1) < _DECIDED) & (alone.sum(axis=1) < shared.sum(axis=1)))

    def _misses(self, steps: Floats, spaces: Floats) -> Floats:
        """By how much each step, in turns, misses what such spaces take; whether a track ends within is not known."""
        tracks = spaces / self.layout.track_bytes
        turns = [tracks + borders * self.skew for borders in (np.floor(tracks), np.ceil(tracks))]
        return np.asarray(np.min([np.abs(short_way(steps - each)) for each in turns], axis=0))

    def _place(self, offset: float, count: int) -> int:
        room = 4 * count * _SLOT_BYTES
        return aligned(min(offset, 0.98 * self.bench.capacity_bytes - room))
