"""With how many entries a drive begins to clean that waits for no silence: it does as many small writes before that.

From then on an operation of cleaning comes after each of the host's, and most are late.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shakedown.fit.cleaning.bands import Bands
from shakedown.fit.cleaning.forced import FREE_BANDS
from shakedown.fit.cleaning.pressure import empty
from shakedown.fit.drive.dram import Bursts
from shakedown.fit.estimate import Estimate
from shakedown.fit.log.append import most_at_once
from shakedown.fit.log.length import Filler
from shakedown.fit.place import scattered
from shakedown.fit.trace import BLOCK_BYTES, Bench, Floats, Ints, Trace, in_one_go, whole_blocks

_LATE_TURNS: Final = 1.5
_LATE_OF: Final = 10
# A pass over a small band has no more; a journal, or a host that is late, comes alone.
_LATE: Final = 3
_PERHAPS_LATE: Final = 2
_FIRST_VISITS: Final = 400
# Forty minutes, of a drive whose entries are too many to show.
_MOST_VISITS: Final = 200_000
_MORE_THAN_ENOUGH: Final = 1.05
_SHARE_OF_BAND: Final = 0.5
_AGREE: Final = 0.02
_TRIES: Final = 4
_SURELY: Final = 0.8
_CALM_SHARE: Final = 0.9
_FEWEST_CALM: Final = 8
_FIRST_GATHERED: Final = 4000
_MOST_GATHERED: Final = 16_000_000
# What a write waits for while memory is full, of what it takes that memory has room for.
_WAITS: Final = 5.0
# As many whole packets before one of a single write that a quarter more groups fill the log if writes count.
_WHOLE_PACKETS: Final = 4
_MORE_PACKETS: Final = 1.25


@dataclass(frozen=True)
class Begins:
    """After how many small writes a drive begins to clean for their number, and not for their space."""

    count: int | None
    """Writes, or packets if those count; None: it does not for as many as there were."""
    by_packet: bool | None = None
    """Whether packets count; None: not known, each write was one."""
    least: int = 0
    """So many writes did not make it begin; 0: that is not known."""
    grain: int = 1
    """Writes, or packets, that the count is known to."""
    gathered: int | None = None
    """How many begin it as fast as they are taken, where no number that is durable does; None: not tried, or none."""


@dataclass(frozen=True)
class Stretch:
    """Where to fill: bands that lie side by side, of each a part, lest what is written twice counts once."""

    first: int
    size_bytes: int
    """Of a band, in whole blocks."""

    @staticmethod
    def behind(band: Bands) -> Stretch:
        """Some bands behind one, and all that follow."""
        size_bytes = whole_blocks(band.size_bytes.value)
        return Stretch(whole_blocks(band.border + FREE_BANDS * size_bytes), size_bytes)

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
    most = most_at_once(bursts) if bursts.write_back else 1
    together = min(packet_writes, most)
    course = _Course(filler, Stretch.behind(band), high, turn_ms, together)
    groups, written = course.until_late(together)
    if groups is None:
        return _in_large_groups(course, most, written * together)
    alone = course.not_before(groups, 1, int(_MORE_THAN_ENOUGH * groups))
    if alone is not None:
        by_packet = True if together > 1 else None
        return Begins(alone, by_packet) if _agree(alone, groups) else Begins(None)
    if together == 1:
        return Begins(None)
    again = course.not_before(groups, together)
    return Begins(groups * together, by_packet=False) if again and _agree(again, groups) else Begins(None)


def gathered(filler: Filler, band: Bands, high: Estimate, turn_ms: float) -> int | None:
    """After how many small writes, as fast as they are taken, cleaning begins, for whatever reason; None: after none.

    Memory gathers far more of them for a visit than any group that is surely one.
    """
    course = _Course(filler, Stretch.behind(band), high, turn_ms, 1)
    return course.until_waits_are_late()


def _in_large_groups(course: _Course, most: int, least: int) -> Begins:
    """The same with as many writes at once as memory surely holds: a visit to the log takes time and space, too."""
    packet_writes = course.packet_writes
    course = replace(course, calm_writes=int(_CALM_SHARE * least))
    # Of a small log not so many, lest the first are as late as the others.
    group = min(most, course.calm_writes // _FEWEST_CALM) // packet_writes * packet_writes
    if group <= packet_writes:
        return Begins(None, least=least)
    found, surely = course.until_late(group)
    if found is None:
        return Begins(None, least=max(least, surely * group))
    again = course.not_before(found, group)
    if again is None or not _agree(found, again):
        return Begins(None)
    if packet_writes == 1:
        return Begins(found * group, grain=group)
    return _with_single_writes(course, found * group, group)


def _with_single_writes(course: _Course, writes: int, grain: int) -> Begins:
    """What counts, where so many ``writes`` in whole packets make it begin: groups with a packet of one tell."""
    packet_writes = course.packet_writes
    whole = max(int(_WHOLE_PACKETS * (1 - _MORE_PACKETS / packet_writes)), 1)
    odd = whole * packet_writes + 1
    by_writes, by_packets = writes / odd, writes / packet_writes / (whole + 1)
    found = course.not_before(int(by_packets), odd, int(_MORE_THAN_ENOUGH * by_writes))
    if found is not None and _agree(found, by_writes):
        return Begins(writes, by_packet=False, grain=grain)
    if found is not None and _agree(found, by_packets):
        return Begins(found * (whole + 1), by_packet=True, grain=whole + 1)
    return Begins(None, least=writes)


def _agree(one: float, other: float) -> bool:
    return abs(one / other - 1) < _AGREE


@dataclass(frozen=True)
class _Course:
    filler: Filler
    where: Stretch
    high: Estimate
    turn_ms: float
    packet_writes: int
    """So many writes share a packet where they are durable together."""
    calm_writes: int = 0
    """So many are known to begin no cleaning; 0: not known of any."""

    @property
    def bench(self) -> Bench:
        return self.filler.bench

    def not_before(self, least: int, group: int, most: int = _MOST_VISITS) -> int | None:
        """The same, known to be no sooner: a drive that seems to begin then still cleans what was written before."""
        for _ in range(_TRIES):
            found, _ = self.until_late(group, most)
            if found is None or found > (1 - _AGREE) * least:
                return found
        return found

    @in_one_go
    def until_late(self, group: int, most: int = _MOST_VISITS) -> tuple[int | None, int]:
        """Behind how many groups, each durable, cleaning begins, and how many surely began none.

        There are no more than space allows.
        """
        bench, layout, calm = self.bench, self.filler.layout, self.calm_writes // group
        room = (bench.capacity_bytes - self.where.first) // self.where.size_bytes * self.where.each // group
        by_space = _SURELY * self.high.low / layout.group_bytes(group, self.packet_writes)
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
            late = _late_from(np.concatenate(cycles), self.turn_ms, _LATE, calm)
            if late is not None:
                return (late if late <= most else None), min(late, most)
            chunk = max(_FIRST_VISITS, done // 4)
        perhaps = _late_from(np.concatenate(cycles), self.turn_ms, _PERHAPS_LATE, calm) if cycles else 0
        return None, most if perhaps is None else min(perhaps, most)

    @in_one_go
    def until_waits_are_late(self) -> int | None:
        """Behind how many writes, none of which is made durable, those that wait for memory do so for longer."""
        room = (self.bench.capacity_bytes - self.where.first) // self.where.size_bytes * self.where.each
        empty(self.filler.near(self.where.first), self.high)
        cycles: list[Floats] = []
        done, most = 0, min(room, _MOST_GATHERED)
        while done < most:
            chunk = min(max(_FIRST_GATHERED, done // 4), most - done)
            log = self.bench.play("gathered", Trace.writes(self.where.places(done, chunk)))
            cycles.append(log.cycle_ms)
            done += chunk
            cycle_ms = np.concatenate(cycles)
            waits = np.flatnonzero(cycle_ms > _WAITS * float(np.median(cycle_ms)))
            late = _late_from(cycle_ms[waits], self.turn_ms, _LATE, 0) if len(waits) > _LATE_OF else None
            if late is not None:
                return int(waits[late])
        return None


def _late_from(cycle_ms: Floats, turn_ms: float, many: int, calm: int) -> int | None:
    """The first write that is late and one of so ``many`` late ones among a few.

    Where many seem to be of those that are surely ``calm``, each other one had the journal to wait for: later than all
    of these are the others then.
    """
    usual = float(np.median(cycle_ms[: _FIRST_VISITS // 2]))
    found = _crowded(cycle_ms > usual + _LATE_TURNS * turn_ms, many)
    if found is None or found >= calm:
        return found
    return _crowded(cycle_ms > float(cycle_ms[:calm].max()) + _LATE_TURNS * turn_ms, many)


def _crowded(late: NDArray[np.bool_], many: int) -> int | None:
    sums = np.append(0, np.cumsum(late))
    crowded = np.flatnonzero(late[: 1 - _LATE_OF] & (sums[_LATE_OF:] - sums[:-_LATE_OF] >= many))
    return int(crowded[0]) if len(crowded) else None
