"""Fills of a drive that cleans at once, behind ballast: how many writes it has room for, and what a pass makes.

Bands of ballast have as many writes each, and are cleaned before all others. So what they leave, and how much room a
pass makes, is counted in bands.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from shakedown.fit.cache import Cache, gathered_bytes, overwriting, packet_writes, space_bound
from shakedown.fit.cleaning.ballast import Ballasted
from shakedown.fit.estimate import Estimate
from shakedown.fit.log import fill
from shakedown.fit.log.turns import apart
from shakedown.fit.place import aligned, scattered
from shakedown.fit.trace import BLOCK_BYTES, Trace, in_one_go

_FILL_AT: Final = 0.3
_FILL_SHARE: Final = 0.6
_BEYOND_SPACE: Final = 1.3
_FEWEST_FILLED: Final = 5000
_FILLED_BANDS: Final = 4000
_PASS_OF_BAND: Final = 1.5
_USUAL_PASS_MS: Final = 4000.0

# Of ballast: bands, and writes to each: where the dirtiest go first, more than a fill brings to any.
_DIRTY_BANDS: Final = 500
_DIRTY_WRITES: Final = 30
_SOME_WRITES: Final = 16
_MORE_BALLAST: Final = 1.3
_HALF: Final = 0.5

# Of passes over the dirtiest, just before all is full.
_FAR_DIRTIER: Final = 4.0
_MOST_DIRTIEST: Final = 200
_DIRTIEST_SHARE: Final = 0.2
_FEWEST_DIRTIEST: Final = 30
_NEARLY_FULL: Final = 0.75
_OVERFULL: Final = 1.3
_CHUNK: Final = 2999
_ENOUGH_STALLS: Final = 8
_PART_OF_PASS: Final = 0.4
_WHOLE: Final = 0.25
_FEWER: Final = 0.1


def find_entries(ballasted: Ballasted, cache: Cache) -> None:
    """How many small writes have room, and whether packets count."""
    bench = ballasted.bench
    first, room = aligned(_FILL_AT * bench.capacity_bytes), aligned(_FILL_SHARE * bench.capacity_bytes)
    # Where the dirtiest go first nothing is to be written that is dirtier than ballast: all over the drive.
    by_dirt = cache.goes_by_dirt or 0.5 not in cache.bands
    region = room if by_dirt else int(cache.bands[0.5].size_bytes.value)
    # An operation takes less than half of what a band does, and a forced pass all of it at least.
    band = 2 * cache.turn_ms * cache.longest_band_bytes / cache.layout.track_bytes
    pass_ms = _PASS_OF_BAND * max(cache.band_ms.value if cache.band_ms else 0.0, band)
    # All bands that a fill makes dirty go home behind it.
    dirty = room / cache.longest_band_bytes if by_dirt and cache.bands else _FILLED_BANDS
    settle_ns = int(_PASS_OF_BAND * dirty * (pass_ms or _USUAL_PASS_MS) * 1e6)
    cache.fill_order = fill.Order((first,), room, region, settle_ns, pass_ms, rewritten=False)
    # More than there is space for only pass by.
    room_writes = (cache.bytes_found or np.inf) / gathered_bytes(cache)
    cache.small = filled(ballasted, cache, int(min(_BEYOND_SPACE * room_writes, fill.MOST_WRITES)))
    cache.pass_bands = pass_bands(ballasted, cache)
    met = cache.small.writes
    if met is None or packet_writes(cache) == 1 or cache.length is None or space_bound(cache, met):
        return
    cache.overwriting = overwriting(cache, met)
    if cache.overwriting:
        cache.overwritten = filled(ballasted, cache, cache.overwriting.most, cache.overwriting.again)


def filled(ballasted: Ballasted, cache: Cache, most: int, again: int = 0) -> fill.Fill:
    """A fill behind ballast, as much of which counts as is not home when it stalls."""
    bands, writes = _DIRTY_BANDS, ballast_writes(cache)
    met, home = _filled(ballasted, cache, bands, most, again)
    more = int(_MORE_BALLAST * home)
    if met.writes and home > bands and more * writes < _HALF * met.writes:
        bands = more
        met, home = _filled(ballasted, cache, bands, most, again)
    if met.writes is None or met.writes < _FEWEST_FILLED:
        # An operation of cleaning takes as long as a small band: that is no stall.
        return replace(met, writes=None)
    # What went home by then has no room any more.
    left = round(max(bands - home, 0.0) * writes)
    return replace(met, writes=met.writes + left, some_home=home > bands)


@in_one_go
def _filled(ballasted: Ballasted, cache: Cache, bands: int, most: int, again: int) -> tuple[fill.Fill, float]:
    """The fill, and how many bands are home when it ends."""
    assert cache.fill_order
    assert cache.journal
    ballasted.clean()
    ballasted.put("fill-ballast", ballasted.band_by_band(bands, ballast_writes(cache)))
    order = cache.fill_order
    met = fill.fill(ballasted.bench, "fill-small", order, flush_every=0, known=cache.journal, most=most, again=again)
    return met, bands if cache.band_ms is None else met.ms / cache.band_ms.value


def ballast_writes(cache: Cache) -> int:
    """To each band before a fill."""
    return whole_packets(cache, _DIRTY_WRITES if cache.goes_by_dirt else _SOME_WRITES)


def whole_packets(cache: Cache, writes: float) -> int:
    """At least so many, such that no packet has those of another band as well."""
    packet = packet_writes(cache)
    return -(-int(writes) // packet) * packet


def pass_bands(ballasted: Ballasted, cache: Cache) -> int | None:
    """Bands of a forced pass, from how many writes it makes room for: those of as many bands of ballast."""
    small = cache.small
    if small is None or small.writes is None or small.some_home:
        return None
    # For room in the log it is the oldest that help.
    if cache.goes_by_dirt and not space_bound(cache, small.writes):
        return dirtiest_of_pass(ballasted, cache, small.writes)
    # The oldest are ballast.
    return whole_bands(small.passes_apart, ballast_writes(cache))


@in_one_go
def dirtiest_of_pass(ballasted: Ballasted, cache: Cache, room_writes: int) -> int | None:
    """The same where the dirtiest go first: some bands get more writes than any other, just before all is full."""
    order, bench = cache.fill_order, ballasted.bench
    assert order
    others = room_writes * cache.longest_band_bytes / order.room_bytes
    each = whole_packets(cache, max(2 * _DIRTY_WRITES, _FAR_DIRTIER * others))
    bands = int(min(_MOST_DIRTIEST, _DIRTIEST_SHARE * room_writes / each))
    if bands < _FEWEST_DIRTIEST:
        return None
    begun, most = int(_NEARLY_FULL * room_writes), int(_OVERFULL * room_writes)
    everywhere = order.firsts[0] + scattered(most, 0, order.room_bytes // BLOCK_BYTES, BLOCK_BYTES)
    ballasted.clean()
    bench.play("pass-fill", Trace.writes(everywhere[:begun]))
    ballasted.put("pass-dirtiest", ballasted.band_by_band(bands, each))
    cycle, stalls = np.zeros(0), np.zeros(0, int)
    while len(stalls) <= _ENOUGH_STALLS and begun < most:
        log = bench.play("pass-full", Trace.writes(everywhere[begun : begun + _CHUNK]))
        begun, cycle = begun + _CHUNK, np.append(cycle, log.cycle_ms)
        stalls = np.flatnonzero(cycle > _PART_OF_PASS * order.pass_ms)
    bench.idle(order.settle_ns)
    return whole_bands(apart(cycle, stalls), each)


def whole_bands(writes: Estimate | None, each: int) -> int | None:
    """How many bands of so many writes each; None where it is no whole number, or passes have others."""
    if writes is None:
        return None
    bands, low = writes.value / each, writes.low / each
    # Some have one band more: that which was under way.
    whole = round(bands)
    alike = abs(bands - whole) < _WHOLE and bands - low < max(_WHOLE, _FEWER * whole)
    return whole if whole and alike else None
