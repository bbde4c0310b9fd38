"""Where the log of a persistent cache lies, and what a write takes of it."""

from __future__ import annotations

from shakedown.fit import append as appends
from shakedown.fit import layout, length, log_track, regions
from shakedown.fit.cache import Cache
from shakedown.fit.facts import SHARE_OF_PLACE, Facts
from shakedown.fit.place import aligned
from shakedown.fit.trace import Bench
from shakedown.fit.whereabouts import Sight


def find_layout(bench: Bench, facts: Facts, cache: Cache, sight: Sight, settle_ns: int) -> appends.Stretch:
    """Put down in ``cache`` what writes take of a log, and how many there are; where to write what goes into one.

    ``settle_ns`` is how long the drive needs for what rewriting leaves in its log.
    """
    share = SHARE_OF_PLACE[cache.place]
    cache.layout = layout.Layout.without_gaps(facts.track_bytes(share))
    stretch = appends.Stretch.usual(bench.capacity_bytes)
    if sight.flash:
        return stretch
    # Of a cache in several places this is to be the one whose length is measured.
    first = aligned((0.5 if 0.5 in cache.bands else length.MARKS_AT) * bench.capacity_bytes)
    angles = layout.measure(bench, sight, first, settle_ns)
    turn_bytes = facts.rate(share * facts.capacity_bytes) * sight.turn_ms / 1e3
    skew = cache.layout.track_bytes / turn_bytes - 1
    bench.idle(settle_ns)
    steps = log_track.measure(bench, sight, first)
    skews, whole_bytes = facts.skews or (skew,), min(facts.commands)
    track_bytes = log_track.estimate(steps, cache.layout.track_bytes, skews, sight.blur, whole_bytes)
    cache.layout = layout.estimate(
        angles, track_bytes / (1 + skew), track_bytes, facts.skews, sight.blur, facts.commands
    )
    borders = regions.measure(bench, facts.surface, sight, facts.skews or (skew,), cache.layout)
    cache.regions, cache.borders = len(borders) + 1, tuple(borders)
    if not borders:
        return stretch
    cache.place = "spread"
    return appends.Stretch.within(borders, first, bench.capacity_bytes)
