"""The course of a characterisation: everything is found in its order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from shakedown.fit.cache import (
    Cache,
    counts_packets,
    entries_end,
    overwriting,
    packet_writes,
    says_all,
    single_is_quick,
    single_space_bound,
    space_bound,
)
from shakedown.fit.cleaning import (
    ballast,
    band_time,
    band_tracks,
    bands,
    forced,
    marks,
    moving,
    order,
    pressure,
    ration,
)
from shakedown.fit.course import at_once, behind_ballast, pressed
from shakedown.fit.course.fillers import (
    SETTLE_BANDS,
    SETTLE_NS,
    bands_ns,
    emptying,
    filler_in_band,
    filler_of,
    pressing,
    settling_ns,
)
from shakedown.fit.course.log_layout import destaged, find_layout
from shakedown.fit.drive import dram, parking, platters, rates, rotation, seek, settle
from shakedown.fit.drive.whereabouts import Moved, Sight, left_at_once, most_moved
from shakedown.fit.estimate import Estimate
from shakedown.fit.facts import MOVED, Facts, surface_of
from shakedown.fit.log import append as appends
from shakedown.fit.log import counts, ebb, fill, flash, length, streams
from shakedown.fit.log.placement import Place, place_of_cache
from shakedown.fit.place import aligned
from shakedown.fit.trace import BLOCK_BYTES, Bench, Tell, whole_blocks

_REGIONS: Final = 512
_BAND_BYTES: Final = 48 << 20
# Where none is measured: what the drives have that were looked into by others.
_PACKET_BYTES: Final = 524_288
# What a drive with a cache may wait for before it cleans, where that did not show.
_UNKNOWN_REST_MS: Final = 3000.0
_MORE_THAN_ENOUGH: Final = 1.2
# How far from where one log ends and the next begins: that is known to a part of a hundredth of the stroke.
_INSIDE: Final = 0.15
_LONG_SETTLE_NS: Final = 60_000_000_000
_MARKED_BANDS: Final = 2 * length.MARKS // length.MARKS_PER_BAND
_RUN_BANDS: Final = 4

HearLog = Callable[[float], None]


def find(bench: Bench, tell: Tell, *, with_parking: bool = True, hear_log: HearLog = lambda _bytes: None) -> Facts:
    """Measure everything; ``tell`` hears what is measured next, and ``hear_log`` how many bytes a log has."""
    tell("rotation")
    log, turn = rotation.measure(bench)
    tell("transfer rates")
    read = tuple(rates.measure(bench, share) for share in platters.SHARES)
    tell("overhead, link and memory")
    link = dram.link(bench, turn.value)
    tell("tracks, heads and skews")
    found = platters.measure(bench, read, link, turn.value)
    overhead_ms, surface = link.overhead_us.value / 1e3, surface_of(bench.capacity_bytes, found.rates)
    beside_ms = platters.beside_ms(found.rates, link)
    tell("seeks")
    looks = [(share, seek.measure(bench, surface, share, beside_ms, turn.value)) for share in seek.SHARES]
    seeks = {share: one for share, one in looks if one}
    tell("read-ahead and write buffer")
    hit_ms = link.answer_ms(BLOCK_BYTES) + 0.03 * turn.value
    kept = dram.read_segments(bench, hit_ms)
    facts = Facts(
        bench.capacity_bytes,
        turn,
        link,
        found.rates,
        found.outer,
        found.inner,
        seeks if len(seeks) > 1 else seek.USUAL,
        kept,
        dram.read_ahead(bench, hit_ms, kept),
        dram.bursts(bench, overhead_ms, turn.value),
        dram.deep_reads_gain(bench),
        None,
        Moved(0.0),
        blur_turns=rotation.blur_turns(log, turn.value),
    )
    bench.idle(5_000_000_000)
    tell("does what was written lie where it should")
    facts.moved = most_moved(bench, turn.value, SETTLE_NS, kept)
    on_disk, in_flash = left_at_once(bench, turn.value, kept)
    facts.left_at_once, facts.in_flash_at_once = max(on_disk, in_flash), in_flash > on_disk
    if facts.cleans_at_once:
        facts.cache = _find_at_once(bench, facts, tell) if at_once.can_be_ballasted(facts) else None
    elif facts.moved.share > MOVED:
        facts.cache = _find_cache(bench, facts, tell, hear_log)
    elif not facts.moved.hidden:
        tell("writes all over the surface")
        facts.bursts = dram.over_surface(bench, facts.bursts, overhead_ms, turn.value)
        if found.outer and link.seen:
            facts.settling = settle.measure(bench, surface, beside_ms, turn.value, found.outer.track_bytes.value)
    if with_parking:
        tell("parking of the heads")
        slow_ms = facts.longest_read_ms + 20
        rest = facts.cache.rest_ms if facts.cache else None
        cleans_after_ms = None if facts.cache is None else rest.high if rest else _UNKNOWN_REST_MS
        facts.parking = parking.measure(bench, slow_ms, turn.value, cleans_after_ms)
    return facts


def _find_at_once(bench: Bench, facts: Facts, tell: Tell) -> Cache:
    kept, turn_ms = facts.read_segments, facts.turn_ms.value
    sight = Sight.through(turn_ms, facts.blur_turns, flash=False, kept=kept).with_marks(bench)
    return at_once.find(bench, facts, sight, tell)


def _find_cache(bench: Bench, facts: Facts, tell: Tell, hear_log: HearLog) -> Cache:
    in_flash, kept = facts.moved.flash_share > MOVED, facts.read_segments
    sight = Sight.through(facts.turn_ms.value, facts.blur_turns, flash=in_flash, kept=kept).with_marks(bench)
    tell("where the cache lies")
    place: Place = "flash"
    if sight.flash:
        facts.bursts = flash.bursts(bench, facts.bursts, facts.link)
    else:
        beside_ms = platters.beside_ms(facts.rates, facts.link)
        place = place_of_cache(bench, facts.surface, facts.seeks, beside_ms, sight.turn_ms, kept)
    facts.cache = cache = Cache(place, facts.bursts.writes if facts.bursts.write_back else 1, sight.turn_ms)
    bench.idle(_LONG_SETTLE_NS)
    tell("when cleaning begins")
    cache.rest_ms = bands.rest_needed(bench, sight, _slow_ms(facts))
    cache.lazy = cache.rest_ms is None
    if cache.rest_ms is not None:
        stopped = _find_bands(bench, facts, cache, sight, tell)
        # One that cleans only when it is nearly full may have been just then: little or nothing more comes home.
        cache.lazy = cache.static_share is None or stopped
        if cache.lazy:
            # What came down to a mark is no band by itself, and is looked at again once it is known how full that is.
            cache.bands, cache.band_ms = {}, None
    tell("streams")
    cache.streams = streams.measure(bench, sight)
    _find_log(bench, facts, cache, sight, tell)
    if cache.length:
        hear_log(cache.length.bytes_found.value)
    if cache.lazy and cache.length:
        tell("does cleaning wait for silence")
        filler, met = filler_of(bench, cache), cache.length.bytes_found
        cache.by_pressure = pressure.waits_for_no_silence(filler, sight, met, facts.longest_read_ms)
        if cache.by_pressure:
            pressed.find(bench, cache, sight, facts.track_bytes, facts.bursts, tell)
            return cache
        _find_lazy(bench, facts, cache, sight, tell)
    _fill(bench, cache, tell)
    _fill_otherwise(bench, facts, cache, tell)
    _fill_all_logs(bench, facts, cache, tell)
    cache.packet_bytes = _packet_bytes(facts, cache)
    _band_again(bench, cache, sight, tell)
    _whole_band(bench, cache, sight, tell)
    _find_forced(bench, facts, cache, tell)
    _find_order(bench, facts, cache, sight, tell)
    return cache


def _slow_ms(facts: Facts) -> float:
    return facts.overhead_ms + facts.turn_ms.value + 12


def _find_bands(
    bench: Bench, facts: Facts, cache: Cache, sight: Sight, tell: Tell, press: bands.Press = bands.NO_PRESS
) -> bool:
    """Bands at several places; whether the drive stopped before all was clean."""
    assert cache.rest_ms
    seen: dict[float, bands.Looks] = {}
    for share in bands.SHARES:
        tell(f"bands at {share:.0%}")
        seen[share] = bands.measure(bench, share, sight, cache.rest_ms.high, press)
    cache.bands |= bands.agreed(seen, {share: facts.track_bytes(share) for share in bands.SHARES})
    for looks in seen.values():
        if looks.fine is not None:
            # That bands move shows where the next place begins at another angle.
            before = 1.0 if cache.static_share is None else cache.static_share
            cache.static_share = min(looks.coarse.static_share, before)
    if 0.5 in cache.bands and not cache.moves_bands and (cache.may_move_bands or not facts.bands_differ):
        tell("do bands move")
        _find_moving(bench, facts, cache, sight, press)
    if 0.5 in cache.bands:
        tell("time to clean a band")
        cache.band_ms = band_time.band_ms(bench, cache.bands[0.5], sight, cache.rest_ms.value, press)
    return any(looks.coarse.stopped for looks in seen.values())


def _find_moving(bench: Bench, facts: Facts, cache: Cache, sight: Sight, press: bands.Press) -> None:
    """Where a band lies as its neighbour did: only a far way shows."""
    turns, band = band_tracks.later_turns(facts.band_tracks, facts.outer), cache.bands[0.5]
    if turns is None or cache.rest_ms is None or not band_tracks.agree(facts.band_counts):
        return
    share = moving.static_share(bench, band, turns, sight, cache.rest_ms.high, press)
    if share is not None:
        cache.static_share, cache.far_would_show = share, True


def _find_log(bench: Bench, facts: Facts, cache: Cache, sight: Sight, tell: Tell) -> None:
    """What a write costs and takes of the log, how long that is, and how many there are."""
    link_mb_s = facts.link.rate_mb_s.value
    tell("space of a cached write")
    # Where nothing is a stream, all rewriting goes through the log; elsewhere what comes before it is known as one.
    settle_ns = bands_ns(cache, _RUN_BANDS) if cache.streams else settling_ns(cache, SETTLE_BANDS)
    stretch = find_layout(bench, facts, cache, sight, settle_ns)
    tell("cost of a cached write")
    bench.idle(settle_ns)
    visits = appends.visits(bench, settle_ns, facts.bursts, stretch)
    cache.append = appends.estimate(visits, sight.turn_ms, cache.layout, facts.overhead_ms, link_mb_s)
    if sight.flash:
        cache.flash = flash.measure(bench, visits, facts.overhead_ms, link_mb_s, sight.kept)
        packets = cache.flash.packets
        cache.append = replace(cache.append, packet_bytes=packets.bytes_held, packet_writes=packets.writes_held)
    if facts.bursts.write_back and cache.append.packet_writes is None:
        cache.run_ms = appends.run_ms(bench)
    if facts.bursts.write_back and cache.append.holds_more_writes:
        cache.many = appends.many(bench, stretch, settle_ns)
    tell("length of the log")
    settle_ns = settling_ns(cache, _MARKED_BANDS)
    filler = filler_of(bench, cache)
    cache.length = length.measure(filler, int(cache.longest_band_bytes or _BAND_BYTES), settle_ns)
    cache.journal = cache.length.journal if cache.length else None
    several_each = facts.cuts_visits or filler.size > cache.append.one_visit_bytes
    if not cache.journal or not cache.journal.every or several_each:
        tell("journal")
        cache.journal = filler.journal()
    tell("what memory writes at once")
    bench.idle(settling_ns(cache, SETTLE_BANDS))
    cache.destage_bytes = destaged(bench, facts, cache)


def _find_lazy(bench: Bench, facts: Facts, cache: Cache, sight: Sight, tell: Tell) -> None:
    """A lazy drive shows what others show by themselves once its log is full."""
    assert cache.length
    filler, size = filler_of(bench, cache), cache.length.bytes_found.value
    press = pressing(bench, cache)
    tell("when cleaning of a full cache begins")
    cache.rest_ms = bands.rest_needed(bench, sight, _slow_ms(facts), press)
    if cache.rest_ms is None:
        return
    tell("marks of lazy cleaning")
    cache.marks = marks.measure(filler, sight, size, cache.rest_ms.high)
    _find_bands(bench, facts, cache, sight, tell, press)
    cache.marks = marks.with_own_bands(cache.marks, filler, sight, size, cache.rest_ms.high, cache.longest_band_bytes)
    _count_cut(cache, filler)


def _count_cut(cache: Cache, filler: length.Filler) -> None:
    """What filled a log of which bands were not known yet may have crossed their borders, here more and there less."""
    assert cache.length
    about, most = filler.cut(cache.band_bytes(cache.marks_at) if cache.bands else 0.0)
    met = cache.length.bytes_found
    cache.length = replace(cache.length, bytes_found=Estimate(met.value * about, met.low, met.high * most))
    if cache.marks:
        found = (cache.marks.high, cache.marks.low)
        high, low = (Estimate(one.value, one.low / most, one.high * most) for one in found)
        cache.marks = replace(cache.marks, high=high, low=low)


def _packet_bytes(facts: Facts, cache: Cache) -> Estimate | None:
    filled, cost = cache.small, cache.append
    if cache.flash or not cost or cost.packet_bytes or not filled or not filled.writes or not filled.ebb_ms:
        return None
    if not space_bound(cache, filled.writes):
        return None
    write_ms = facts.link.answer_ms(BLOCK_BYTES)
    return ebb.packet_bytes(filled.ebb_ms, cost, cache.layout, facts.turn_ms.value, write_ms)


def _band_again(bench: Bench, cache: Cache, sight: Sight, tell: Tell) -> None:
    """Before the length of the log was known, what rewriting had left there was cleaned meanwhile, without streams."""
    if cache.length is None or cache.rest_ms is None or cache.band_ms is None or cache.streams or cache.lazy:
        return
    tell("time to clean a band, and nothing else")
    press = pressing(bench, cache)
    cache.band_ms = band_time.band_ms(bench, cache.bands[0.5], sight, cache.rest_ms.value, press) or cache.band_ms


def _whole_band(bench: Bench, cache: Cache, sight: Sight, tell: Tell) -> None:
    """What is cached need be neither read nor put aside; whether the drive heeds that shows where all is."""
    if cache.length is None or cache.rest_ms is None or cache.band_ms is None or cache.lazy or cache.by_pressure:
        return
    tell("time to clean a band that is cached as a whole")
    log_bytes = cache.length.bytes_found.value
    cache.whole_band_ms = band_time.whole_band_ms(bench, cache.bands[0.5], sight, cache.rest_ms.value, log_bytes)


def _find_order(bench: Bench, facts: Facts, cache: Cache, sight: Sight, tell: Tell) -> None:
    """In which order bands are cleaned, where it is known when and how long that takes."""
    if cache.length is None or cache.rest_ms is None or 0.5 not in cache.bands:
        return
    tell("order of cleaning")
    band = cache.bands[0.5]
    # Reading it and writing it back, if nothing else was seen.
    usual_ms = 2 * facts.turn_ms.value * band.size_bytes.value / facts.track_bytes(0.5)
    band_ms = cache.band_ms.value if cache.band_ms else usual_ms
    press = pressing(bench, cache)
    cache.most_dirty_first = order.most_dirty_first(bench, band, sight, cache.rest_ms.high, band_ms, press)


def _find_forced(bench: Bench, facts: Facts, cache: Cache, tell: Tell) -> None:
    """What a write waits for where the log has no room: cleaning, and what it takes for each piece that lies apart."""
    if cache.length is None or 0.5 not in cache.bands or not forced.can_be_met(cache.bands[0.5]):
        return
    tell("passes that are forced")
    filler, known = forced_passes(bench, facts, cache)
    pieces = forced.pass_pieces(cache.bands[0.5], known.track_bytes)
    cache.forced = forced.whole_passes(cache.bands[0.5], filler, known, pieces)
    # Where a filler is several visits, each waits for room by itself, and what a pass collects shows in no one of them.
    if facts.cuts_visits:
        return
    _find_ration(cache, filler, known, tell)
    if cache.place != "flash":
        cache.collect_turns = forced.collect_turns(cache.bands[0.5], filler, known)


def _find_ration(cache: Cache, filler: length.Filler, known: forced.Known, tell: Tell) -> None:
    """Where passes came sooner than the room that they make is used: after how many writes, and until when."""
    met = cache.length
    assert met
    passed = cache.passed(filler.bench.capacity_bytes)
    if passed.ration or met.uneven:
        tell("rationed writes")
        pass_bands = max(round(passed.bands.value), 1)
        cache.ration = ration.measure(filler, cache.bands[0.5], known, pass_bands, met.stall_ms)


def forced_passes(bench: Bench, facts: Facts, cache: Cache) -> tuple[length.Filler, forced.Known]:
    """What fills the log, and what is known of it. Nothing lies in that but a filler, which every fill finds there."""
    assert cache.length
    filler, size = filler_in_band(bench, cache), cache.length.bytes_found
    filler.flush_out(size.value)
    met = [fill.writes for fill in (cache.small, cache.single) if fill and fill.writes]
    writes = min(met, default=size.value / cache.layout.space_bytes(BLOCK_BYTES))
    settle_ns = settling_ns(cache, SETTLE_BANDS)
    turn_ms, track_bytes, in_flash = facts.turn_ms.value, facts.track_bytes(0.5), cache.place == "flash"
    return filler, forced.Known(turn_ms, track_bytes, size, cache.journal, writes, settle_ns, in_flash)


def _fill(bench: Bench, cache: Cache, tell: Tell) -> None:
    """Up to the first stall: many writes a packet, and, unless a packet holds one anyway, one a packet."""
    first, region = aligned(0.1 * bench.capacity_bytes), bench.capacity_bytes // _REGIONS
    if 0.5 in cache.bands:
        # From a border on: the first band is a whole one, and its stall too.
        size = cache.bands[0.5].size_bytes.value
        first, region = whole_blocks(cache.bands[0.5].border + forced.FREE_BANDS * size), int(size)
    settle_ns = settling_ns(cache, SETTLE_BANDS)
    bench.idle(settling_ns(cache, _MARKED_BANDS))
    pass_bands = max(cache.passed(bench.capacity_bytes).bands.value, 1.0) if cache.length and cache.bands else 1.0
    rewritten = cache.streams is not None
    room_bytes = bench.capacity_bytes - first
    cache.fill_order = fill.Order((first,), room_bytes, region, settle_ns, cache.pass_ms, rewritten, pass_bands)
    _fill_up(bench, cache, tell, fill.MOST_WRITES)
    emptying(bench, cache).before(first)


def _fill_up(bench: Bench, cache: Cache, tell: Tell, most: int, where: str = "") -> None:
    """With as many kinds of writes as it takes to tell what ends it."""
    for kind in ("single", "small") if single_is_quick(cache) else ("small", "single"):
        tell(f"fill with small writes{where}, {'each durable' if kind == 'single' else 'as fast as they are taken'}")
        before = cache.small.writes if cache.small and not cache.burst_hides_log else None
        setattr(cache, kind, filled(bench, cache, kind, int(_MORE_THAN_ENOUGH * before) if before else most))
        if says_all(cache):
            break


def _fill_all_logs(bench: Bench, facts: Facts, cache: Cache, tell: Tell) -> None:
    """Of a cache in several places the space of one may end long before the entries, which all of them share."""
    met, order = cache.small.writes if cache.small else None, cache.fill_order
    if cache.regions == 1 or not met or not order or not cache.length or entries_end(cache, met):
        return
    # What lies all over the drive is to be gone again afterwards.
    if cache.lazy or cache.streams is None:
        return
    edges = np.array([0.0, *cache.borders, bench.capacity_bytes])
    firsts = tuple(aligned(one) for one in edges[:-1] + _INSIDE * np.diff(edges))
    room_bytes = int((1 - 2 * _INSIDE) * np.diff(edges).min())
    settle_ns = cache.regions * order.settle_ns
    order = replace(order, firsts=firsts, room_bytes=room_bytes, settle_ns=settle_ns)
    cache.all_logs = cache.as_one_log(order, facts.track_bytes(0.0))
    most = int(_MORE_THAN_ENOUGH * cache.regions * met)
    _fill_up(bench, cache.all_logs, tell, min(most, fill.MOST_WRITES), " near every log")
    _fill_otherwise(bench, facts, cache.all_logs, tell)


def _fill_otherwise(bench: Bench, facts: Facts, cache: Cache, tell: Tell) -> None:
    """Where full packets end with the entries, and those of one write with the space, which hides what an entry is."""
    held, met = packet_writes(cache), cache.small.writes if cache.small else None
    # One packet may hold a group that is to fill two.
    vague = cache.append is None or cache.append.holds_more_writes
    if held == 1 or vague or met is None or cache.length is None or not facts.bursts.write_back:
        return
    # How many of those in memory were in the log already is not known.
    small = Estimate(met - (cache.in_memory or 0) / 2, met - (cache.in_memory or 0), met)
    if small.low <= 0 or space_bound(cache, met) or not single_space_bound(cache):
        return
    together = appends.most_at_once(facts.bursts)
    cache.groups = counts.groups(small, held, cache.layout, cache.length.bytes_found, together)
    if cache.groups:
        tell("fill with small writes, in groups that are durable")
        cache.grouped = filled(bench, cache, "grouped", int(_MORE_THAN_ENOUGH * cache.groups.otherwise))
    if counts_packets(cache) is None:
        cache.overwriting = overwriting(cache, met)
    if cache.overwriting:
        tell("fill with small writes, every other one over an older one")
        cache.overwritten = filled(bench, cache, "overwritten", cache.overwriting.most)


def filled(bench: Bench, cache: Cache, kind: str, most: int) -> fill.Fill:
    """A fill of this kind, of a log that holds as little as can be."""
    order = cache.fill_order
    assert order
    if cache.cleans_at_once:
        return behind_ballast.filled(ballast.Ballasted(bench), cache, most)
    # To clean all that a fill left where nothing is a stream takes nobody knows how long.
    for first in order.firsts:
        emptying(bench, cache).before(first)
    flush_every = {"single": 1, "grouped": cache.groups.writes if cache.groups else 1}.get(kind, 0)
    again = cache.overwriting.again if kind == "overwritten" and cache.overwriting else 0
    return fill.fill(bench, f"fill-{kind}", order, flush_every=flush_every, known=cache.journal, most=most, again=again)
