"""What was found of a drive as a twin: every value with its interval, and what was not found as assumed."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from shakedown.fit.cache import Cache, gathered_bytes, mark, space_bound
from shakedown.fit.cleaning import band_tracks
from shakedown.fit.cleaning.band_time import PER_BAND, PIECE_BYTES
from shakedown.fit.drafting.entries import put_entries
from shakedown.fit.drafting.passes import band_size_is_known, put_pass
from shakedown.fit.drive.dram import USUAL_WRITES
from shakedown.fit.drive.parking import put_parking
from shakedown.fit.drive.platters import USUAL_SKEW_DEGREES, USUAL_TURNS
from shakedown.fit.drive.seek import USUAL
from shakedown.fit.drive.whereabouts import Moved
from shakedown.fit.estimate import Estimate
from shakedown.fit.facts import MOVED, SHARE_OF_PLACE, Facts
from shakedown.fit.trace import BLOCK_BYTES, whole_blocks
from shakedown.fit.twin import BY, PERHAPS_MARK, UNKNOWN, Twin, span
from shakedown.model_number import UNKNOWN_MODEL

_SETTLE_MS: Final = 0.2
_OTHER_WAY: Final = 4
_HAIR_MS: Final = 0.005
_ZONES: Final = 32
_SPARE_BANDS: Final = 2
# Of fewer visits three journals, which tell one, may need more.
_BESIDE_CLEANING: Final = 0.06
_SURELY_NO_JOURNAL: Final = 1000
_MERGE_BYTES: Final = 14_680_064
_ON_DISK: Final = 2.95
# The innermost tracks hold less than those in the middle: so many bytes are more of the stroke there.
_INMOST: Final = 2.0
# A zone may begin there of which the data has nothing: a drive of so few is the coarsest.
_FEWEST_ZONES: Final = 8
_BY_ANGLES: Final = (
    "bytes",
    "packet_bytes",
    "packet_writes",
    "packet_tracks",
    "packet_turns",
    "append_turns",
    "append_tracks",
)
_MIB: Final = 1 << 20
_USUAL_MARKS: Final = {"high_mark": 0.9, "low_mark": 0.8}
# Of the tracks of a band, as one band at each place shows them.
_ONE_APART: Final = 0.1
_SEEN_UNDER_PRESSURE: Final = ("when", "driven", "order")


def draft(facts: Facts, name: str, title: str, model: str) -> Twin:
    """The twin by direct estimates alone."""
    twin = Twin(name, title)
    _identity(twin, model)
    _geometry(twin, facts)
    _mechanics(twin, facts)
    _dram(twin, facts)
    sptf = facts.queue_gain > 1.5
    twin.put("queue", "depth", 32, f"{UNKNOWN}; what native command queuing has")
    shown = f"32 reads at a time are {facts.queue_gain:.1f} times as fast"
    in_order = f"{UNKNOWN}; {shown}, as in their order or where only one gets through at a time"
    twin.put("queue", "order", "sptf" if sptf else "fifo", f"measured: {shown} {BY}" if sptf else in_order)
    twin.put("queue", "starvation_ms", 1000, f"{UNKNOWN}; usual")
    for key, found in (("rate_mb_s", facts.link.rate_mb_s), ("overhead_us", facts.link.overhead_us)):
        shown = span(found, 1) if facts.link.seen else f"{UNKNOWN}; memory answers nothing"
        twin.put("interface", key, round(found.value, 1), shown)
    # With several commands under way at a time large requests would not be as late.
    command_bytes = facts.link.command_bytes
    if command_bytes and not sptf:
        if facts.cache and facts.cache.layout.cuts_writes:
            # Each of them visits the log, where it leaves more of a trace than in what memory answers.
            command_bytes = Estimate.around(facts.cache.layout.command_bytes, 0.0)
        twin.put("interface", "bridge_us", 0, f"{UNKNOWN}; counts as overhead")
        twin.put_measured("interface", "max_transfer_bytes", command_bytes, 0)
        twin.put("interface", "bridge_queue", 1, f"measured: large requests take as long as their commands {BY}")
    _translation(twin, facts)
    return twin


def _identity(twin: Twin, model: str) -> None:
    unknown = "assumed: not asked for; it decides nothing"
    twin.put("identity", "vendor", "unknown", unknown)
    twin.put("identity", "model", model or UNKNOWN_MODEL, "measured: what the target calls itself")
    twin.put("identity", "firmware", "0", unknown)
    twin.put("identity", "serial_prefix", "TWIN", unknown)


def _geometry(twin: Twin, facts: Facts) -> None:
    outer = _blocks(facts.track_bytes(0.0))
    inner = _blocks(facts.inner.track_bytes.value if facts.inner else facts.track_bytes(1.0))
    # Of one of the two the link may have shown less than there is.
    outer, inner = (outer, min(inner, outer)) if facts.outer else (max(inner, outer), inner)
    heads = facts.outer.heads if facts.outer else None
    twin.put("geometry", "capacity_bytes", whole_blocks(facts.capacity_bytes), f"measured: size {BY}")
    turn = facts.turn_ms
    rpm = Estimate(6e4 / turn.value, 6e4 / turn.high, 6e4 / turn.low)
    twin.put_measured("geometry", "rpm", rpm, 4)
    twin.put(
        "geometry",
        "heads",
        heads or 4,
        f"measured: every so many tracks another skew, {BY}" if heads else f"{UNKNOWN}; one skew as the other",
    )
    for key, value, seen, share in (
        ("outer_track_bytes", outer, facts.outer, 0),
        ("inner_track_bytes", inner, facts.inner, -1),
    ):
        # What lies behind the data of the host shows in no read.
        beyond = _beyond_data(facts) * (outer - inner) if share else 0.0
        if seen:
            twin.put("geometry", key, value, _bytes_between(seen.track_bytes, beyond))
        else:
            rate = facts.rates[share]
            if math.isinf(rate.high):
                turns = 1.0 if facts.outer else USUAL_TURNS
                least = f"at least {rate.low * facts.turn_ms.value / 1e3 * turns:.0f}, for the link gives no more"
                twin.put("geometry", key, value, f"{UNKNOWN}; {least} than {rate.value / 1e6:.2f} MB/s")
                continue
            shown = f"{rate.low / 1e6:.2f}..{rate.high / 1e6:.2f} MB/s"
            # Without skews a track holds less than comes in a turn.
            by_rate = Estimate(value, value * rate.low / rate.value, value * rate.high / rate.value)
            told = f"{_bytes_between(by_rate, beyond)}, as {shown}"
            twin.put("geometry", key, value, told if facts.outer else f"{UNKNOWN}; {shown} with usual skews")
    zones = max(min(_ZONES, facts.capacity_bytes // ((heads or 4) * outer)), 1)
    twin.put("geometry", "zones", zones, f"{UNKNOWN}; rates fall evenly")
    found = (facts.outer.track_skew, facts.outer.cylinder_skew) if facts.outer else (None, None)
    for key, skew in zip(_SKEWS, found, strict=True):
        if skew is None:
            twin.put("geometry", key, USUAL_SKEW_DEGREES, f"{UNKNOWN}; usual")
            continue
        degrees = Estimate(skew.value * 360, skew.low * 360, skew.high * 360)
        if heads is None and key == "cylinder_skew_degrees":
            twin.put("geometry", key, round(degrees.value, 2), f"{UNKNOWN}; one skew as the other")
        else:
            twin.put_measured("geometry", key, degrees, 2)


def _bytes_between(size: Estimate, beyond: float) -> str:
    return f"measured: {size.low - beyond:.0f}..{size.high:.0f} {BY}"


def _beyond_data(facts: Facts) -> float:
    """By which share of the stroke, at most, tracks hold less where the log lies, if that is behind the host's data."""
    log_bytes = facts.cache.bytes_found if facts.cache and facts.cache.place == "inner" else None
    return _INMOST * log_bytes / facts.capacity_bytes + 1 / _FEWEST_ZONES if log_bytes else 0.0


def _mechanics(twin: Twin, facts: Facts) -> None:
    turn = facts.turn_ms.value
    skews = [twin.number("geometry", key) / 360 * turn for key in _SKEWS]
    settling, seeks = facts.settling, facts.settling.seeks if facts.settling else facts.seeks
    settle_ms = round(min(settling.write_ms.value, min(skews) - _HAIR_MS), 3) if settling else _SETTLE_MS
    shares = sorted(seeks)
    times = np.maximum.accumulate([seeks[share].value for share in shares])
    # To the next cylinder the curve goes on as it begins: what that looks like shows in ways that differ enough.
    other = next(number for number, share in enumerate(shares) if share >= _OTHER_WAY * shares[0])
    (x0, x1), (y0, y1) = (shares[0], shares[other]), (times[0], times[other])
    single = y0 - (y1 - y0) * x0**0.5 / (x1**0.5 - x0**0.5)
    single = float(np.clip(single, 0.05, min(skews[1] - settle_ms - _HAIR_MS, y0)))
    full = float(times[-1] + (times[-1] - times[-2]) * (1 - shares[-1]) / (shares[-1] - shares[-2]))
    table = [[0.0, round(single, 3)], *([round(x, 4), round(float(y), 3)] for x, y in zip(shares, times, strict=True))]
    table.append([1.0, round(full, 3)])
    worst_ms = max(one.half for one in seeks.values())
    shown = f"measured: each to {worst_ms:.2f} ms {BY}; the ends continued"
    twin.put("mechanics", "seek_table", table, f"{UNKNOWN}; usual" if seeks is USUAL else shown)
    settle_by = span(settling.write_ms, 3) if settling else f"{UNKNOWN}; usual"
    twin.put("mechanics", "write_settle_ms", settle_ms, settle_by)
    hidden = skews[0] - settle_ms - _HAIR_MS
    switch_by = "the skew hides no more" if hidden < single else "as the next cylinder"
    twin.put("mechanics", "head_switch_ms", round(max(min(hidden, single), 0.0), 3), f"{UNKNOWN}; {switch_by}")
    put_parking(twin, facts.parking)


_SKEWS: Final = ("track_skew_degrees", "cylinder_skew_degrees")


def _dram(twin: Twin, facts: Facts) -> None:
    bursts = facts.bursts
    track = _blocks(facts.track_bytes(0.0))
    twin.put("dram", "write_back", bursts.write_back, f"measured: {BY}")
    taken = bursts.bytes_taken if bursts.bytes_taken is not None else max(16 << 20, 2 * track)
    # As of writes: where no twin can be asked, part of what was taken may have left memory by then.
    at_once = f"measured: {taken // 2}..{taken} {BY}, taken at once; part of it may have left memory by then"
    never = "it never filled: large writes may leave it as fast as the link brings them"
    none = f"{UNKNOWN}; {never if bursts.write_back else 'none was answered at once'}"
    origin = at_once if bursts.bytes_taken else none
    if bursts.end_by_number:
        origin = f"{UNKNOWN}; {taken} taken at once, but their number may have ended it"
    held = max(_blocks(taken), track)
    twin.put("dram", "write_bytes", held, origin)
    count = bursts.writes
    # Some of them may be on their way to the platters by then; how many a visit to a log takes shows in a twin.
    shown = f"measured: {(count or 0) // 2}..{count} {BY}, taken at once; part of them may have left memory by then"
    twin.put("dram", "write_segments", count or USUAL_WRITES, shown if count else f"{UNKNOWN}; usual")
    destaged = facts.cache.destage_bytes if facts.cache else None
    if destaged:
        size = min(_roundest(destaged), held)
        twin.put("dram", "destage_bytes", size, span(destaged, 0))
    elif seen := facts.cache.destage_seen if facts.cache else None:
        size = min(_roundest(seen), held)
        twin.put("dram", "destage_bytes", size, f"{UNKNOWN}; so many, or as many packets as one visit may have")
    else:
        size = min(max(round(track / _MIB), 1) * _MIB, held)
        twin.put("dram", "destage_bytes", size, f"{UNKNOWN}; about one track")
    twin.put("dram", "destage_idle_ms", 20, f"{UNKNOWN}; a few turns")
    twin.put_measured("dram", "read_ahead_bytes", facts.read_ahead, 0)
    kept = f"measured: {facts.read_segments} {BY}" if facts.link.keeps_reads else f"{UNKNOWN}; nothing that is read"
    twin.put("dram", "read_segments", facts.read_segments, kept)


def _roundest(found: Estimate) -> int:
    """Of the sizes within an estimate the one with most factors of two, as firmware has them.

    One a little smaller holds a whole request less, and a stream may lose turns that the drive does not.
    """
    shift = BLOCK_BYTES.bit_length()
    size = _blocks(found.value)
    while (rounder := round(found.value / (1 << shift)) << shift) and found.low <= rounder <= found.high:
        size, shift = rounder, shift + 1
    return size


def _at_home(moved: Moved, elsewhere: str) -> str:
    """Of a drive that moves what is written nearly all lies ``elsewhere``; a few seem to whose answers were late."""
    share = moved.share
    if moved.hidden:
        return f"{UNKNOWN}; memory answered {moved.unseen_share:.0%} of all looks, whatever was read in between"
    if round(100 * share) == 0:
        return elsewhere
    late = f"late answers, below the limit of {MOVED:.0%} for a shingled drive"
    return f"measured: {share:.0%} of what was written seemed to lie elsewhere: {late} {BY}"


def _translation(twin: Twin, facts: Facts) -> None:
    share = f"measured: {facts.moved.share:.0%} of what was written lay elsewhere {BY}"
    if facts.cleans_at_once:
        share = f"measured: {facts.left_at_once:.0%} of what was just written lay elsewhere, and soon not {BY}"
        if facts.cache is None:
            twin.put("translation", "kind", "shingled", share)
            _doubt_inmost(twin)
            return
    if facts.cache is None:
        twin.put("translation", "kind", "identity", _at_home(facts.moved, share))
        return
    twin.put("translation", "kind", "shingled", share)
    cache = facts.cache
    counts, tracks = facts.band_counts, facts.band_tracks
    found = ", ".join(f"{band.size_bytes.value / 1e6:.1f} MB at {at:.0%}" for at, band in cache.bands.items())
    twin.put("translation", "tracks_per_band", tracks, bands_origin(counts, found, one_each=cache.by_pressure))
    if facts.outer is None and not twin.is_unknown("translation", "tracks_per_band"):
        twin.doubt("translation", "tracks_per_band", f"tracks are not, but it is {found}")
    if cache.static_share is None:
        twin.put("translation", "mapping", "static", f"{UNKNOWN}; nothing came home")
    else:
        shown = f"measured: {cache.static_share:.0%} of what was cleaned came to its old place {BY}"
        if not (cache.moves_bands or cache.far_would_show or facts.bands_differ):
            shown = f"{UNKNOWN}; bands begin at the same angle, so that one looks like another"
        elif cache.may_move_bands:
            shown = f"{UNKNOWN}; {cache.static_share:.0%} of what was cleaned came to its old place, or to one like it"
        twin.put("translation", "mapping", "dynamic" if cache.moves_bands else "static", shown)
        if cache.moves_bands:
            _put_spare(twin, tracks)
        if cache.moves_bands or not mapping_is_known(twin):
            _doubt_inmost(twin)
    _cache(twin, cache)
    _doubt_layout(twin, cache, tracks_known=facts.outer is not None)
    _cleaning(twin, facts, cache, tracks)
    _streams(twin, cache)
    never_empty = cache.streams is None or cache.regions > 1 or cache.contradicts
    if cache.lazy and never_empty and (cache.by_pressure or cache.length is None):
        _doubt(twin, "cache", "cleaning", "streams")
    elif cache.streams_doubted:
        _doubt(twin, "streams")


def _put_spare(twin: Twin, tracks: int) -> None:
    """Bands to move to, in zones that hold enough of others: no profile may have more spare ones than others."""
    twin.put("translation", "spare_bands", _SPARE_BANDS, f"{UNKNOWN}; some")
    least_bytes = (2 * _SPARE_BANDS + 1) * tracks * twin.number("geometry", "outer_track_bytes")
    most = max(int(twin.number("geometry", "capacity_bytes") // least_bytes), 1)
    if twin.number("geometry", "zones") > most:
        twin.put("geometry", "zones", most, f"{UNKNOWN}; as many as hold bands enough")


def _doubt_inmost(twin: Twin) -> None:
    """Bands to move to, or a log, may lie behind the host's data, where tracks hold less still."""
    _, where = twin.sections["geometry"]["inner_track_bytes"]
    twin.doubt("geometry", "inner_track_bytes", f"where data ends it is {where}")


def _doubt(twin: Twin, *parts: str) -> None:
    """What was written to see the log was cleaned under way, where rewriting does not empty it."""
    for section in (f"translation.{part}" for part in parts):
        for key in twin.sections[section]:
            if not twin.is_unknown(section, key) and key not in _SEEN_UNDER_PRESSURE:
                twin.doubt(section, key, "what was written to see it was cleaned under way")


def _doubt_layout(twin: Twin, cache: Cache, *, tracks_known: bool) -> None:
    """Where a write lies behind another shows as an angle: without skews it leads to other spaces, and other costs."""
    if cache.flash or (tracks_known and cache.layout.explains):
        return
    why = "no packets that were tried explain what writes take of the log" if tracks_known else "tracks did not show"
    section = "translation.cache"
    for key in _BY_ANGLES:
        if key in twin.sections[section]:
            _, origin = twin.sections[section][key]
            twin.doubt(section, key, f"{why}: {origin.removeprefix(f'{UNKNOWN}; ')}")


def bands_origin(counts: list[float], found: str, *, one_each: bool = False) -> str:
    """A band has as many tracks wherever it lies: places that say otherwise saw something else, or too late.

    Where one band was seen at each, its tracks are known no better than the places agree.
    """
    if not counts:
        return UNKNOWN
    few, many = round(min(counts)), round(max(counts))
    if not band_tracks.agree(counts) or (one_each and many - few > max(_ONE_APART * many, 1)):
        return f"{UNKNOWN}; places disagree: {found}"
    span = f"{few}..{many} tracks: " if one_each else ""
    return f"measured: {span}{found} {BY}"


def _cache(twin: Twin, cache: Cache) -> None:
    section, cost = "translation.cache", cache.append
    assert cost
    seeks = {"flash": "what is cached comes without any motion", "spread": f"{cache.regions} logs over the surface"}
    shown = seeks.get(cache.place, "where seeks from three places lead")
    twin.put(section, "place", cache.place, f"measured: {shown} {BY}")
    if cache.place == "spread":
        twin.put(section, "regions", cache.regions, f"measured: which writes share a log {BY}")
    writes = int(cost.packet_writes.value) if cost.packet_writes else 1
    _limits(twin, cache)
    _or_unknown(twin, section, "packet_bytes", cost.packet_bytes or cache.packet_bytes, _packet_bytes(cache))
    if cost.packet_writes and math.isinf(cost.packet_writes.high):
        why = "groups had no more" if cost.holds_more_writes else "no more fit into its bytes"
        twin.put_at_least(section, "packet_writes", cost.packet_writes, why)
    else:
        _or_unknown(twin, section, "packet_writes", cost.packet_writes, writes)
    if cache.flash:
        twin.put_measured(section, "flash_read_us", cache.flash.read_us, 1)
        twin.put_measured(section, "flash_write_us", cache.flash.write_us, 1)
        twin.put_measured(section, "flash_rate_mb_s", cache.flash.rate_mb_s, 1)
    else:
        _tracks(twin, "packet_tracks", cache.layout.packet_tracks, cache.layout.track_bytes)
        twin.put_measured(section, "packet_turns", cost.packet_turns, 4)
        twin.put_measured(section, "append_turns", cost.append_turns, 4)
        for key in ("packet_turns", "append_turns") if cost.one_packet_each else ():
            twin.doubt(section, key, "each visit may have brought one packet, which cost so much with it")
        twin.put(section, "follow_turns", 0.0, f"{UNKNOWN}; none")
        if cache.layout.visit_tracks.value:
            _tracks(twin, "append_tracks", cache.layout.visit_tracks, cache.layout.track_bytes)
    journal = cache.journal
    origin = f"measured: {BY}" if journal and journal.every else f"{UNKNOWN}; none is seen"
    if journal and not journal.every and journal.seen >= _SURELY_NO_JOURNAL:
        origin = f"measured: none in {journal.seen} visits {BY}"
    twin.put(section, "journal_every", journal.every if journal else 0, origin)
    if journal and journal.every and cache.cleans_at_once:
        # Operations of cleaning come beside it.
        origin = span(Estimate.around(journal.ms, _BESIDE_CLEANING * journal.ms), 1)
    twin.put(section, "journal_ms", round(journal.ms, 1) if journal else 0.0, origin)


def _packet_bytes(cache: Cache) -> int:
    found = (cache.append.packet_bytes if cache.append else None) or cache.packet_bytes
    return _blocks(found.value) if found else 524_288


def _limits(twin: Twin, cache: Cache) -> None:
    """Bytes, and entries as far as a write can meet them before space ends."""
    origin = f"{UNKNOWN}; no end of the log was met"
    if cache.length:
        found = cache.length.bytes_found
        low, high = (value * cache.regions for value in (found.low, found.high))
        shown = (
            "where writes wait for whole passes" if cache.by_pressure else "what was written until marks were met again"
        )
        span = f"{low:.0f}..{high:.0f}, {shown}"
        origin = f"measured: {span} {BY}"
        if cache.may_have_met_mark:
            origin = f"{UNKNOWN}; {span}, {PERHAPS_MARK}"
    room = cache.bytes_found or (_small_met(cache) or 1000) * gathered_bytes(cache)
    if cache.begins_at and cache.length is None:
        room = cache.begins_at.value / _USUAL_MARKS["high_mark"] * cache.regions
        origin = f"{UNKNOWN}; at least {cache.begins_at.low * cache.regions:.0f}, where it begins to clean"
    twin.put("translation.cache", "bytes", _blocks(room), origin)
    filled = cache.all_logs or cache
    small = _small_met(filled)
    put_entries(twin, filled, _held(filled), space_ends=small is None or space_bound(filled, small))


def _held(cache: Cache) -> int:
    """How many small writes memory holds."""
    return USUAL_WRITES if cache.in_memory is None else cache.in_memory


def _small_met(cache: Cache) -> int | None:
    """How many small writes, those that memory holds included, were taken until one stalled."""
    small = cache.small.writes if cache.small else None
    if small is None and cache.single and cache.single.writes is not None:
        # Where a write is a packet they are the same.
        return cache.single.writes + _held(cache)
    return small


def put_follow(twin: Twin, found: Estimate) -> None:
    """What visits take longer that follow each other directly."""
    twin.put_measured("translation.cache", "follow_turns", found, 3)


def _cleaning(twin: Twin, facts: Facts, cache: Cache, tracks: int) -> None:
    section = "translation.cleaning"
    twin.put(section, "when", "lazy" if cache.lazy else "aggressive", f"measured: {BY}")
    put_pass(twin, facts)
    if cache.most_dirty_first is None:
        twin.put(section, "order", "fifo", f"{UNKNOWN}; usual")
    else:
        shown = f"measured: which went home first, one piece each of older bands or many of newer ones {BY}"
        twin.put(section, "order", "most-dirty" if cache.most_dirty_first else "fifo", shown)
    if cache.by_pressure:
        twin.put(section, "driven", "pressure", f"measured: it cleans while the host reads on {BY}")
    elif cache.rest_ms is not None:
        twin.put_measured(section, "idle_ms", cache.rest_ms, 0)
    else:
        twin.put(section, "idle_ms", 1000, f"{UNKNOWN}; it rested with its cache full")
    if cache.lazy:
        for key, value in _USUAL_MARKS.items():
            found = mark(cache, key, twin.number(section, "bands_per_pass"))
            if found:
                twin.put_measured(section, key, found, 4)
            else:
                twin.put(section, key, value, UNKNOWN)
        twin.put(section, "rest_s", 0, f"{UNKNOWN}; not looked for")
    if cache.collect_turns:
        twin.put_measured(section, "collect_turns", cache.collect_turns, 3)
    elif cache.place != "flash":
        twin.put(section, "collect_turns", 0.2, f"{UNKNOWN}; a part of a turn, and few pieces to a band")
    twin.put(section, "merge_bytes", _MERGE_BYTES, f"{UNKNOWN}; usual")
    twin.put(section, "merge_on_disk", *_on_disk(twin, facts, cache, tracks))
    _merged_whole(twin, facts, cache, tracks)


def _merged_whole(twin: Twin, facts: Facts, cache: Cache, tracks: int) -> None:
    """Whether a band is read and put aside also where all of it is cached, which is so only if something tells it.

    It is collected and written back at least. A drive that heeds what is cached does no more, another one reads it
    and, where it puts aside on disk, writes it a second time.
    """
    section, key = "translation.cleaning", "merge_whole"
    if cache.whole_band_ms is None or not band_size_is_known(facts) or cache.moves_bands:
        return
    pass_ms = _pass_ms(facts, tracks)
    more = 2.0 if twin.value(section, "merge_on_disk") else 1.0
    times = cache.whole_band_ms.low / pass_ms
    # To read the pieces takes as long as to read the band, at the least.
    if times <= 1 + 1 + more / 2:
        return
    collecting_ms = _most_collecting_ms(facts, cache, tracks)
    if collecting_ms is None:
        twin.put(section, key, False, f"{UNKNOWN}; collecting all of a band may take long, and that is not known")
    elif times > 1 + collecting_ms / pass_ms + more / 2:
        twin.put(
            section, key, True, f"measured: {times:.2f} times what reading a band takes, with all of it cached {BY}"
        )


def _most_collecting_ms(facts: Facts, cache: Cache, tracks: int) -> float | None:
    """What it takes at most to collect all of a band: its pieces lie apart, and where tracks hold another number."""
    size_bytes = tracks * facts.track_bytes(0.5)
    # Packets that leave gaps lie apart as well.
    pieces = size_bytes / min(PIECE_BYTES, cache.layout.packet_bytes)
    if cache.flash:
        return pieces * cache.flash.read_us.high / 1e3 + size_bytes / cache.flash.rate_mb_s.low / 1e3
    if cache.collect_turns is None:
        return None
    share = 0.5 if cache.place == "spread" else SHARE_OF_PLACE[cache.place]
    passing_ms = size_bytes / facts.rate(share * facts.capacity_bytes) * 1e3
    return pieces * cache.collect_turns.high * facts.turn_ms.value + passing_ms


def _pass_ms(facts: Facts, tracks: int) -> float:
    """To read a band, or to write it."""
    turn_ms = facts.turn_ms.value
    return tracks * turn_ms / (facts.rates[0].value * turn_ms / 1e3 / facts.track_bytes(0.0))


def _on_disk(twin: Twin, facts: Facts, cache: Cache, tracks: int) -> tuple[bool, str]:
    """Whether a band is put aside on disk: it is then written twice, which what it takes to be cleaned tells."""
    if cache.band_ms is None or not band_size_is_known(facts):
        return False, UNKNOWN
    if cache.moves_bands:
        return False, f"{UNKNOWN}; of bands that move nothing is put aside"
    turn, read_ms = facts.turn_ms.value, _pass_ms(facts, tracks)
    times, low, high = (ms / read_ms for ms in (cache.band_ms.value, cache.band_ms.low, cache.band_ms.high))
    # What is cached of a band is collected, too; where it is not known what that takes, it may be nearly all.
    if cache.collect_turns:
        low -= PER_BAND * turn * cache.collect_turns.high / read_ms
    elif cache.place != "flash":
        low = 0.0
    known = "measured" if not low < _ON_DISK < high else f"{UNKNOWN}; between both"
    if not mapping_is_known(twin):
        known = f"{UNKNOWN}; if bands stay"
    return times > _ON_DISK, f"{known}: {times:.2f} times what reading a band takes {BY}"


def mapping_is_known(twin: Twin) -> bool:
    """Without it nothing is known that follows from how long a band takes to be cleaned."""
    return not twin.is_unknown("translation", "mapping")


def _streams(twin: Twin, cache: Cache) -> None:
    section, streams = "translation.streams", cache.streams
    if streams is None:
        twin.put(section, "tracked", 0, f"measured: nothing bypasses the cache {BY}")
        twin.put(section, "min_request_bytes", 65_536, UNKNOWN)
        twin.put(section, "min_run_bytes", 8 << 20, UNKNOWN)
        return
    tracked = streams.tracked
    twin.put(section, "tracked", round(tracked.value), f"measured: {tracked.low:.0f}..{tracked.high:.0f} {BY}")
    for key, found in (("min_request_bytes", streams.min_request_bytes), ("min_run_bytes", streams.min_run_bytes)):
        twin.put(section, key, round(found.value), span(found, 0))


def _tracks(twin: Twin, key: str, found: Estimate, track_bytes: float) -> None:
    """A share of a track that comes to whole blocks; the drive rounds up."""
    blocks = round(found.value * track_bytes / BLOCK_BYTES)
    value = round((blocks - 0.5) * BLOCK_BYTES / track_bytes, 4) if blocks > 1 else 0.0
    twin.put("translation.cache", key, value, span(found, 4))


def _or_unknown(twin: Twin, section: str, key: str, found: Estimate | None, value: int) -> None:
    twin.put(section, key, value, span(found, 0) if found else f"{UNKNOWN}; usual")


def _blocks(size: float) -> int:
    return round(size / BLOCK_BYTES) * BLOCK_BYTES
