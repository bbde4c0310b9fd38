"""The staged fit: what no formula gives is changed in the twin until it does in virtual time what the drive did."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from shakedown.fit.cache import (
    SPACE_ENDS,
    Cache,
    entries_end,
    gathered_bytes,
    gathered_vaguely,
    packets_are_told,
    space_bound,
)
from shakedown.fit.cleaning import band_time, bands, forced
from shakedown.fit.cleaning.ballast import Ballasted
from shakedown.fit.cleaning.begins import gathered
from shakedown.fit.course.at_once import cleaned
from shakedown.fit.course.fillers import emptying, filler_of
from shakedown.fit.course.find import filled, forced_passes
from shakedown.fit.drafting.draft import mapping_is_known, put_follow
from shakedown.fit.drafting.entries import put_entries, put_entries_gathered
from shakedown.fit.drafting.follow import follow_turns
from shakedown.fit.drafting.passes import band_size_is_known, pass_of
from shakedown.fit.drive import dram
from shakedown.fit.drive.whereabouts import Sight
from shakedown.fit.estimate import Estimate
from shakedown.fit.facts import Facts
from shakedown.fit.log import append as appends
from shakedown.fit.trace import BLOCK_BYTES, Bench
from shakedown.fit.twin import REST_MS, UNKNOWN, Twin

Make = Callable[[str], Bench]
"""A bench with a modelled drive of this profile, always of the same seed."""

_BUFFERED: Final = (0.5, 0.6, 2 / 3, 0.72, 0.8, 0.86, 0.9, *np.round(np.arange(0.92, 1.001, 0.01), 2))
# Of large writes half and more may leave meanwhile, where the link brings them hardly faster.
_LEAVING: Final = (0.25, 0.32, 0.4, *_BUFFERED)
_PACKET_WRITES: Final = tuple(float(count) for count in (*range(1, 13), 14, 16, 20, 24, 32, 48, 64))
_AS_FAST: Final = 0.01
_COLLECT_TURNS: Final = 0.3
# How much goes home while it is filled is known less well of one that cleans at once.
_SPACE_BESIDE_BALLAST: Final = 0.8
_NO_LIMIT: Final = 100_000_000
_MORE_WRITES: Final = 1.3
_FINER: Final = 9
# Counts that differ by two writes agree: of small ones one or two more may slip in before the one that has to wait, and
# of large ones one in five bursts ends a write sooner by its angles, the drive's as well as the twin's. Half more than
# that, since what is two off must not depend on how a share is rounded.
_HALF: Final = 0.5
_TWO_OFF: Final = 2 + _HALF
# Two deviations of how many leave in a given time, in roots of their number: 0.65 where each waits for its angle, and
# there are the drive's looks, of which the middle one counts, and the twin's.
_LUCK: Final = 1.5
_CLEARLY: Final = 3
# By so little more a candidate is as near as the nearest; and by so much more where each phase of a pass waits for an
# angle: of four drawn drives the true value was up to 2.4 % further off than the nearest.
_AS_NEAR: Final = 0.01
_BY_LUCK: Final = 0.025
# What is not known may be so much less or more.
_OTHERWISE: Final = (0.5, 2.0)
# More than that, which is a factor of four; spans come in steps of an eighth, so that no rounding decides.
_VAGUE: Final = 1.05 * _OTHERWISE[-1] / _OTHERWISE[0]
_HELD: Final = {"write_segments": 1, "write_bytes": BLOCK_BYTES}
_ON_DISK: Final = "merge_on_disk"
_SCALES: Final = tuple(float(scale) for scale in np.geomspace(0.25, 4, 13))


@dataclass(frozen=True)
class Stage:
    """One value of the twin and the figure that it decides, which rises or falls with it."""

    section: str
    key: str
    grain: int
    candidates: tuple[float, ...]
    """Shares of the direct estimate."""
    wanted: float
    tolerance: float
    """As a share: what the figure is known to."""
    figure: Callable[[Bench], float | None]
    what: str
    asked: Callable[[Twin], Twin] = lambda twin: twin
    """What of the twin is asked."""
    other: Callable[[Twin], Twin] | None = None
    """What is tried as well where no candidate comes near."""
    otherwise: tuple[Twin, ...] = ()
    """The twin with something else that is not known: what agrees in one of these may be the value as well."""
    doubted: tuple[str, ...] = ()
    """Of the same section what is not known either where nothing that was tried agrees."""
    between: bool = False
    """Whether what lies between candidates may be the value as well."""
    counted: bool = False
    """Whether the direct estimate holds what left meanwhile: those that count the same come before it."""
    usual: bool = False
    """Whether the direct estimate is a usual value and was not measured: it has to come as near as any."""
    rises: bool = False
    """Whether the figure never falls where the value rises; if a twin's does, luck decides it."""
    at_least: str | None = None
    """Another value of the section: of less there can be no drive."""
    leaving: float = 0.0
    """How much of the figure leaves at a time while it is counted, one by one and each at its own angle's time."""

    def tolerance_of(self, value: float) -> float:
        """As a share: how many of those that left did so is luck, the drive's as well as the twin's.

        As many more or fewer are held, and the figure grows with what is held.
        """
        luck = _LUCK * math.sqrt(max(self.wanted - value, 0.0) * self.leaving) / value
        return max(self.tolerance, luck)


@dataclass(frozen=True)
class _Tried:
    """A twin with one candidate, and what it does as a share of what the drive did; without end if that never comes."""

    share: float
    value: float
    twin: Twin

    @property
    def miss(self) -> float:
        """By which share it is off."""
        return abs(self.share - 1)


def calibrate(twin: Twin, facts: Facts, make: Make) -> Twin:
    """The twin after all stages."""
    stages = _memory(facts)
    for stage in stages:
        twin = _fitted(twin, stage, make)
    doubt_bytes(twin, facts)
    for stage in stages:
        _beside(twin, stage, make)
    cache = facts.cache
    if cache is None:
        return twin
    twin = _packing(twin, cache, facts.turn_ms.value, make)
    for stage in _merging(twin, facts, cache, make):
        twin = _fitted(twin, stage, make)
        _merged_beside(twin, stage, make)
    if facts.bursts.writes:
        _entries(twin, _with_packets(twin, cache.all_logs or cache), make)
        _entries_gathered(twin, facts, cache, make)
    return twin


def doubt_bytes(twin: Twin, facts: Facts) -> None:
    """How many writes memory holds is known better now than from the burst: may as many large ones have ended it?"""
    if facts.cache and facts.bursts.writes is None and not twin.is_unknown("dram", "write_bytes"):
        # Small ones left as fast as they came.
        twin.doubt("dram", "write_bytes", "as many large writes as were taken may be all that memory has room for")
    unknown = any(twin.is_unknown("dram", key) for key in ("write_bytes", "write_segments"))
    if not unknown and replace(facts.bursts, writes=int(twin.number("dram", "write_segments"))).end_by_number:
        twin.doubt("dram", "write_bytes", "about as many large writes were taken at once as memory holds small ones")


def _merged_beside(twin: Twin, stage: Stage, make: Make) -> None:
    """How much is merged was fitted beside all else that a band takes: what is not known of that must not matter."""
    if twin.is_unknown(stage.section, stage.key):
        return
    if not mapping_is_known(twin):
        beside = "mapping"
    elif twin.is_unknown(stage.section, "collect_turns"):
        beside = "collect_turns"
    elif twin.is_unknown(stage.section, _ON_DISK) and twin.value("translation", "mapping") == "static":
        if _asked(_merging_elsewhere(twin), stage, make).miss <= stage.tolerance:
            return
        beside = _ON_DISK
    else:
        return
    twin.doubt(stage.section, stage.key, f"fitted to the {stage.what} beside a {beside} that is not")


def _recorded(twin: Twin) -> Twin:
    """What is put aside may have to be recorded, which takes as long as a visit to the log, or not."""
    other = twin.with_value("translation.cleaning", _ON_DISK, True)
    other.put("translation.cleaning", "merge_turns", twin.number("translation.cache", "append_turns"), UNKNOWN)
    return other


def _packing(twin: Twin, cache: Cache, turn_ms: float, make: Make) -> Twin:
    """How many writes share a packet, where only a rate tells, and what a visit right behind another takes longer.

    Both decide that rate; how fast memory is emptied hardly depends on packets that show in nothing else.
    """
    packed = _packed(twin, cache, make)
    follow = follow_turns(packed, cache, turn_ms, make)
    if follow is None:
        return packed
    for each in (twin, packed):
        put_follow(each, follow)
    return _packed(twin, cache, make) if follow.value else packed


def _with_packets(twin: Twin, cache: Cache) -> Cache:
    """With the writes of a packet that were fitted, where nothing but the twin tells them."""
    section, key = "translation.cache", "packet_writes"
    if cache.append is None or packets_are_told(cache) or twin.is_unknown(section, key):
        return cache
    return replace(cache, append=replace(cache.append, packet_writes=Estimate.around(twin.number(section, key), 0.0)))


def _entries(twin: Twin, cache: Cache, make: Make) -> None:
    """What ends a fill, now that it is known what memory holds: does the twin find as much space if it has no limit?"""
    if cache.length is None or cache.small is None or cache.small.writes is None:
        return
    small, space = cache.small.writes, None
    ends = space_bound(cache, small)
    # How many writes share a visit decides where a visit takes space of its own; no formula tells how many.
    if (cache.layout.visit_tracks.value or cache.cleans_at_once) and not entries_end(cache, small):
        bench = make(twin.with_value("translation.cache", "entries", _NO_LIMIT).toml)
        space = filled(bench, cache, "small", int(_MORE_WRITES * cache.small.written)).writes
        # The twin's packets take as much space as the drive's to so much only.
        enough = _SPACE_BESIDE_BALLAST if cache.cleans_at_once else SPACE_ENDS
        by_twin = space is not None and small > (enough - gathered_vaguely(cache)) * space
        # The twin may stall at its first pass so shortly that this does not show; what takes all space ends with it.
        least_bytes = (small - twin.number("dram", "write_segments")) * gathered_bytes(cache)
        ends = by_twin or least_bytes > SPACE_ENDS * cache.length.bytes_found.value
    either = space is not None and small < SPACE_ENDS * space and not cache.cleans_at_once
    put_entries(twin, cache, int(twin.number("dram", "write_segments")), space_ends=ends, or_entries=either)


def _entries_gathered(twin: Twin, facts: Facts, cache: Cache, make: Make) -> None:
    """Of a drive that cleans under pressure: does a twin without a limit take as many, gathered, before it begins?"""
    found = cache.begins
    if found is None or not found.gathered or cache.marks is None or not cache.length or 0.5 not in cache.bands:
        return
    bench = make(twin.with_value("translation.cache", "entries", _NO_LIMIT).toml)
    high = cache.marks.high
    full = cache.length.bytes_found.scaled(high.value)
    space = gathered(filler_of(bench, cache), cache.bands[0.5], full, facts.turn_ms.value)
    # As many make them full, but for what its mark is known to.
    if space is not None and found.gathered < (SPACE_ENDS - 2 * high.half / high.value) * space:
        put_entries_gathered(twin, cache, facts.bursts.writes or 0)


def _memory(facts: Facts) -> list[Stage]:
    overhead_ms, turn_ms = facts.overhead_ms, facts.turn_ms.value
    stages = []
    # A cache whose length is not known takes other bursts along than the drive's does.
    alike = facts.cache is None or facts.cache.length is not None
    if facts.bursts.writes and alike:
        count = float(facts.bursts.writes)
        stages.append(
            Stage(
                "dram",
                "write_segments",
                1,
                _BUFFERED,
                count,
                max(0.004, max(_TWO_OFF, facts.bursts.writes_off + _HALF) / count),
                lambda bench: _burst(bench, overhead_ms, turn_ms, wide=facts.bursts.wide),
                "burst",
                between=True,
                counted=True,
                rises=True,
                # A log takes whole visits.
                leaving=1.0 if facts.cache is None else 0.0,
            )
        )
    if facts.bursts.bytes_taken and not facts.bursts.end_by_number:
        taken = float(facts.bursts.bytes_taken)
        # Whether what the drive writes at once had left memory just before it was full is luck, too.
        at_once = facts.cache.destage_bytes.value if facts.cache and facts.cache.destage_bytes else 0.0
        off_bytes = max(2 * dram.LARGE_BYTES, at_once, facts.bursts.bytes_off) + _HALF * dram.LARGE_BYTES
        stages.append(
            Stage(
                "dram",
                "write_bytes",
                BLOCK_BYTES,
                _LEAVING,
                taken,
                off_bytes / taken,
                lambda bench: _bytes(bench, overhead_ms, turn_ms, wide=facts.bursts.wide),
                "burst of large writes",
                doubted=("write_segments",),
                between=True,
                at_least="destage_bytes",
                counted=True,
                rises=True,
                leaving=dram.LARGE_BYTES if facts.cache is None else 0.0,
            )
        )
    return stages


def _packed(twin: Twin, cache: Cache, make: Make) -> Twin:
    if cache.many:
        return _as_fast(twin, cache.many, make)
    if not cache.run_ms:
        return twin
    stage = Stage(
        "translation.cache",
        "packet_writes",
        1,
        _PACKET_WRITES,
        cache.run_ms,
        0.002,
        appends.run_ms,
        "rate of small writes in sequence",
        between=True,
    )
    packed = _fitted(twin, stage, make)
    if packed.is_unknown(stage.section, "packet_tracks"):
        packed.doubt(stage.section, stage.key, f"fitted to the {stage.what} beside packet_tracks that are not")
    return packed


def _as_fast(twin: Twin, many: appends.Many, make: Make) -> Twin:
    """Of more writes a packet than any group had, the fewest with which many at a time take the twin no longer.

    Other costs of a visit would do as well: so many are not identified.
    """
    section, key = "translation.cache", "packet_writes"
    least = round(twin.number(section, key))
    most = max(round(twin.number(section, "packet_bytes")) // BLOCK_BYTES, least)

    def is_as_fast(writes: int) -> bool:
        bench = make(twin.with_value(section, key, writes).toml)
        return appends.many(bench, many.stretch).ms <= (1 + _AS_FAST) * many.ms

    fewest = least + bisect_left(range(least, most), True, key=is_as_fast)
    fast = twin.with_value(section, key, fewest)
    fast.doubt(section, key, f"at least {least}, for groups had no more; with {fewest} many take no longer")
    return fast


@dataclass(frozen=True)
class _Shown:
    """A time in which cleaning shows, and what tells the twin's."""

    wanted: Estimate
    what: str
    figure: Callable[[Bench], Estimate | None]
    collected: float
    """How many pieces were."""
    asked: Callable[[Twin], Twin] = lambda twin: twin
    beside_ms: float = 0.0
    """What may be in it that is of other bands."""


def _merging(twin: Twin, facts: Facts, cache: Cache, make: Make) -> list[Stage]:
    """The merge buffer shows in what cleaning a band takes: best where a write waits for that, else in a silence."""
    if 0.5 not in cache.bands or not band_size_is_known(facts):
        return []
    shown = _shown(twin, facts, cache, make)
    if shown is None:
        return []
    in_flash = cache.place == "flash"
    # What is cached of a band is collected, too, and how long that takes is known no better than it showed.
    vague_turns = cache.collect_turns.half if cache.collect_turns else _COLLECT_TURNS
    vague_ms = 0.0 if in_flash else shown.collected * vague_turns * facts.turn_ms.value
    # What was measured and what the twin does are known equally well.
    tolerance = (2 * shown.wanted.half + vague_ms + shown.beside_ms) / shown.wanted.value
    on_disk = bool(twin.value("translation.cleaning", _ON_DISK)) and not in_flash
    otherwise = ([_recorded(twin)] if on_disk else []) + (_other_passes(twin, facts) if cache.forced else [])
    return [
        Stage(
            "translation.cleaning",
            "merge_bytes",
            BLOCK_BYTES,
            _SCALES,
            shown.wanted.value,
            tolerance,
            lambda bench: _or_none(shown.figure(bench)),
            shown.what,
            shown.asked,
            other=_merging_elsewhere,
            otherwise=tuple(otherwise),
            doubted=(_ON_DISK,),
            between=True,
            # Of one that cleans at once that time is not known well enough to tell which is nearest.
            usual=not cache.cleans_at_once,
        )
    ]


def _shown(twin: Twin, facts: Facts, cache: Cache, make: Make) -> _Shown | None:
    if (cache.rest_ms is None and not cache.cleans_at_once) or (cache.forced is None and cache.band_ms is None):
        return None
    sight = Sight(facts.turn_ms.value, flash=cache.place == "flash", kept=facts.read_segments)
    rest_ms = cache.rest_ms or Estimate.around(REST_MS, 0.0)
    # Its bands have as many tracks as the drive's, but lie elsewhere, and on tracks that may be somewhat longer there.
    still = twin.at_rest() if cache.cleans_at_once else twin.aggressive()
    own = bands.measure(make(still.toml), 0.5, sight, rest_ms.high).bands or cache.bands[0.5]
    cache = replace(cache, bands=cache.bands | {0.5: own})
    if passes := cache.forced:
        # A pass of more bands than had pieces took along what else was there: the end of another, or the fillers' own.
        more = passes.bands < twin.number("translation.cleaning", "bands_per_pass")
        beside_ms = passes.ms.value / passes.bands if more else 0.0

        def forced_ms(bench: Bench) -> Estimate | None:
            # As many pieces as the drive got, which are more where its bands were known less well.
            found = forced.whole_passes(own, *forced_passes(bench, facts, cache), passes.pieces)
            return found.ms if found else None

        what, pieces = "time of a forced pass", passes.bands * passes.pieces
        return _Shown(passes.ms, what, forced_ms, pieces, beside_ms=beside_ms)
    assert cache.band_ms
    what = "time to clean a band"
    if cache.cleans_at_once:
        return _Shown(cache.band_ms, what, lambda bench: cleaned(Ballasted(bench), facts, own).band_ms(), 1.0)

    def in_silence(bench: Bench) -> Estimate | None:
        return band_time.band_ms(bench, own, sight, rest_ms.value, emptying(bench, cache))

    return _Shown(cache.band_ms, what, in_silence, float(band_time.PER_BAND), Twin.aggressive)


def _other_passes(twin: Twin, facts: Facts) -> list[Twin]:
    """Those whose passes clean as few bands, or as many, as the drive's may."""
    section, key = "translation.cleaning", "bands_per_pass"
    found = pass_of(facts)
    ends = {round(found.bands.low), round(found.bands.high)} if found and math.isfinite(found.bands.high) else set()
    return [twin.with_value(section, key, count) for count in sorted(ends - {round(twin.number(section, key)), 0})]


def _merging_elsewhere(twin: Twin) -> Twin:
    """On disk instead of not, or the other way round."""
    section = "translation.cleaning"
    other = twin.with_value(section, _ON_DISK, not twin.value(section, _ON_DISK))
    if not twin.is_unknown(section, _ON_DISK):
        other.doubt(section, _ON_DISK, "what cleaning a band takes tells otherwise")
    return other


def _beside(twin: Twin, stage: Stage, make: Make) -> None:
    """Writes and bytes that memory holds were fitted beside each other: of what is not known others have to agree."""
    if twin.is_unknown("dram", stage.key):
        return
    for key in (key for key in _HELD if twin.is_unknown("dram", key)):
        value, grain = twin.number("dram", key), _HELD[key]
        least = twin.number("dram", "destage_bytes") / grain if grain > 1 else 1
        for size in (max(round(scale * value / grain), round(least)) * grain for scale in _OTHERWISE):
            if _asked(twin.with_value("dram", key, size), stage, make).miss > stage.tolerance:
                twin.doubt("dram", stage.key, f"with other {key}, which are not, the {stage.what} is another")
                return


def _fitted(twin: Twin, stage: Stage, make: Make) -> Twin:
    """The candidate that comes nearest to what was measured."""
    tried = _tried(twin, stage, make)
    if stage.other is not None and _least(tried) > _CLEARLY * stage.tolerance:
        # Where that does not agree either, nothing is known, and nothing is changed.
        others = _tried(stage.other(twin), stage, make)
        tried = others if _least(others) <= stage.tolerance else tried
    showing = [one for one in tried if one.share < np.inf]
    if not showing:
        twin.doubt(stage.section, stage.key, f"the twin does not show the {stage.what}")
        return _doubting(twin, stage)
    least = _least(tried)
    best = _chosen(stage, showing, twin.number(stage.section, stage.key)).twin
    tolerance = stage.tolerance_of(best.number(stage.section, stage.key))
    agreeing = [one.value for one in showing if one.miss <= max(tolerance, least)]
    for otherwise in stage.otherwise:
        agreeing += [one.value for one in _try(otherwise, stage, stage.candidates, make) if one.miss <= tolerance]
    low, high = _span(stage, tried, agreeing)
    origin = f"measured: {low:.0f}..{high:.0f} by characterize, fitted to the {stage.what}"
    if least > tolerance:
        best.misses[stage.what] = least
        origin = f"{UNKNOWN}; nearest to the {stage.what} of all that were tried, and {least:.0%} off"
        best = _doubting(best, stage)
    elif stage.rises and _falls(tried, tolerance):
        origin = f"{UNKNOWN}; the {stage.what} of a twin does not rise with it"
    elif stage.rises and low <= min(one.value for one in tried):
        origin = f"{UNKNOWN}; at most {high:.0f}, and less may make the {stage.what} no shorter"
    elif stage.rises and high >= max(one.value for one in tried) and _agrees_with_more(best, stage, make):
        origin = f"{UNKNOWN}; at least {low:.0f}, for more make the {stage.what} no longer"
    elif high > _VAGUE * low or (not stage.rises and high >= max(one.value for one in tried)):
        origin = f"{UNKNOWN}; anything of {low:.0f}..{high:.0f} agrees with the {stage.what}"
    best.put(stage.section, stage.key, best.value(stage.section, stage.key), origin)
    return best


def _chosen(stage: Stage, showing: list[_Tried], direct: float) -> _Tried:
    """Nothing is changed without need: of the candidates that agree the one nearest to the direct estimate.

    Where that is a usual value it has to come as near as any, but for what may be luck with angles. Whoever merges all
    of a band has none: where such come nearest it is no excuse.
    """
    least = _least(showing)
    near = [one for one in showing if one.miss <= max(stage.tolerance, least)]
    if stage.counted:
        direct = _middle([one for one in near if one.miss == least])
    elif stage.usual:
        nearest = [one for one in near if one.miss <= least + _AS_NEAR]
        whole = max(showing, key=lambda one: one.value) in nearest
        alike = nearest if whole else [one for one in near if one.miss <= least + _BY_LUCK]
        direct = direct if direct in (one.value for one in alike) else _middle(nearest)
    return min(near, key=lambda one: abs(float(np.log(one.value / direct))))


def _middle(tried: list[_Tried]) -> float:
    values = [one.value for one in tried]
    return math.sqrt(min(values) * max(values))


def _doubting(twin: Twin, stage: Stage) -> Twin:
    for key in stage.doubted:
        if not twin.is_unknown(stage.section, key):
            twin.doubt(stage.section, key, "nothing agrees with it")
    return twin


def _falls(tried: list[_Tried], tolerance: float) -> bool:
    """Whether what they do falls where the value rises, by more than two of them are known to."""
    most = 0.0
    for one in sorted(tried, key=lambda one: one.value):
        if one.share < most - 2 * tolerance:
            return True
        most = max(most, one.share)
    return False


def _agrees_with_more(best: Twin, stage: Stage, make: Make) -> bool:
    """Whether much more than any candidate does the same: then something else ended what was measured."""
    more = round(_OTHERWISE[-1] * stage.wanted / stage.grain) * stage.grain
    return _asked(best.with_value(stage.section, stage.key, more), stage, make).miss <= stage.tolerance


def _tried(twin: Twin, stage: Stage, make: Make) -> list[_Tried]:
    """What was found with each candidate."""
    tried = _try(twin, stage, stage.candidates, make)
    showing = [one for one in tried if one.share < np.inf]
    if showing and stage.between:
        at = min(range(len(showing)), key=lambda number: showing[number].miss)
        around = [one.value / twin.number(stage.section, stage.key) for one in showing[max(at - 1, 0) : at + 2]]
        tried += _try(twin, stage, tuple(float(scale) for scale in np.geomspace(around[0], around[-1], _FINER)), make)
    return tried


def _try(twin: Twin, stage: Stage, scales: tuple[float, ...], make: Make) -> list[_Tried]:
    direct = twin.number(stage.section, stage.key)
    least = math.ceil(twin.number(stage.section, stage.at_least) / stage.grain) if stage.at_least else 1
    # Several shares of a small whole number are the same one.
    values = dict.fromkeys(max(round(direct * scale / stage.grain), least) * stage.grain for scale in scales)
    return [_asked(twin.with_value(stage.section, stage.key, value), stage, make) for value in values]


def _asked(candidate: Twin, stage: Stage, make: Make) -> _Tried:
    figure = stage.figure(make(stage.asked(candidate).toml))
    share = np.inf if figure is None else figure / stage.wanted
    return _Tried(share, candidate.number(stage.section, stage.key), candidate)


def _least(tried: list[_Tried]) -> float:
    return min((one.miss for one in tried), default=np.inf)


def _span(stage: Stage, tried: list[_Tried], near: list[float]) -> tuple[float, float]:
    """From the least to the largest that agree; half way to the next that do not, where values between may be meant.

    Those with another figure come before those that never show it, which agree as little.
    """
    low, high = min(near), max(near)
    if not stage.between:
        return low, high
    showing, hidden = ([one.value for one in tried if (one.share < np.inf) is shown] for shown in (True, False))
    less = max([value for value in showing if value < low] or [value for value in hidden if value < low], default=low)
    more = min(
        [value for value in showing if value > high] or [value for value in hidden if value > high], default=high
    )
    # Values are whole. Outwards, but of two neighbours the one that does not agree is shut out.
    outer = math.floor((low * less) ** 0.5), math.ceil((high * more) ** 0.5)
    return outer[0] if outer[0] > less else low, outer[1] if outer[1] < more else high


def _burst(bench: Bench, overhead_ms: float, turn_ms: float, *, wide: bool) -> float | None:
    _, _, writes = dram.first_look(bench, dram.waited_ms(overhead_ms, turn_ms), wide=wide)
    return None if writes is None else float(writes)


def _bytes(bench: Bench, overhead_ms: float, turn_ms: float, *, wide: bool) -> float | None:
    if wide:
        taken = dram.taken_all_over(bench, overhead_ms, turn_ms)
    else:
        taken = dram.bursts(bench, overhead_ms, turn_ms).bytes_taken
    return None if taken is None else float(taken)


def _or_none(found: Estimate | None) -> float | None:
    return None if found is None else found.value
