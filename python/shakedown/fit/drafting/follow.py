"""What a visit to the log takes longer that begins right where the last one ended: its place has just gone by.

Durable writes do not show it, for the host pauses between them. Where a full memory is emptied, visits follow each
other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from shakedown.fit.cache import Cache
from shakedown.fit.course.find import filled
from shakedown.fit.estimate import Estimate
from shakedown.fit.log.pace import Pace
from shakedown.fit.trace import Bench
from shakedown.fit.twin import Twin

_SECTION: Final = "translation.cache"
_KEY: Final = "follow_turns"
# As geometry has it: a visit waits half a turn on the mean, and a whole one for what has just gone by.
_TURNS: Final = 0.5
_WRITES: Final = 6000
# By which share of a turn a period has to become longer with it, that it shows.
_SHOWS: Final = 0.5


def follow_turns(twin: Twin, cache: Cache, turn_ms: float, make: Callable[[str], Bench]) -> Estimate | None:
    """What makes the twin's memory as fast as the drive's; none unless it is needed. None: it does not show."""
    small, cost = cache.small, cache.append
    if small is None or small.pace is None or cost is None or cache.flash or not cache.layout.explains:
        return None
    seen, most = small.pace, min(small.written, _WRITES)

    def pace(key: str, more: float) -> Pace | None:
        changed = twin.with_value(_SECTION, key, twin.number(_SECTION, key) + more)
        return filled(make(changed.toml), cache, "small", most).pace

    plain, longer = pace(_KEY, 0.0), pace(_KEY, _TURNS)
    if plain is None or longer is None or {plain.writes, longer.writes} != {seen.writes}:
        return None
    each_ms = (longer.ms.value - plain.ms.value) / _TURNS
    if each_ms < _SHOWS * turn_ms:
        return None
    # What is not known of the cost of a visit is not known of this either.
    vague_ms = seen.ms.half + plain.ms.half
    for key, known in (("append_turns", cost.append_turns), ("packet_turns", cost.packet_turns)):
        other = pace(key, known.half)
        vague_ms += abs(other.ms.value - plain.ms.value) if other else known.half * each_ms
    found = Estimate.around((seen.ms.value - plain.ms.value) / each_ms, vague_ms / each_ms)
    return found if found.low > 0 else Estimate(0.0, 0.0, max(found.high, 0.0))
