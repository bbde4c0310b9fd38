"""In how many places a persistent cache lies: two writes share a log if one moves on where the other will lie."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shakedown.fit.drive.rotation import short_way
from shakedown.fit.drive.seek import Surface
from shakedown.fit.drive.whereabouts import Sight, forget
from shakedown.fit.log.layout import Layout, logged_angles
from shakedown.fit.place import aligned, rewrite
from shakedown.fit.trace import BLOCK_BYTES, Bench, Floats, Trace

_PLACES: Final = 97
_BETWEEN: Final = (65_536, 262_144, 524_288, 786_432, 1_048_576, 1_310_720)
# Each size so often: where a track of the log ends, a skew may be what the size should be.
_AT_EDGES: Final = 4
_SLOT_BYTES: Final = 2 << 20
_GROUP: Final = 6
# Of these, which is written where the same move on, and which at the neighbour; the others are small, and here.
_SAME: Final = 2
_THERE: Final = 4
# What is written at a place at one time, of it and of both neighbours.
_PLACE_BYTES: Final = 8 * len(_BETWEEN) * _SLOT_BYTES
# How many steps come as nothing explains: a write that a band's border cuts in two takes any other space.
_STRAY: Final = 0.1
# How many cross as many borders of tracks as what they are compared with.
_ALIKE: Final = 0.7
# How much likelier it has to be that there are two logs: e to the power of this.
_CERTAIN: Final = 6.0
# Of a hundred looks one or two may be as certain as that by chance. This is certain at first sight; what is less, be it
# by one size alone, is looked at again.
_AT_FIRST_SIGHT: Final = 12.0
_DOUBTFUL: Final = 3.0
# So many neighbours are looked at together at most, and such that a small log is not full of them: what has come home
# meanwhile has been moved on by nothing, as if each lay in a log of its own.
_AT_ONCE: Final = 16
_AT_ONCE_BYTES: Final = 134_000_000


def measure(bench: Bench, surface: Surface, sight: Sight, skews: tuple[float, ...], layout: Layout) -> list[float]:
    """About where one log ends and the next begins; of two that a hundredth of the stroke lies between, one is missed.

    ``skews`` are by how much of a turn a track may begin later than the one before ends, and ``layout`` is what a write
    takes of a log. Writes at the very edges tell whether there are several at all.
    """
    probe = _Probe.of(bench, sight, skews)
    if not _parted(probe.tell("logs-edges", [surface.offset(stroke) for stroke in (0.0, 1.0)], _AT_EDGES)).any():
        return []
    offsets = [surface.offset(stroke) for stroke in np.linspace(0, 1, _PLACES)]
    once = _at_once(layout)
    looks = [probe.tell("logs", offsets[begin : begin + once + 1], 1) for begin in range(0, _PLACES - 1, once)]
    seen = np.concatenate(looks)
    parted = seen.sum(axis=1) > _AT_FIRST_SIGHT
    for number in np.flatnonzero(_partly(seen) & ~parted).tolist():
        # Those around both lie so far from there that it is within neither.
        around = [offsets[max(number - 1, 0)], offsets[min(number + 2, _PLACES - 1)]]
        parted[number] = _parted(probe.tell("logs-around", around, 1))[0]
    # A border that lies within what is written at a place shows on both sides of it.
    changes = np.flatnonzero(np.diff(np.concatenate([[False], parted, [False]]).astype(int)))
    ends = np.array(offsets)[changes].reshape(-1, 2)
    return [float(border) for border in ends.mean(axis=1)]


def _at_once(layout: Layout) -> int:
    """How many neighbours may be looked at together."""
    small = (_GROUP - 2) * len(_BETWEEN) * layout.space_bytes(BLOCK_BYTES)
    taken = small + 2 * sum(layout.space_bytes(size) for size in _BETWEEN)
    return int(np.clip(_AT_ONCE_BYTES / taken, 1, _AT_ONCE))


def _parted(seen: Floats) -> NDArray[np.bool_]:
    """Which neighbours share no log, by all that was written there."""
    return np.asarray(seen.sum(axis=1) > _CERTAIN)


def _partly(seen: Floats) -> NDArray[np.bool_]:
    """Which may share none by what was written first, or last: a border may lie within what is written at a place."""
    first, last = np.cumsum(seen, axis=1), np.cumsum(seen[:, ::-1], axis=1)
    return np.asarray(np.maximum(first.max(axis=1), last.max(axis=1)) > _DOUBTFUL)


@dataclass(frozen=True)
class _Probe:
    bench: Bench
    turn_ms: float
    blur: float
    """What a step is known to, in turns."""
    kept: int
    """How many ranges that were read memory keeps."""
    borders: Floats
    """By how much two steps of the same space may differ, as tracks end within the one or the other; none first."""

    @staticmethod
    def of(bench: Bench, sight: Sight, skews: tuple[float, ...]) -> _Probe:
        ends = np.array([0.0, *skews])
        apart = np.unique(ends[:, None] - ends)
        return _Probe(bench, sight.turn_ms, sight.blur, sight.kept, np.append(0.0, apart[apart != 0.0]))

    def tell(self, name: str, offsets: list[float], times: int) -> Floats:
        """How much likelier each write makes it that neighbours of some places share no log, a row for each two.

        Then a write at one does not move on what follows at the other. What nothing and what a write of the same size
        moves on is seen beside it, at the same place. As logarithms, in the order in which all was written.
        """
        # Each time by itself, and what it wrote is dropped: four times as much brings home what a small log held.
        angles = np.concatenate([self._angles(name, offsets, time, times) for time in range(times)], axis=1)
        nothing, same, other = (np.diff(angles, axis=2)[:, :, which] for which in range(3))
        # What follows nothing is alike whatever the size; each size is seen several times.
        repeated = np.tile(same.reshape(len(same), times, -1).transpose(0, 2, 1), (1, times, 1))
        return self._likely(other, nothing[:, None, :]) - self._likely(other, repeated)

    def _angles(self, name: str, offsets: list[float], time: int, times: int) -> Floats:
        """Of neighbours, and of sizes in between: the angles of what nothing, the same and the other moved on."""
        bench = self.bench
        places = [self._place(offset, times) + time * _PLACE_BYTES for offset in offsets]
        rows: list[tuple[int, int]] = []
        for here, there in pairwise(places):
            # Of several sizes in between most show, however many bytes a track has where the log is.
            for number, between in enumerate(_BETWEEN):
                # Each place is there once and here once. What is written for either lies among the other's: a border
                # in between would show in neither.
                slots = np.arange(_GROUP) * _SLOT_BYTES + number * _GROUP * _SLOT_BYTES
                places_in_turn = here + slots
                places_in_turn[_THERE] = there + slots[_THERE]
                lengths = np.full(_GROUP, BLOCK_BYTES)
                lengths[[_SAME, _THERE]] = between
                rows += zip(places_in_turn.tolist(), lengths.tolist(), strict=True)
        written = np.array(rows)
        trace = Trace.durable_writes(written[:, 0], written[:, 1])
        bench.play(f"{name}-write", trace)
        watched = written[:, 0].reshape(-1, _GROUP)[:, (0, 1, 3, 5)].ravel()
        forget(bench, watched, self.kept)
        angles = logged_angles(bench, f"{name}-read", watched, self.turn_ms)
        for place in places:
            rewrite(bench, f"{name}-rewrite", place, _GROUP * len(_BETWEEN) * _SLOT_BYTES)
        return angles.reshape(len(places) - 1, len(_BETWEEN), 4)

    def _likely(self, steps: Floats, seen: Floats) -> Floats:
        """How likely each step is, as a logarithm, if it is like those of its row that were seen."""
        off = short_way((steps[:, :, None] - seen)[..., None] - self.borders) / self.blur
        # A track that begins where the one before ends shows as none.
        others = len(self.borders) - 1
        weights = np.append(_ALIKE, np.full(others, (1 - _ALIKE) / max(others, 1)))
        near = (np.exp(-(off**2) / 2) * weights).sum(axis=3).mean(axis=2) / (self.blur * np.sqrt(2 * np.pi))
        return np.asarray(np.log(_STRAY + (1 - _STRAY) * near))

    def _place(self, offset: float, times: int) -> int:
        return aligned(min(offset, 0.98 * self.bench.capacity_bytes - times * _PLACE_BYTES))
