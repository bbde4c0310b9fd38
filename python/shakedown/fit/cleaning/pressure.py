"""Cleaning that waits for no silence: does a lazy drive clean like that, and what shows of it then?

From its high mark down to its low one such a drive does an operation of cleaning after each of the host's. A write is
late then as it is where the log ends, and what is pressed so goes home before anybody can look. But it stops at its
low mark: a log is filled such that only one band has to be cleaned for that, and then the drive is at rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from shakedown.fit.cleaning.bands import Bands
from shakedown.fit.cleaning.marks import FULL, Apart, low_mark, moved, oldest_cleaned, twice
from shakedown.fit.drive.whereabouts import Sight, Watch, angles_of, forgetting, reference_places
from shakedown.fit.estimate import Estimate
from shakedown.fit.log.length import Filler, Room, marked_trace
from shakedown.fit.place import aligned, apart, scattered
from shakedown.fit.trace import (
    BLOCK_BYTES,
    READ,
    Bench,
    Floats,
    Found,
    Ints,
    Log,
    Trace,
    at_blocks,
    in_one_go,
    whole_blocks,
)

_MOST_MARKS: Final = 96
_FEWEST_MARKS: Final = 12
_MARKS_AT: Final = 0.3
_MARKS_SHARE: Final = 0.4
_HALF_FULL: Final = 0.5
_BEYOND: Final = 1.01
_STEPS: Final = 16
_READS: Final = 1000
_READS_AT: Final = 0.8
_READS_SHARE: Final = 1 / 16
_CAME: Final = 3
# Of the reads of a look 0.6 to 0.8 are that late where cleaning goes on between them; otherwise none is.
_LATE_SHARE: Final = 0.3
_LONG_NS: Final = 10_000_000_000
_REST_NS: Final = 30_000_000_000
# Longer than any that what is measured here waits for.
_LONG_REST_NS: Final = 2 * _REST_NS
_RESTING: Final = 16

# What is to be cleaned first, in whatever order; what is cleaned with it, where several bands are; and what is watched.
_STEP_BYTES: Final = 8 << 10
_GUARDS: Final = 8
# Of more every guard goes home with one band that has to, and with two as well.
MOST_COUNTED: Final = _GUARDS + 2
_GUARD_AT: Final = 0.18
_GUARD_WRITES: Final = 4
# Not all at one angle, and hardly ever in two bands.
_GUARD_STEP_BYTES: Final = 64 << 10
# On either side.
_PROBES: Final = 24
_FEWEST_PROBES: Final = 4
_PROBE_BYTES: Final = 8 << 20
_PROBES_SHARE: Final = 1 / 24
_FINE: Final = 1 / 64
_FINE_BYTES: Final = 400 << 10
_MOST_STAGES: Final = 5
_KEPT_BYTES: Final = 256 << 20
_MARGIN: Final = 0.03
_APART_BYTES: Final = 192 << 20
_ORDER_AT: Final = (0.35, 0.6)
_OLD: Final = 4
_DIRTY: Final = 20
_FEWEST_DIRTY: Final = 6
_APART_STEP_BYTES: Final = 256 << 10
_HALF: Final = 0.5
_UNEVEN: Final = 0.6
_GOLDEN: Final = (5**0.5 - 1) / 2
_FEWEST_CAME: Final = 12


@dataclass(frozen=True)
class Full:
    """How full, in bytes of its log, a drive is when it begins to clean and when it stops."""

    high: Estimate
    low: Estimate
    step_bytes: float
    """From one mark to the next, by which the low one was seen; a pass may go below it by all of its bands but one."""


def waits_for_no_silence(filler: Filler, sight: Sight, full: Estimate, longest_ms: float) -> bool:
    """Whether it cleans while the host reads on, once the log holds a little more than ``full``.

    No read takes longer than ``longest_ms`` that waits for nothing.
    Where that is all of a log only those marks are home that a write had to wait for, and reads wait for nothing.
    A host late in one look brings marks home, too, and all else is measured otherwise then: two have to say it.
    """

    def unasked() -> bool:
        return _cleans_unasked(filler, sight, full, longest_ms)

    return unasked() and (unasked() or unasked())


def _cleans_unasked(filler: Filler, sight: Sight, full: Estimate, longest_ms: float) -> bool:
    """Whether marks came home while the host only read, or its reads waited for an operation of cleaning each.

    A drive that is quick has cleaned all of them a little above its mark: the log is filled in steps from below there,
    and between the two looks behind a step nothing is written.
    """
    bench, layout = filler.bench, filler.layout
    each = layout.space_bytes(BLOCK_BYTES) + layout.space_bytes(filler.size)
    count = int(np.clip(_HALF_FULL * full.value / each, _FEWEST_MARKS, _MOST_MARKS))
    marks = _spread(bench, count)
    near = filler.near(int(marks[0]))
    empty(near, full)
    marked = count * layout.space_bytes(BLOCK_BYTES)
    below, beyond = (near.writes(log_bytes - marked) for log_bytes in (full.low / _BEYOND, _BEYOND * full.high))
    fillers = near.offsets(max(beyond + 1, count))
    writes = marked_trace(marks, fillers, near.size)
    look = Trace.reads(np.concatenate([reference_places(bench), marks[apart(count)]]))
    slot = whole_blocks(_READS_SHARE * bench.capacity_bytes / _READS)
    reads = Trace.reads(scattered(_READS, aligned(_READS_AT * bench.capacity_bytes), _READS, slot))
    # As long as nothing is to be cleaned: the second look would come from memory, and the reads make that forget again.
    between = forgetting(bench, look.offsets, sight.kept)
    # A mark, a filler and their flushes each; then fillers.
    begun = 4 * count
    steps = 2 * (count + np.linspace(max(below, count), len(fillers), _STEPS + 1).astype(int))
    parts = [writes.part(slice(None, begun)), look, between]
    for first, last in zip([begun, *steps[:-1]], steps, strict=True):
        parts += [writes.part(slice(int(first), int(last))), look, between, look]
    parts += [reads, look]
    log = bench.play("unasked", reduce(add, parts))
    read = log.part(log.verbs == READ)
    ends = np.cumsum([np.sum(part.verbs == READ) for part in parts])
    looks = [read.part(slice(end - len(look), end)) for part, end in zip(parts, ends, strict=True) if part is look]
    away, *later = (angles_of(one, sight)[np.argsort(apart(count))] for one in looks)
    every = np.ones(count, bool)
    home = np.array([oldest_cleaned(sight.differ(angles, away), every)[0] for angles in later])
    # Twice before each step's next one, and a last time behind all those reads.
    came = max((home[1::2] - home[:-1:2]).max(), home[-1] - home[-2])
    # One that is quicker still is done before the second.
    late = max(float(np.mean(one.latency_ms > longest_ms)) for one in looks)
    return bool(came >= _CAME or late >= _LATE_SHARE)


def _spread(bench: Bench, count: int) -> Ints:
    """So many marks over a large part of the drive."""
    spacing = whole_blocks(_MARKS_SHARE * bench.capacity_bytes / count)
    return np.asarray(aligned(_MARKS_AT * bench.capacity_bytes) + np.arange(count) * spacing)


@in_one_go
def cleans_at_rest(filler: Filler, sight: Sight, full: Estimate) -> bool:
    """Whether a long silence brings home what is far below the mark: then nothing stays in the log to be looked at."""
    bench = filler.bench
    marks = _spread(bench, _RESTING)
    empty(filler.near(int(marks[0])), full)
    watch = Watch.over(bench, "at-rest", marks, sight)
    bench.play("at-rest-write", Trace.writes(marks, flush_every=1))
    before = twice(watch)
    bench.idle(_LONG_REST_NS)
    return bool(moved(watch, before).mean() > _HALF)


def fullness(filler: Filler, sight: Sight, high: Estimate) -> Full | None:
    """The low mark beside the high one."""
    scale = _BEYOND / FULL * high.high
    low = low_mark(filler, sight, scale, 0.0, Apart.widely(filler.bench.capacity_bytes))
    if low is None:
        return None
    # So much is written while it cleans already, and some of it perhaps behind the last pass.
    later = _BEYOND * high.high - high.low
    found = Estimate(low.value * scale - later / 2, low.low * scale - later, low.high * scale)
    return Full(high, found, (low.high - low.low) * scale)


@dataclass(frozen=True)
class Emptied:
    """A bench on which every longer silence empties the log, so that what comes then stays there."""

    bench: Bench
    filler: Filler
    high: Estimate

    @property
    def capacity_bytes(self) -> int:
        """Size of the drive."""
        return self.bench.capacity_bytes

    def play(self, name: str, trace: Trace) -> Log:
        """Play a trace."""
        return self.bench.play(name, trace)

    def idle(self, duration_ns: int) -> None:
        """Leave the drive alone for about so long, with an empty log."""
        if duration_ns >= _LONG_NS:
            empty(self.filler, self.high)
        self.bench.idle(duration_ns)

    def in_one_go(self, course: Callable[[], Found], undo: Callable[[Bench], None] | None = None) -> Found:
        """As the bench does."""
        return self.bench.in_one_go(course, undo)


@dataclass(frozen=True)
class Drain:
    """What became of watched blocks."""

    came: NDArray[np.bool_]
    """Which came home."""
    to_old_place: NDArray[np.bool_]
    """Which lie at the angle at which they lay before they were written."""

    @staticmethod
    def seen(watch: Watch, order: Ints, before: tuple[Floats, Floats]) -> Drain:
        """By two looks now; in the order in which blocks were asked for, of which the watch has them in ``order``."""
        now = twice(watch)
        came, to_old_place = np.empty((2, len(order)), bool)
        came[order] = moved(watch, before, now)
        to_old_place[order] = np.any([~watch.sight.differ(one, watch.home) for one in now], axis=0)
        return Drain(came, to_old_place)


@dataclass(frozen=True)
class Seen:
    """A band, and how many of the blocks that showed it came home, and to their old place."""

    band: Bands
    came: int
    to_old_place: int


def static_share(seen: list[Seen]) -> float | None:
    """How much of what was cleaned came to its old place; None where too little came for that."""
    came = sum(one.came for one in seen)
    return sum(one.to_old_place for one in seen) / came if came >= _FEWEST_CAME else None


class Draining(Protocol):
    """Lets a drive clean what was written first, and no more."""

    @property
    def bench(self) -> Bench:
        """What is drained."""
        ...

    @property
    def room_writes(self) -> int:
        """How many small ones there is room for behind what is drained."""
        ...

    def of(self, first: Ints, guards: Ints, watched: Ints) -> Drain:
        """What becomes of the watched blocks when the log is drained of ``first``.

        ``guards`` become dirty before the watched ones: they are what else a pass cleans that takes several bands.
        """
        ...


@dataclass(frozen=True)
class Drained:
    """Implements ``Draining`` of a log: it is filled a little beyond its mark."""

    filler: Filler
    sight: Sight
    full: Full

    @property
    def bench(self) -> Bench:
        """What is drained."""
        return self.filler.bench

    @property
    def room_writes(self) -> int:
        """How many small ones there is room for behind what is drained."""
        filler_bytes = self.filler.layout.space_bytes(self.filler.size)
        room = self.full.low.low - (_MARGIN + _BEYOND - 1) * self.full.high.value - 3 * filler_bytes
        return max(int(room / self.filler.layout.space_bytes(BLOCK_BYTES)), 0)

    @in_one_go
    def of(self, first: Ints, guards: Ints, watched: Ints) -> Drain:
        """What becomes of them."""
        bench, layout = self.filler.bench, self.filler.layout
        high, low = self.full.high, self.full.low
        filler = self._filler(watched)
        later = np.concatenate([guards, watched])
        drained = high.high - low.low + _MARGIN * high.value
        held = len(later) * layout.space_bytes(BLOCK_BYTES)
        empty(filler, high)
        order = np.argsort(watched)
        watch = Watch.over(bench, "drained", watched[order], self.sight)
        bench.play("drained-first", Trace.writes(first, flush_every=1))
        self._fill(filler, drained)
        bench.play("drained-later", Trace.writes(later, flush_every=1))
        before = twice(watch)
        self._fill(filler, _BEYOND * high.high - drained - held)
        bench.idle(_REST_NS)
        return Drain.seen(watch, order, before)

    def _filler(self, watched: Ints) -> Filler:
        """One place, well before what is watched or behind it, that no band of it is the filler's."""
        first = int(watched.min()) - _APART_BYTES
        if first < 0:
            first = int(watched.max()) + _APART_BYTES
        return Filler(self.filler.bench, self.filler.layout, Room(aligned(first), 1, first))

    def _fill(self, filler: Filler, log_bytes: float) -> None:
        offsets = np.repeat(filler.offsets(1), filler.writes(log_bytes) + 1)
        filler.bench.play("drained-fill", Trace.writes(offsets, filler.size, flush_every=1))


def most_dirty_first(drained: Draining) -> bool | None:
    """Whether a band with many pieces goes before older ones with one each; None where nothing was seen to go."""
    bench = drained.bench
    dirty = min(_DIRTY, drained.room_writes - _GUARDS - _OLD)
    if dirty < _FEWEST_DIRTY:
        return None
    old, new = (aligned(share * bench.capacity_bytes) for share in _ORDER_AT)
    # Several of either, for one may come at its old angle by chance, and others that lie beside it as well.
    watched = np.append(old + np.arange(1, _OLD + 1) * _APART_STEP_BYTES, new + np.arange(dirty) * _APART_STEP_BYTES)
    came = drained.of(np.array([old]), _guards(bench, 1), watched).came
    return bool(came[_OLD:].mean() > _HALF) if came.any() else None


def bands_per_pass(drained: Draining, *, most_dirty_first: bool) -> int | None:
    """How many bands a pass cleans, as far as guards go home that need not; None where there is no room for them.

    Where the oldest go first, that is the filler's, and then those that have to go: one, and then two.
    """
    bench = drained.bench
    if drained.room_writes < _GUARDS * _GUARD_WRITES:
        return None
    first = np.array([aligned(share * bench.capacity_bytes) for share in _ORDER_AT])
    if most_dirty_first:
        dirtiest = first[0] + np.arange(_GUARD_WRITES + 2) * _STEP_BYTES
        seen = int(_guards_came(drained, dirtiest).sum())
        # Where all of them go, it is not the pass that ends there.
        return seen + 1 if seen < _GUARDS else None
    # All of one may lie at the angle of their places in the log; it went before the next.
    with_one, with_two = (
        oldest_cleaned(_guards_came(drained, old), np.ones(_GUARDS, bool))[0] for old in (first[:1], first)
    )
    found = [
        count
        for count in range(1, MOST_COUNTED + 1)
        if all(-needed % count == seen for needed, seen in ((2, with_one), (3, with_two)))
    ]
    return found[0] if found else None


def _guards_came(drained: Draining, first: Ints) -> NDArray[np.bool_]:
    """Which of the guards go home with what has to; they become dirty one after the other."""
    guards = _guards(drained.bench, _GUARD_WRITES)
    against_look = _against_look(guards)
    order = np.append(np.arange(_GUARDS) * _GUARD_WRITES, against_look[against_look % _GUARD_WRITES > 0])
    came = np.empty(len(guards), bool)
    came[order] = drained.of(first, np.zeros(0, np.int64), guards[order]).came
    return np.asarray(came.reshape(_GUARDS, _GUARD_WRITES).any(axis=1))


def band_at(drained: Draining, share: float, *, most_dirty_first: bool) -> Seen | None:
    """The band at ``share`` of the capacity: all of it comes home with what was written there first.

    None where there is no room for enough that could come, or the band is longer than what is watched.
    """
    half = min(_PROBES * _PROBE_BYTES, aligned(_PROBES_SHARE * drained.bench.capacity_bytes))
    if found := _band_within(drained, share, half, most_dirty_first=most_dirty_first):
        return found
    # As far again: to begin with that would take two small bands for one.
    found = _band_within(drained, share, 2 * half, most_dirty_first=most_dirty_first)
    return found if found and found.band.size_bytes.value > half else None


def _band_within(drained: Draining, share: float, half: int, *, most_dirty_first: bool) -> Seen | None:
    """The same, looked for at so many bytes on either side."""
    bench = drained.bench
    # Where the dirtiest go first none of what is watched is to be dirtier than the guards, nor they than the band.
    each = _GUARDS if most_dirty_first else 0
    count = min((drained.room_writes - _GUARDS - each) // (2 + each), _PROBES)
    if count < _FEWEST_PROBES:
        return None
    centre = aligned(np.clip(share * bench.capacity_bytes, half, bench.capacity_bytes - half - _KEPT_BYTES))
    guards = _guards(bench, count + 1 if most_dirty_first else 1, (centre - half, centre + half))
    first = centre + np.arange(count + 2 if most_dirty_first else 1) * _STEP_BYTES
    # What is known to be of the band below and above, and what is not.
    inside, outside = [centre, int(first[-1])], [centre - half, int(first[-1]) + half]
    # At even steps of about a track all would lie at one angle, and that may be the log's.
    uneven = _UNEVEN * (np.arange(count)[::-1] * _GOLDEN % 1.0 - (np.arange(count) < count - 1) * _HALF)
    steps = (np.arange(1, count + 1) + uneven) / count
    all_came = to_old_place = 0
    for number in range(_MOST_STAGES):
        apart_bytes = [beyond - of for of, beyond in zip(inside, outside, strict=True)]
        if max(np.abs(apart_bytes)) < max(_FINE * (outside[1] - outside[0]), _FINE_BYTES):
            break
        sides = [at_blocks(of + steps * way) for of, way in zip(inside, apart_bytes, strict=True)]
        watched = np.concatenate(sides)
        order = _against_look(watched)
        drain = drained.of(first, guards, watched[order])
        came = np.empty(len(watched), bool)
        came[order] = drain.came
        all_came += int(drain.came.sum())
        to_old_place += int((drain.came & drain.to_old_place).sum())
        for side, places in enumerate(sides):
            known = oldest_cleaned(came[side * count :][:count], np.ones(count, bool))[0]
            if known < count:
                outside[side] = int(places[known])
            elif number:
                # By chance the last one had seemed to stay.
                beyond = outside[side] + apart_bytes[side]
                outside[side] = min(max(beyond, 0), bench.capacity_bytes - _KEPT_BYTES)
            else:
                return None
            inside[side] = int(places[known - 1]) if known else inside[side]
    below, above = ((of + beyond) / 2 for of, beyond in zip(inside, outside, strict=True))
    size = Estimate.around(above - below, (outside[1] - inside[1] + inside[0] - outside[0]) / 2)
    return Seen(Bands(size, int(below)), all_came, to_old_place)


def _against_look(places: Ints) -> Ints:
    """The order of places reverse to that of a look: in its own some that lie side by side in the log come at once."""
    return np.asarray(np.argsort(places)[apart(len(places))])


def _guards(bench: Bench, writes: int, watched: tuple[int, int] | None = None) -> Ints:
    """So many small writes to each of some bands all over the drive, but for where these bytes are watched."""
    begin, end = (max(watched[0] - 2 * _APART_BYTES, 0), watched[1] + 2 * _APART_BYTES) if watched else (0, 0)
    firsts = (np.arange(_GUARDS) + _GUARD_AT) / _GUARDS * (bench.capacity_bytes - (end - begin))
    firsts[firsts >= begin] += end - begin
    return np.asarray((at_blocks(firsts[:, None]) + np.arange(writes) * _GUARD_STEP_BYTES).ravel())


def empty(filler: Filler, full: Estimate) -> None:
    """Leave one place in the log, and let the drive come to rest."""
    filler.flush_out(full.high)
    filler.bench.idle(_REST_NS)
