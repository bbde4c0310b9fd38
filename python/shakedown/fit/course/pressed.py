"""What is found of a lazy drive that cleans without waiting for silence, once its log holds more than its high mark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from shakedown.fit.cache import Cache, gathered_bytes, packet_writes
from shakedown.fit.cleaning import begins, marks, outrun, pressure
from shakedown.fit.cleaning.bands import SHARES
from shakedown.fit.course.fillers import SETTLE_NS, filler_in_band, filler_of
from shakedown.fit.drive.dram import Bursts
from shakedown.fit.drive.whereabouts import Sight
from shakedown.fit.log import length, streams
from shakedown.fit.trace import Bench, Tell

_ROOM_SHARE: Final = 0.9
_FEWEST_TRACKS: Final = 1.5
_FAR_MORE: Final = 1.5

TrackBytes = Callable[[float], float]


def find(bench: Bench, cache: Cache, sight: Sight, track_bytes: TrackBytes, bursts: Bursts, tell: Tell) -> None:
    """All of it, put down in ``cache``; ``track_bytes`` is that of a track at a share of the capacity.

    What was met is the high mark of such a drive, and its log is longer.
    """
    assert cache.length
    filler, met = filler_of(bench, cache), cache.length
    cache.length, cache.begins_at = None, met.bytes_found
    tell("does it clean in a long silence")
    cache.contradicts = pressure.cleans_at_rest(filler, sight, met.bytes_found)
    if cache.contradicts:
        return
    fits = _find_with_empty_log(cache, sight, filler, met, tell)
    tell("low mark")
    full = pressure.fullness(filler, sight, met.bytes_found)
    # Marks that meet contradict each other: what the log holds was cleaned while it was looked at.
    cache.contradicts = full is not None and full.low.high >= full.high.low
    if full is None or cache.contradicts:
        return
    _find_drained(cache, pressure.Drained(filler, sight, full), track_bytes, tell)
    cache.streams_doubted &= not (fits and cache.most_dirty_first is False)
    if 0.5 not in cache.bands:
        return
    band = cache.bands[0.5]
    tell("length of the log")
    large = replace(filler_in_band(bench, cache), large=True)
    passed = cache.pass_bands or pressure.MOST_COUNTED
    whole = outrun.whole_length(large, band, sight.turn_ms, track_bytes(0.5), full, passed)
    if whole is None or whole.value <= full.high.value:
        return
    cache.length = replace(met, bytes_found=whole)
    cache.marks = marks.Marks(full.high.over(whole), full.low.over(whole), full.step_bytes / whole.value)
    tell("fill with small writes, each durable")
    cache.begins = found = begins.begins(filler, band, full.high, sight.turn_ms, packet_writes(cache), bursts)
    # Where durable ones take hardly more of the log, what makes it full is space, or is met with either.
    room = full.high.low / gathered_bytes(cache)
    if found.count is None and found.least and bursts.write_back and room > _FAR_MORE * found.least:
        tell("fill with small writes, as fast as they are taken")
        cache.begins = replace(found, gathered=begins.gathered(filler, band, full.high, sight.turn_ms))


def _find_with_empty_log(cache: Cache, sight: Sight, filler: length.Filler, met: length.Length, tell: Tell) -> bool:
    """Journal and streams again: where the log was cleaned under way what was seen is neither.

    Whether there is room for a long run below the mark, behind what is older.
    """
    tell("journal")
    filler.flush_out(met.bytes_found.high)
    filler.bench.idle(SETTLE_NS)
    cache.journal = filler.journal(_ROOM_SHARE * met.bytes_found.low)
    cache.streams_doubted = True
    room_bytes = _ROOM_SHARE * met.bytes_found.low
    if room_bytes <= streams.LONG_RUN_BYTES:
        return False
    tell("streams, with an empty log")
    cache.streams = streams.measure(pressure.Emptied(filler.bench, filler, met.bytes_found), sight)
    run_bytes = _run_bytes(cache)
    # What was written last may go home first: then a run is to leave as much room again.
    cache.streams_doubted = met.bytes_found.low < 2 * run_bytes
    return room_bytes > run_bytes


def _run_bytes(cache: Cache) -> float:
    """What a long run takes of the log as far as it is no stream: of small requests each packet may take far more."""
    if cache.streams is None:
        return streams.LONG_RUN_BYTES
    request = cache.streams.min_request_bytes.value
    shared = max(min(packet_writes(cache), cache.layout.packet_bytes // request), 1)
    each = (cache.layout.space_bytes(int(request)) - cache.layout.visit_bytes) / shared
    return streams.LONG_RUN_BYTES * max(each / request, 1.0)


def _find_drained(cache: Cache, drained: pressure.Drained, track_bytes: TrackBytes, tell: Tell) -> None:
    """What goes home where a log is drained of what was written first."""
    tell("order of cleaning")
    cache.most_dirty_first = pressure.most_dirty_first(drained)
    cache.pass_bands = pressure.bands_per_pass(drained, most_dirty_first=cache.goes_by_dirt)
    find_bands(cache, drained, track_bytes, tell)


def find_bands(cache: Cache, drained: pressure.Draining, track_bytes: TrackBytes, tell: Tell) -> None:
    """Bands at several places, and whether they move."""
    seen: dict[float, pressure.Seen] = {}
    for share in SHARES:
        tell(f"bands at {share:.0%}")
        found = pressure.band_at(drained, share, most_dirty_first=cache.goes_by_dirt)
        # No band is a track or less: what came home then was the blocks that had to, and no more.
        if found is not None and found.band.size_bytes.value > _FEWEST_TRACKS * track_bytes(share):
            seen[share] = found
    cache.bands = {share: found.band for share, found in seen.items()}
    # Bands are cleaned one by one far from each other: one that moves comes to tracks of another length.
    cache.static_share, cache.far_would_show = pressure.static_share(list(seen.values())), True
