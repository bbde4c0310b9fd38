"""What an entry is, a write or a packet of several: told by groups of writes that leave their last packet nearly empty.

Where a visit to the log takes space of its own, single durable writes end with the space. Groups of a few packets share
it, but the last packet of a group holds one write: if packets count, the end comes sooner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shakedown.fit.estimate import Estimate
from shakedown.fit.layout import Layout

# Of the way from one end to the other, as a power: what is not near to either tells nothing.
_NEAR: Final = 1 / 3
_LEAST_APART: Final = 1.03


@dataclass(frozen=True)
class Groups:
    """How a fill is done, and after how many writes it stalls."""

    writes: int
    """Of a group: it is durable before the next one begins."""
    packets: int
    by_packet: float
    """Writes until the first stall if packets count."""
    otherwise: float
    """If writes do, or where space ends, if that is sooner."""

    @property
    def apart(self) -> float:
        """How many times as many."""
        return self.otherwise / self.by_packet

    def counts_packets(self, met: int) -> bool | None:
        """What so many writes until the first stall tell; None: nothing, as where neither allows so few."""
        if met < self.by_packet / self.apart**_NEAR:
            return None
        if met <= self.by_packet * self.apart**_NEAR:
            return True
        return False if met >= self.by_packet * self.apart ** (1 - _NEAR) else None


def groups(small: Estimate, held: int, layout: Layout, length_bytes: Estimate, most_together: int) -> Groups | None:
    """Those that tell most, if any do, where ``small`` writes end a fill of packets that hold so many.

    No more than ``most_together`` writes go to the log in one visit for certain.
    """
    vague = 1 + small.half / small.value + length_bytes.half / length_bytes.value

    def with_packets(count: int) -> Groups:
        writes = (count - 1) * held + 1
        room = length_bytes.value / layout.group_bytes(writes, held) * writes
        return Groups(writes, count, small.value * writes / (count * held), min(small.value, room))

    tried = [with_packets(count) for count in range(2, (most_together - 1) // held + 2)]
    best = max(tried, key=lambda one: one.apart, default=None)
    return best if best and best.apart >= max(vague ** (1 / _NEAR), _LEAST_APART) else None
