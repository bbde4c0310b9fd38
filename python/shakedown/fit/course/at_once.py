"""What is found of a drive that cleans whatever it holds, and at once.

Behind ballast what is written stays in the log for a while. Without any, a single write to a drive that has nothing to
clean takes as long as its seek and its visit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from shakedown.fit.cache import Cache, gathered_bytes
from shakedown.fit.cleaning import unasked
from shakedown.fit.cleaning.ballast import CLEAN_NS, SHARE, Ballasted
from shakedown.fit.cleaning.bands import Bands
from shakedown.fit.cleaning.marks import moved, twice
from shakedown.fit.cleaning.pressure import Drain
from shakedown.fit.course import pressed
from shakedown.fit.course.behind_ballast import find_entries
from shakedown.fit.course.log_layout import destaged, find_layout
from shakedown.fit.drive.dram import Bursts
from shakedown.fit.drive.seek import Surface, between_known
from shakedown.fit.drive.whereabouts import Sight, Watch
from shakedown.fit.estimate import Estimate
from shakedown.fit.facts import Facts
from shakedown.fit.log import append as appends
from shakedown.fit.log import streams
from shakedown.fit.log.length import Filler, Length
from shakedown.fit.log.placement import Place
from shakedown.fit.place import aligned
from shakedown.fit.trace import BLOCK_BYTES, Bench, Ints, Log, Tell, Trace, in_one_go

_LEAST_BYTES: Final = 500_000_000_000

# Where the cache lies: single writes to one place, with the heads coming from several, some times each.
_HOME: Final = 0.42
_FROM: Final = (0.02, 0.25, 0.5, 0.75, 0.98)
_REPEATS: Final = 3
_STEP_BYTES: Final = 1 << 20
_EDGE: Final = 0.12
_PLACES: Final = 101

# Bands with a piece each, and pieces of a band that is dirtied later; which of both comes home in looks so far apart.
_OLD: Final = 40
_DIRTY: Final = 12
_FAR_BYTES: Final = 64 << 20
_BALLAST_BANDS: Final = 60
_LOOKS: Final = 400
_SHORT_NS: Final = 300_000_000
_ORDER_AT: Final = (0.5, 0.8)
_HALF: Final = 0.5

# What lies before and behind what is drained, and whose turn it is then.
_ROOM_WRITES: Final = 250
_BEHIND_BANDS: Final = 60
_NEXT_AT: Final = 0.8
_NEXT_BANDS: Final = 6
_SURE: Final = 2
_BEHIND_AT: Final = 0.25

# More than what lies side by side in a band, where the dirtiest go first.
_MANY_WRITES: Final = 250
_FEW_WRITES: Final = 2
_AT_MOST: Final = 1.1

# Ballast behind which a log is filled: so many bands, until one outlasts it, and writes to each.
_LENGTH_BANDS: Final = (100, 400, 1600, 6400)
_LENGTH_WRITES: Final = 2
_PER_BAND: Final = 8
_INSIDE: Final = 0.15
# Of one of several logs: of five drawn drives one was off by 6.6 %.
_OF_SEVERAL: Final = 0.05
# Before the marks that every look has.
_AT_END_BYTES: Final = 512 << 20
# What the way of the heads to the log is known to.
_WAY_TURNS: Final = 0.15
_STALLED: Final = 8.0
_JOURNAL_OFF: Final = 0.3

_COLLECTED_SHARE: Final = 0.4


def can_be_ballasted(facts: Facts) -> bool:
    """Whether ballast outlasts what is looked at behind it: enough bands, memory that gathers it, and a log on disk."""
    return facts.capacity_bytes >= _LEAST_BYTES and facts.bursts.write_back and not facts.in_flash_at_once


def find(bench: Bench, facts: Facts, sight: Sight, tell: Tell) -> Cache:
    """All of it."""
    ballasted = Ballasted(bench, _FEW_WRITES)
    once = Once(ballasted)
    tell("where the cache lies")
    where, write_ms = place(once, facts.surface, facts.seeks)
    cache = Cache(where, facts.bursts.writes if facts.bursts.write_back else 1, sight.turn_ms)
    cache.by_pressure = True
    tell("which bands are cleaned first, behind ballast: it takes days on a real drive")
    cache.most_dirty_first = most_dirty_first(ballasted, sight)
    pressed.find_bands(cache, Drained(ballasted, sight), facts.track_bytes, tell)
    ballasted.band_bytes = _AT_MOST * cache.longest_band_bytes or ballasted.band_bytes
    if 0.5 in cache.bands:
        tell("time to clean a band")
        cache.band_ms = cleaned(ballasted, facts, cache.bands[0.5]).band_ms()
    ballasted.writes = _MANY_WRITES if cache.goes_by_dirt else _FEW_WRITES
    tell("streams")
    cache.streams = ballasted.in_one_go(lambda: streams.measure(ballasted, sight))
    if cache.streams and cache.streams.min_request_bytes.value <= BLOCK_BYTES:
        # Not even random writes would be cached then: what was written went home before it was looked at.
        cache.streams, cache.streams_doubted = None, True
    tell("space of a cached write")
    ballasted.in_one_go(lambda: find_layout(ballasted, facts, cache, sight, CLEAN_NS))
    tell("cost of a cached write")
    cache.append = cost(once, facts, cache, write_ms)
    tell("journal")
    ballasted.clean()
    cache.journal = ballasted.in_one_go(lambda: Filler(ballasted, cache.layout).journal(0.0))
    tell("length of the log")
    cache.length = length(ballasted, cache)
    tell("what memory writes at once")
    ballasted.clean()
    cache.destage_bytes = ballasted.in_one_go(lambda: destaged(ballasted, facts, cache))
    tell("fill with small writes, as fast as they are taken")
    find_entries(ballasted, cache)
    if cache.band_ms and cache.small:
        tell("what a piece takes to be collected")
        taken = cache.small.writes or cache.small.written
        write_ms = cache.small.ms / max(taken, 1)
        space = unasked.Space(gathered_bytes(cache), cache.layout.track_bytes, int(_COLLECTED_SHARE * taken), write_ms)
        cache.collect_turns = cleaned(ballasted, facts, cache.bands[0.5]).collect_turns(cache.band_ms, space)
    return cache


def cleaned(ballasted: Ballasted, facts: Facts, band: Bands) -> unasked.Cleaned:
    """What tells how long cleaning takes."""
    return unasked.Cleaned(ballasted, band, facts.turn_ms.value, facts.longest_read_ms)


def cost(once: Once, facts: Facts, cache: Cache, write_ms: float) -> appends.Append:
    """What visits cost, where a single small write takes ``write_ms`` without the way of the heads to the log."""
    at_log = {"outer": 0, "inner": facts.capacity_bytes - _AT_END_BYTES}
    heads_at = at_log.get(cache.place, aligned(_HOME * facts.capacity_bytes))
    single = visits(once, facts.bursts, heads_at, write_ms - facts.overhead_ms)
    found = appends.estimate(single, cache.turn_ms, cache.layout, facts.overhead_ms, facts.link.rate_mb_s.value)
    turns = found.append_turns
    known = Estimate(turns.value, max(turns.low - _WAY_TURNS, 0.0), turns.high + _WAY_TURNS)
    return replace(found, append_turns=known)


@in_one_go
def length(ballasted: Ballasted, cache: Cache) -> Length | None:
    """The length of the log: large writes to one place, behind ballast that outlasts them, until one has to wait.

    What it waits for is that all bands are cleaned of which something lies where the log was begun.
    """
    bench, layout = ballasted.bench, cache.layout
    assert cache.journal
    # All of it in one log, of several: the one of which it is known what a write takes.
    ends = np.array([0.0, *cache.borders, float(bench.capacity_bytes)])
    log_at = int(np.searchsorted(cache.borders, cache.marks_at * bench.capacity_bytes))
    begin, width = ends[log_at], ends[log_at + 1] - ends[log_at]
    first = (begin + _INSIDE * width) / bench.capacity_bytes
    over = min(SHARE, _HALF * width / bench.capacity_bytes)
    filler = Filler(bench, layout, large=True).near(aligned(begin + (1 - _INSIDE) * width))
    space = layout.space_bytes(filler.size)
    for bands in _LENGTH_BANDS:
        ballasted.clean()
        places = ballasted.places(bands, _LENGTH_WRITES, first, over)
        ballasted.put("length-ballast", places)
        held = len(places) * gathered_bytes(cache)
        log = bench.play(
            "length", Trace.writes(np.repeat(filler.offsets(1), _PER_BAND * bands), filler.size, flush_every=1)
        )
        cycle = log.cycle_ms
        usual = float(np.median(cycle[: max(len(cycle) // 8, 8)]))
        is_journal = np.abs(cycle - usual - cache.journal.ms) < _JOURNAL_OFF * cache.journal.ms
        late = np.flatnonzero((cycle > _STALLED * usual) & ~is_journal)
        if len(late) and late[0] > 8:
            # Behind each pass a visit records that as well.
            recorded = 0.0 if cache.band_ms is None else float(cycle[: late[0]].sum()) / cache.band_ms.value
            recorded *= layout.visit_bytes
            met = held + float(late[0]) * space + recorded / 2
            share = layout.error_share(filler.size) + (_OF_SEVERAL if cache.regions > 1 else 0.0)
            error = held / 2 + space + share * met + recorded / 2
            return Length(
                Estimate(met, met - error, met + error), float(cycle[late[0]]), 1.0, np.inf, 0.0, 1, 1, cache.journal
            )
    return None


@dataclass(frozen=True)
class Once:
    """Writes to a drive that has nothing to clean, one at a time."""

    ballasted: Ballasted

    @property
    def bench(self) -> Bench:
        """Without ballast."""
        return self.ballasted.bench

    def write(self, heads_at: int, trace: Trace) -> Log:
        """The log of these writes, where heads come from a place."""
        self.ballasted.clean()
        self.bench.play("once-heads", Trace.reads(np.array([heads_at])))
        return self.bench.play("once", trace)


def place(once: Once, surface: Surface, seeks: dict[float, Estimate]) -> tuple[Place, float]:
    """Where single durable writes lead the heads from several places, and what they take without that, in ms."""
    capacity_bytes = once.bench.capacity_bytes
    home = aligned(_HOME * capacity_bytes)
    took = np.array(
        [
            np.median(
                [
                    once.write(
                        aligned(share * capacity_bytes) + number * _STEP_BYTES,
                        Trace.writes(np.array([home + number * _STEP_BYTES]), flush_every=1),
                    ).cycle_ms
                    for number in range(_REPEATS)
                ]
            )
            for share in _FROM
        ]
    )
    strokes = np.array([surface.stroke(share * capacity_bytes) for share in _FROM])
    tried = np.linspace(0, 1, _PLACES)
    # What the visit itself takes is the same from everywhere.
    rest = [took - between_known(seeks, np.abs(strokes - at)) for at in tried]
    best = int(np.argmin([np.std(one) for one in rest]))
    at = float(tried[best])
    return "outer" if at < _EDGE else "inner" if at > 1 - _EDGE else "spread", float(np.mean(rest[best]))


@in_one_go
def most_dirty_first(ballasted: Ballasted, sight: Sight) -> bool | None:
    """Whether a band with many pieces goes before older ones with one each; None where nothing was seen to go."""
    bench = ballasted.bench
    old_at, new_at = (aligned(share * bench.capacity_bytes) for share in _ORDER_AT)
    step = min(_FAR_BYTES, aligned(bench.capacity_bytes / 5 / _OLD))
    old, new = old_at + np.arange(_OLD) * step, new_at + np.arange(_DIRTY) * (256 << 10)
    watched = np.append(old, new)
    ballasted.clean()
    watch = Watch.over(bench, "at-once-order", watched, sight)
    first = ballasted.places(_BALLAST_BANDS, 2 * _DIRTY)
    ballasted.put("order-ballast", first)
    ballasted.put("order-old", old)
    ballasted.put("order-new", new)
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
    """Implements ``pressure.Draining``: looks before it has cleaned what lies between what was first and the rest."""

    ballasted: Ballasted
    sight: Sight
    room_writes: int = _ROOM_WRITES

    @property
    def bench(self) -> Bench:
        """Without ballast."""
        return self.ballasted.bench

    @in_one_go
    def of(self, first: Ints, guards: Ints, watched: Ints) -> Drain:
        """What becomes of the watched blocks when what was written ``first`` has been cleaned.

        The dirtiest are those before it, then itself, and those behind it: in either order they go in this one.
        """
        bench, ballasted = self.bench, self.ballasted
        ballasted.clean()
        order = np.argsort(watched)
        watch = Watch.over(bench, "drained", watched[order], self.sight)
        # Whether it is their turn shows in bands that come next, for what lies side by side comes with one another.
        next_ones = ballasted.places(_NEXT_BANDS, len(first), _NEXT_AT)
        front = Watch.over(bench, "drained-next", next_ones[:_NEXT_BANDS], self.sight)
        by_dirt = len(first) > 1
        before = ballasted.places(_BALLAST_BANDS, len(first) + len(watched) + 1 if by_dirt else 1)
        behind = ballasted.places(_BEHIND_BANDS, len(watched) // 2 + 1 if by_dirt else 1, _BEHIND_AT)
        for places in (before, first, next_ones, guards, behind, watched):
            if len(places):
                ballasted.put("drained-write", places)
        then, front_then = twice(watch), twice(front)
        for _ in range(_LOOKS):
            if moved(front, front_then).sum() >= _SURE:
                break
            bench.idle(_SHORT_NS)
        return Drain.seen(watch, order, then)


def visits(once: Once, bursts: Bursts, heads_at: int, least_ms: float) -> appends.Visits:
    """What single visits to the log take, of groups of small writes and of one of each size.

    All from one place, and the way from there is as long as a small one takes more than ``least_ms``.
    """
    capacity_bytes = once.bench.capacity_bytes
    first, number = aligned(_HOME * capacity_bytes), 0
    groups = [group for group in appends.GROUPS if group <= appends.most_at_once(bursts)]

    def took(count: int, size: int) -> float:
        nonlocal number
        each = []
        for _ in range(_REPEATS):
            places = first + (number * 64 + np.arange(count)) * (64 << 10) % (capacity_bytes // 16)
            number += 1
            log = once.write(heads_at + number * _STEP_BYTES, Trace.writes(places, size, flush_every=count))
            each.append(appends.flushed_ms(log, count))
        return float(np.median(each))

    group_ms = np.array([took(group, BLOCK_BYTES) for group in groups])
    size_ms = np.array([took(1, size) for size in appends.SIZES])
    way_ms = max(group_ms[0] - least_ms, 0.0)
    sizes = np.array(appends.SIZES)
    return appends.Visits(np.array(groups), group_ms - way_ms, sizes, size_ms - way_ms, bursts.write_back)
