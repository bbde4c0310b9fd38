"""What an entry is, a write or a packet of several, where single durable writes end with the space.

Groups of a few packets share what a visit to the log takes of that, but the last packet of a group holds one write: if
packets count, the end comes sooner. Where visits take so much that no groups tell, every other write overwrites an
older one: then half of the writes that the log has taken are worth nothing any more, but hardly any packet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shakedown.fit.estimate import Estimate
from shakedown.fit.log.layout import Layout

# Of the way from one end to the other, as a power: what is not near to either tells nothing.
_NEAR: Final = 1 / 3
_LEAST_APART: Final = 1.03
_OUTLASTED: Final = 4
_FEW: Final = 0.1
_SAME: Final = 0.02
_BEYOND: Final = 1.2
_LEAST_BEYOND: Final = 1.05
_SPACE_LEFT: Final = 0.95


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


@dataclass(frozen=True)
class Overwriting:
    """A fill of which every other write overwrites one of the first, and after how many it stalls."""

    again: int
    """How many are overwritten, over and over."""
    by_packet: tuple[float, float]
    """Writes until the first stall, if packets count: as memory takes them, or in whatever order it gives them away."""
    most: int
    """How many writes are tried: far more than that."""

    def counts_packets(self, stalled: int | None) -> bool | None:
        """What the first stall tells, or that there is none; None: nothing, as where space may have ended it."""
        if stalled is None or stalled > (1 + _SAME) * max(self.by_packet):
            return False
        return True if any(abs(stalled / one - 1) <= _SAME for one in self.by_packet) else None


def overwriting(small: int, held: int, room: float, in_memory: int, round_writes: int) -> Overwriting | None:
    """One that tells, where ``small`` writes end a fill of packets that hold so many, and there is space for ``room``.

    What is overwritten has left memory, which holds so many; it is a whole number of rounds over all logs.
    """
    again = -(-_OUTLASTED * in_memory // round_writes) * round_writes
    # Those that are overwritten leave whole packets; and by chance some hold nothing but what overwrites them.
    by_packet = (float(small + again), again + small / (1 - 0.5**held))
    most = int(min(_BEYOND * max(by_packet), _SPACE_LEFT * room))
    if again > _FEW * small or most < _LEAST_BEYOND * max(by_packet):
        return None
    return Overwriting(again, by_packet, most)
