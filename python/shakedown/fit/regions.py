"""In how many places a persistent cache lies: two writes share a log if one moves on where the other will lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shakedown.fit.layout import logged_angles
from shakedown.fit.place import aligned, rewrite
from shakedown.fit.rotation import short_way
from shakedown.fit.seek import Surface
from shakedown.fit.trace import BLOCK_BYTES, Bench, Floats, Trace
from shakedown.fit.whereabouts import Sight, forget

_PLACES: Final = 97
_BETWEEN: Final = (65_536, 262_144, 524_288, 786_432, 1_048_576, 1_310_720)
# Each size so often: where a track of the log ends, a skew may be what the size should be.
_AT_EDGES: Final = 4
_SLOT_BYTES: Final = 2 << 20
_GROUP: Final = 6
# What is written at a place at one time, of it and of both neighbours.
_PLACE_BYTES: Final = 8 * len(_BETWEEN) * _SLOT_BYTES
# How many steps come as nothing explains: a write that a band's border cuts in two takes any other space.
_STRAY: Final = 0.1
# How many cross as many borders of tracks as what they are compared with.
_ALIKE: Final = 0.7
# How much likelier it has to be that there are two logs: e to the power of this.
_CERTAIN: Final = 6.0
# So many neighbours are looked at before a small log could be full of them.
_AT_ONCE: Final = 16


def measure(bench: Bench, surface: Surface, sight: Sight, skews: tuple[float, ...]) -> int:
    """How many logs there are over the surface; a border nearer to the next than a hundredth of the stroke is missed.

    ``skews`` are by how much of a turn a track may begin later than the one before ends. Writes at the very edges tell
    whether there are several at all.
    """
    probe = _Probe.of(bench, sight, skews)
    if not probe.parted("logs-edges", [surface.offset(stroke) for stroke in (0.0, 1.0)], _AT_EDGES).any():
        return 1
    offsets = [surface.offset(stroke) for stroke in np.linspace(0, 1, _PLACES)]
    looks = [
        probe.parted("logs", offsets[begin : begin + _AT_ONCE + 1], 1) for begin in range(0, _PLACES - 1, _AT_ONCE)
    ]
    parted = np.concatenate(looks)
    # A border that lies within what is written at a place shows on both sides of it.
    return int(np.sum(parted[1:] & ~parted[:-1])) + int(parted[0]) + 1


@dataclass(frozen=True)
class _Probe:
    bench: Bench
    turn_ms: float
    blur: float
    """What a step is known to, in turns."""
    borders: Floats
    """By how much two steps of the same space may differ, as tracks end within the one or the other; none first."""

    @staticmethod
    def of(bench: Bench, sight: Sight, skews: tuple[float, ...]) -> _Probe:
        ends = np.array([0.0, *skews])
        apart = np.unique(ends[:, None] - ends)
        return _Probe(bench, sight.turn_ms, sight.blur, np.append(0.0, apart[apart != 0.0]))

    def parted(self, name: str, offsets: list[float], times: int) -> NDArray[np.bool_]:
        """Which neighbours of some places share no log: a write at one does not move on what follows at the other.

        What nothing and what a write of the same size moves on is seen beside it, at the same place.
        """
        # Each time by itself, and what it wrote is dropped: four times as much brings home what a small log held.
        angles = np.concatenate([self._angles(name, offsets, time, times) for time in range(times)], axis=1)
        nothing, same, other = (np.diff(angles, axis=2)[:, :, which] for which in range(3))
        # What follows nothing is alike whatever the size; each size is seen several times.
        repeated = np.tile(same.reshape(len(same), times, -1).transpose(0, 2, 1), (1, times, 1))
        alone, shared = self._likely(other, nothing[:, None, :]), self._likely(other, repeated)
        return np.asarray(alone > shared + _CERTAIN)

    def _angles(self, name: str, offsets: list[float], time: int, times: int) -> Floats:
        """Of neighbours, and of sizes in between: the angles of what nothing, the same and the other moved on."""
        bench = self.bench
        places = [self._place(offset, times) + time * _PLACE_BYTES for offset in offsets]
        used = np.zeros(len(places), int)
        rows: list[tuple[int, int]] = []
        for number in range(len(places) - 1):
            # Of several sizes in between most show, however many bytes a track has where the log is.
            for between in _BETWEEN:
                here, there = (number, BLOCK_BYTES), (number + 1, between)
                for which, length in (here, here, (number, between), here, there, here):
                    rows.append((places[which] + int(used[which]) * _SLOT_BYTES, length))
                    used[which] += 1
        written = np.array(rows)
        trace = Trace.durable_writes(written[:, 0], written[:, 1])
        bench.play(f"{name}-write", trace)
        forget(bench)
        watched = written[:, 0].reshape(-1, _GROUP)[:, (0, 1, 3, 5)].ravel()
        angles = logged_angles(bench, f"{name}-read", watched, self.turn_ms)
        for place, count in zip(places, used, strict=True):
            rewrite(bench, f"{name}-rewrite", place, int(count) * _SLOT_BYTES)
        return angles.reshape(len(places) - 1, len(_BETWEEN), 4)

    def _likely(self, steps: Floats, seen: Floats) -> Floats:
        """How likely the steps of each row are, as a logarithm, if they are like those that were seen."""
        off = short_way((steps[:, :, None] - seen)[..., None] - self.borders) / self.blur
        # A track that begins where the one before ends shows as none.
        others = len(self.borders) - 1
        weights = np.append(_ALIKE, np.full(others, (1 - _ALIKE) / max(others, 1)))
        near = (np.exp(-(off**2) / 2) * weights).sum(axis=3).mean(axis=2) / (self.blur * np.sqrt(2 * np.pi))
        return np.asarray(np.log(_STRAY + (1 - _STRAY) * near).sum(axis=1))

    def _place(self, offset: float, times: int) -> int:
        return aligned(min(offset, 0.98 * self.bench.capacity_bytes - times * _PLACE_BYTES))
