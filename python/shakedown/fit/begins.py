"""With how many entries a drive begins to clean that waits for no silence: it does as many small writes before that.

From then on an operation of cleaning comes after each of the host's, and most are late.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shakedown.fit.append import most_at_once
from shakedown.fit.bands import Bands
from shakedown.fit.dram import Bursts
from shakedown.fit.estimate import Estimate
from shakedown.fit.forced import FREE_BANDS
from shakedown.fit.length import Filler
from shakedown.fit.place import scattered
from shakedown.fit.pressure import empty
from shakedown.fit.trace import BLOCK_BYTES, Bench, Floats, Ints, Trace, in_one_go

_LATE_TURNS: Final = 1.5
_LATE_OF: Final = 10
# A pass over a small band has no more; a journal, or a host that is late, comes alone.
_LATE: Final = 3
_PERHAPS_LATE: Final = 2
_FIRST_VISITS: Final = 400
# Twenty minutes, of a drive whose entries are too many to show.
_MOST_VISITS: Final = 100_000
_MORE_THAN_ENOUGH: Final = 1.05
_SHARE_OF_BAND: Final = 0.5
_AGREE: Final = 0.02
_SURELY: Final = 0.8


@dataclass(frozen=True)
class Begins:
    """After how many small writes a drive begins to clean for their number, and not for their space."""

    count: int | None
    """Writes, or packets if those count; None: it does not for as many as there were."""
    by_packet: bool | None = None
    """Whether packets count; None: not known, each write was one."""
    least: int = 0
    """So many writes did not make it begin; 0: that is not known."""


@dataclass(frozen=True)
class Stretch:
    """Where to fill: bands that lie side by side, of each a part, lest what is written twice counts once."""

    first: int
    size_bytes: int
    """Of a band, in whole blocks."""

    @property
    def each(self) -> int:
        """How many small writes go to one."""
        return max(int(_SHARE_OF_BAND * self._slots), 1)

    @property
    def _slots(self) -> int:
        return self.size_bytes // BLOCK_BYTES

    def places(self, begin: int, count: int) -> Ints:
        """The next ones, from number ``begin`` on."""
        number = np.arange(begin, begin + count)
        inside = scattered(self.each, 0, self._slots, BLOCK_BYTES)
        return self.first + number // self.each * self.size_bytes + inside[number % self.each]


def begins(filler: Filler, band: Bands, high: Estimate, turn_ms: float, packet_writes: int, bursts: Bursts) -> Begins:
    """After how many small writes, from a ``band`` on, the drive begins to clean, if that is so twice.

    Those that surely share a packet are durable together: that takes a part of the time, and whether packets count
    shows where as many packets of one write make it begin as well.
    """
    together = min(packet_writes, most_at_once(bursts)) if bursts.write_back else 1
    size_bytes = int(band.size_bytes.value) // BLOCK_BYTES * BLOCK_BYTES
    first = int(band.border + FREE_BANDS * size_bytes) // BLOCK_BYTES * BLOCK_BYTES
    course = _Course(filler, Stretch(first, size_bytes), high, turn_ms)
    groups, written = course.until_late(together)
    if groups is None:
        return Begins(None, least=written * together)
    alone, _ = course.until_late(1, int(_MORE_THAN_ENOUGH * groups))
    if alone is not None:
        by_packet = True if together > 1 else None
        return Begins(alone, by_packet) if _agree(alone, groups) else Begins(None)
    if together == 1:
        return Begins(None)
    again, _ = course.until_late(together)
    return Begins(groups * together, by_packet=False) if again and _agree(again, groups) else Begins(None)


def _agree(one: int, other: int) -> bool:
    return abs(one / other - 1) < _AGREE


@dataclass(frozen=True)
class _Course:
    filler: Filler
    where: Stretch
    high: Estimate
    turn_ms: float

    @property
    def bench(self) -> Bench:
        return self.filler.bench

    @in_one_go
    def until_late(self, group: int, most: int = _MOST_VISITS) -> tuple[int | None, int]:
        """Behind how many groups, each durable, cleaning begins, and how many surely began none.

        There are no more than space allows.
        """
        bench, layout = self.bench, self.filler.layout
        room = (bench.capacity_bytes - self.where.first) // self.where.size_bytes * self.where.each // group
        by_space = _SURELY * self.high.low / layout.group_bytes(group, group)
        most = int(min(most, room, by_space))
        empty(self.filler.near(self.where.first), self.high)
        cycles: list[Floats] = []
        done, chunk = 0, _FIRST_VISITS
        while done < most:
            chunk = min(chunk, room - done)
            places = self.where.places(done * group, chunk * group)
            log = bench.play("entries", Trace.writes(places, flush_every=group))
            cycles.append(log.cycle_ms.reshape(-1, group).sum(axis=1))
            done += chunk
            late = _late_from(np.concatenate(cycles), self.turn_ms, _LATE)
            if late is not None:
                return (late if late <= most else None), min(late, most)
            chunk = max(_FIRST_VISITS, done // 4)
        perhaps = _late_from(np.concatenate(cycles), self.turn_ms, _PERHAPS_LATE) if cycles else 0
        return None, most if perhaps is None else min(perhaps, most)


def _late_from(cycle_ms: Floats, turn_ms: float, many: int) -> int | None:
    """The first write that is late and one of so ``many`` late ones among a few."""
    late = cycle_ms > float(np.median(cycle_ms[: _FIRST_VISITS // 2])) + _LATE_TURNS * turn_ms
    sums = np.append(0, np.cumsum(late))
    crowded = np.flatnonzero(late[: 1 - _LATE_OF] & (sums[_LATE_OF:] - sums[:-_LATE_OF] >= many))
    return int(crowded[0]) if len(crowded) else None
