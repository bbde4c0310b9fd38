"""How large a packet may be, where nothing else shows it: a full log is approached in smaller and smaller visits.

A drive that writes to its log only what certainly fits counts each packet as large as it may be. So near the end a
visit takes fewer and fewer of the small ones that really come, and visits cost more than writes do.
"""

from __future__ import annotations

from typing import Final

from shakedown.fit.estimate import Estimate
from shakedown.fit.log.append import Append
from shakedown.fit.log.layout import Layout
from shakedown.fit.trace import BLOCK_BYTES

_VISIT_PACKETS: Final = 64
_SMALLEST_BYTES: Final = 1 << 15
_LARGEST_BYTES: Final = 1 << 24
_FINE: Final = 1.01
_LEAST_VISITS: Final = 20


def packet_bytes(lost_ms: float, cost: Append, layout: Layout, turn_ms: float, write_ms: float) -> Estimate | None:
    """From what the last small writes took longer in all than others; ``write_ms`` is what the host needs for one.

    None where too little is lost, or packets of any size would lose as much.
    """
    if lost_ms < _LEAST_VISITS * cost.append_turns.value * turn_ms:
        return None
    # Where it does not show how many share a packet, it does not matter.
    writes = int(cost.packet_writes.value) if cost.packet_writes else 1

    def found(append_turns: float) -> float | None:
        """Of which size they lose as much, if a visit takes so many turns."""
        low, high = float(_SMALLEST_BYTES), float(_LARGEST_BYTES)
        lost = [_lost_ms(size, append_turns, cost, writes, layout, turn_ms, write_ms) for size in (low, high)]
        if not lost[0] < lost_ms < lost[1]:
            return None
        while high > _FINE * low:
            middle = (low * high) ** 0.5
            less = _lost_ms(middle, append_turns, cost, writes, layout, turn_ms, write_ms) < lost_ms
            low, high = (middle, high) if less else (low, middle)
        return float((low * high) ** 0.5)

    turns = cost.append_turns
    value, low, high = (found(each) for each in (turns.value, turns.high, turns.low))
    return Estimate(value, low, high) if value and low and high else None


def _lost_ms(
    size: float, append_turns: float, cost: Append, writes: int, layout: Layout, turn_ms: float, write_ms: float
) -> float:
    """What the writes lose to which there is room for fewer packets of ``size`` than a visit takes."""
    space = layout.gathered_bytes(writes, 1) * writes - layout.visit_bytes
    packet_ms = (cost.packet_turns.value + max(space, BLOCK_BYTES) / layout.track_bytes) * turn_ms

    def visit_ms(packets: int) -> float:
        return max(append_turns * turn_ms + packets * packet_ms, packets * writes * write_ms)

    each_ms = visit_ms(_VISIT_PACKETS) / (_VISIT_PACKETS * writes)
    room, lost = _VISIT_PACKETS * size, 0.0
    while (packets := min(int(room // size), _VISIT_PACKETS)) > 0:
        lost += visit_ms(packets) - packets * writes * each_ms
        room -= packets * space + layout.visit_bytes
    return lost
