"""What a drive without room does before it goes on, as the twin says it: passes, rations, bands between visits."""

from __future__ import annotations

import math
from typing import Final

from shakedown.fit.cache import Cache
from shakedown.fit.cleaning import band_tracks
from shakedown.fit.cleaning.band_time import Pass, pass_over
from shakedown.fit.estimate import Estimate
from shakedown.fit.facts import Facts
from shakedown.fit.log.turns import times_as_many
from shakedown.fit.twin import BY, UNKNOWN, Twin

_CLEARLY_MORE: Final = 1.5
_FEW_OF_BAND: Final = 0.5
_SAME_VISITS: Final = 0.02


def put_pass(twin: Twin, facts: Facts) -> None:
    """What a drive without room does before it goes on."""
    section, cache, found = "translation.cleaning", facts.cache, pass_of(facts)
    if cache and cache.pass_bands:
        shown = "how much room a pass makes" if cache.cleans_at_once else "what goes home beside what has to"
        twin.put(section, "bands_per_pass", cache.pass_bands, f"measured: {shown} {BY}")
        return
    if cache is None or found is None:
        twin.put(section, "bands_per_pass", *_assumed_pass(twin, facts))
        return
    if math.isinf(found.bands.high):
        twin.put_at_least(section, "bands_per_pass", found.bands, "one pass cleaned all that was to be")
        return
    twin.put_measured(section, "bands_per_pass", found.bands, 0)
    visits = cache.ration.visits if cache.ration else found.ration
    # What waits each time the journal is written is no pass.
    if visits and not (cache.journal and abs(visits - cache.journal.every) <= _SAME_VISITS * visits):
        twin.put(section, "ration_appends", visits, f"measured: writes between forced passes {BY}")
        _until(twin, cache)
    else:
        _turns(twin, cache, found.bands)


def _until(twin: Twin, cache: Cache) -> None:
    """How full the log is when writes are no longer rationed."""
    section, key = "translation.cleaning", "ration_until"
    if cache.ration is None or cache.length is None:
        twin.put(section, key, 0.99, f"{UNKNOWN}; soon, and the rate on a full cache depends on it")
        return
    room, log_bytes = cache.ration.room, cache.length.bytes_found.value
    if math.isinf(room.high):
        most = 1 - room.low / log_bytes
        twin.put(section, key, round(most, 4), f"{UNKNOWN}; at most {most:.4f}, down to which they were")
        return
    twin.put_measured(section, key, Estimate(*(1 - one / log_bytes for one in (room.value, room.high, room.low))), 4)


def _turns(twin: Twin, cache: Cache, bands: Estimate) -> None:
    """Bands of a pass that comes between visits, if a full drive cleans more for a host that does not pause."""
    if cache.small is None or cache.single is None or cache.single.passes_apart is None:
        return
    # A visit that takes as much as a band has needs more room than one band makes.
    if cache.in_memory is None or cache.in_memory > _FEW_OF_BAND * cache.single.passes_apart.low:
        return
    # Else it cleans the bands with most writes, which are larger where more fit in.
    if cache.most_dirty_first is not False:
        return
    more = times_as_many(cache.small.passes_apart, cache.single.passes_apart)
    if more is None or more.low < _CLEARLY_MORE:
        return
    section, value = "translation.cleaning", round(more.value * bands.value)
    # Where one pass makes room enough, how many visits there are to the next does not show.
    twin.put(section, "ration_appends", 1, f"{UNKNOWN}; in turns")
    twin.put(section, "ration_until", 0.99, f"{UNKNOWN}; soon")
    twin.put_measured(section, "ration_bands", Estimate(value, more.low * bands.low, more.high * bands.high), 0)


def _assumed_pass(twin: Twin, facts: Facts) -> tuple[int, str]:
    """Where bands are not known: as many of the twin's as free the room that a pass did, and so stall as long."""
    cache = facts.cache
    if cache is None or not cache.length or cache.by_pressure:
        return 1, UNKNOWN
    tracks = twin.number("translation", "tracks_per_band")
    passed = pass_over(cache.length, cache.marks_at, facts.capacity_bytes, lambda at: tracks * facts.track_bytes(at))
    return round(passed.bands.value), f"{UNKNOWN}; what a pass frees, in bands of {tracks:.0f} tracks"


def pass_of(facts: Facts) -> Pass | None:
    """What a forced pass does, from its stalls over marks."""
    cache = facts.cache
    if cache is None or not cache.length or cache.by_pressure or not band_size_is_known(facts):
        return None
    return cache.passed(facts.capacity_bytes)


def band_size_is_known(facts: Facts) -> bool:
    """Without it nothing is known that is counted in bands."""
    return bool(facts.band_counts and band_tracks.agree(facts.band_counts))
