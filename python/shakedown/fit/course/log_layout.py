"""Where the log of a persistent cache lies, and what a write takes of it."""

from __future__ import annotations

from shakedown.fit.cache import VISIT_PACKETS, Cache
from shakedown.fit.drive.whereabouts import Sight
from shakedown.fit.estimate import Estimate
from shakedown.fit.facts import SHARE_OF_PLACE, Facts
from shakedown.fit.log import append as appends
from shakedown.fit.log import destage, layout, log_track, regions
from shakedown.fit.place import aligned
from shakedown.fit.trace import Bench

# Where none is measured: what the drives have that were looked into by others.
_PACKET_BYTES = 524_288


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
    first = aligned(cache.marks_at * bench.capacity_bytes)
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


def destaged(bench: Bench, facts: Facts, cache: Cache) -> Estimate | None:
    """What is written to the log at once, if memory is known and the cache can take a run that fills it."""
    size, held = destage.request_bytes(cache.streams), facts.bursts.bytes_taken
    if size is None or held is None or cache.bytes_found is None:
        return None
    waited_ms = facts.overhead_ms + 0.25 * facts.turn_ms.value
    found = destage.measure(bench, size, held, cache.bytes_found, waited_ms)
    cost = cache.append
    writes = cost.packet_writes.value if cost and cost.packet_writes else 1
    # Where a visit ends because it has as many packets as one may have, nothing is known but that.
    if found is None or found.high >= VISIT_PACKETS * writes * size:
        # How many writes a packet holds may show in nothing but a rate, later on: then it may be so all the same.
        cache.destage_seen = found if cost and cost.packet_writes is None else None
        return None
    # A visit ends with a whole packet: the last one goes beyond what is wanted by as much as itself.
    packet_bytes = int(cost.packet_bytes.value) if cost and cost.packet_bytes else _PACKET_BYTES
    in_packet = packet_bytes // size
    if cost and cost.packet_writes is None:
        # One that holds as many as fit.
        return Estimate(found.value, found.low - max(in_packet - 1, 0) * size, found.high)
    beyond = max(min(int(writes), in_packet) - 1, 0) * size
    return Estimate(found.value - beyond / 2, found.low - beyond, found.high)
