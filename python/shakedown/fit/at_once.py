"""What is found of a drive that cleans whatever it holds, and at once.

Behind ballast what is written stays in the log for a while. Without any, a single write to a drive that has nothing to
clean takes as long as its seek and its visit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shakedown.fit import append as appends
from shakedown.fit.ballast import Ballasted
from shakedown.fit.dram import Bursts
from shakedown.fit.estimate import Estimate
from shakedown.fit.length import Filler
from shakedown.fit.marks import moved, twice
from shakedown.fit.place import aligned
from shakedown.fit.placement import Place
from shakedown.fit.pressure import Drain
from shakedown.fit.seek import Surface
from shakedown.fit.trace import BLOCK_BYTES, Bench, Floats, Ints, Trace
from shakedown.fit.whereabouts import Sight, Watch

_HOME: Final = 0.42
_FROM: Final = (0.02, 0.25, 0.5, 0.75, 0.98)
_REPEATS: Final = 3
_STEP_BYTES: Final = 1 << 20
_EDGE: Final = 0.12
_PLACES: Final = 101

_OLD: Final = 40
_DIRTY: Final = 12
_FAR_BYTES: Final = 64 << 20
_BALLAST_BANDS: Final = 60
_LOOKS: Final = 400
_SHORT_NS: Final = 300_000_000
_ORDER_AT: Final = (0.5, 0.8)
_HALF: Final = 0.5

_ROOM_WRITES: Final = 250
_BEHIND_BANDS: Final = 60
_BEFORE_AT: Final = 0.1
_NEXT_AT: Final = 0.8
_NEXT_BANDS: Final = 6
_SURE: Final = 2
_BEHIND_AT: Final = 0.25


@dataclass(frozen=True)
class Once:
    """Writes to a drive that has nothing to clean, one at a time."""

    ballasted: Ballasted

    @property
    def bench(self) -> Bench:
        """Without ballast."""
        return self.ballasted.bench

    def write(self, heads_at: int, trace: Trace) -> Floats:
        """What each write takes, with its flush, where heads come from a place."""
        self.ballasted.clean()
        self.bench.play("once-heads", Trace.reads(np.array([heads_at])))
        return self.bench.play("once", trace).cycle_ms


def place(once: Once, surface: Surface, seeks: dict[float, Estimate]) -> Place:
    """Where single durable writes lead the heads from several places."""
    capacity_bytes = once.bench.capacity_bytes
    home = aligned(_HOME * capacity_bytes)
    took = np.array(
        [
            np.median(
                [
                    once.write(
                        aligned(share * capacity_bytes) + number * _STEP_BYTES,
                        Trace.writes(np.array([home + number * _STEP_BYTES]), flush_every=1),
                    )
                    for number in range(_REPEATS)
                ]
            )
            for share in _FROM
        ]
    )
    strokes = np.array([surface.stroke(share * capacity_bytes) for share in _FROM])
    shares = np.array(sorted(seeks))
    times = np.array([seeks[share].value for share in shares])
    tried = np.linspace(0, 1, _PLACES)
    # What the visit itself takes is the same from everywhere.
    rest = [took - np.interp(np.abs(strokes - at), shares, times) for at in tried]
    at = float(tried[int(np.argmin([np.std(one) for one in rest]))])
    return "outer" if at < _EDGE else "inner" if at > 1 - _EDGE else "spread"


def most_dirty_first(ballasted: Ballasted, sight: Sight) -> bool | None:
    """Whether a band with many pieces goes before older ones with one each; None where nothing was seen to go."""
    bench = ballasted.bench
    old_at, new_at = (aligned(share * bench.capacity_bytes) for share in _ORDER_AT)
    step = min(_FAR_BYTES, aligned(bench.capacity_bytes / 5 / _OLD))
    old, new = old_at + np.arange(_OLD) * step, new_at + np.arange(_DIRTY) * (256 << 10)
    watched = np.append(old, new)
    ballasted.clean()
    watch = Watch.over(bench, "at-once-order", watched, sight)
    first = ballasted.places(0.1, _BALLAST_BANDS, 2 * _DIRTY)
    bench.play("at-once-ballast", Trace.writes(first, flush_every=len(first)))
    bench.play("at-once-old", Trace.writes(old, flush_every=len(old)))
    bench.play("at-once-new", Trace.writes(new, flush_every=len(new)))
    before = twice(watch)
    for _ in range(_LOOKS):
        came = moved(watch, before)
        older, newer = float(came[:_OLD].mean()), float(came[_OLD:].mean())
        if came.any():
            return None if min(older, newer) > _HALF else newer > older
        bench.idle(_SHORT_NS)
    return None


@dataclass(frozen=True)
class Drained:
    """Lets the drive clean what was written first, and looks before it has cleaned what lies between that and the rest.

    Implements what ``pressure`` asks of a drained log.
    """

    ballasted: Ballasted
    filler: Filler
    sight: Sight
    room_writes: int = _ROOM_WRITES

    @property
    def bench(self) -> Bench:
        """Without ballast."""
        return self.ballasted.bench

    def of(self, first: Ints, guards: Ints, watched: Ints) -> Drain:
        """What becomes of the watched blocks when what was written ``first`` has been cleaned.

        The dirtiest are those before it, then itself, and those behind it: in either order they go in this one.
        """
        bench, ballasted = self.bench, self.ballasted
        ballasted.clean()
        order = np.argsort(watched)
        watch = Watch.over(bench, "drained", watched[order], self.sight)
        # Whether it is their turn shows in bands that come next, for what lies side by side comes with one another.
        next_ones = ballasted.places(_NEXT_AT, _NEXT_BANDS, len(first))
        front = Watch.over(bench, "drained-next", next_ones[:_NEXT_BANDS], self.sight)
        by_dirt = len(first) > 1
        before = ballasted.places(_BEFORE_AT, _BALLAST_BANDS, len(first) + len(watched) + 1 if by_dirt else 1)
        behind = ballasted.places(_BEHIND_AT, _BEHIND_BANDS, len(watched) // 2 + 1 if by_dirt else 1)
        for places in (before, first, next_ones, guards, behind, watched):
            if len(places):
                bench.play("drained-write", Trace.writes(places, flush_every=len(places)))
        then, front_then = twice(watch), twice(front)
        for _ in range(_LOOKS):
            if moved(front, front_then).sum() >= _SURE:
                break
            bench.idle(_SHORT_NS)
        now = twice(watch)
        came, to_old_place = np.empty((2, len(watched)), bool)
        came[order] = moved(watch, then, now)
        to_old_place[order] = np.any([~self.sight.differ(one, watch.home) for one in now], axis=0)
        return Drain(came, to_old_place)


def visits(once: Once, bursts: Bursts, heads_at: int) -> appends.Visits:
    """What single visits to the log take, of groups of small writes and of one of each size."""
    capacity_bytes = once.bench.capacity_bytes
    first, number = aligned(_HOME * capacity_bytes), 0
    groups = [group for group in appends.GROUPS if group <= appends.most_at_once(bursts)]

    def took(count: int, size: int) -> float:
        nonlocal number
        each = []
        for _ in range(_REPEATS):
            places = first + (number * 64 + np.arange(count)) * (64 << 10) % (capacity_bytes // 16)
            number += 1
            once.ballasted.clean()
            once.bench.play("once-heads", Trace.reads(np.array([heads_at + number * _STEP_BYTES])))
            log = once.bench.play("once", Trace.writes(places, size, flush_every=count))
            each.append(appends.flushed_ms(log, count))
        return float(np.median(each))

    return appends.Visits(
        np.array(groups),
        np.array([took(group, BLOCK_BYTES) for group in groups]),
        np.array(appends.SIZES),
        np.array([took(1, size) for size in appends.SIZES]),
        bursts.write_back,
    )
