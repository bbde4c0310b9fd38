"""What is found of a persistent cache, and what small writes take of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from shakedown.fit.cleaning import band_time, bands, begins, marks, pressure, ration
from shakedown.fit.cleaning.forced import Passes
from shakedown.fit.estimate import Estimate
from shakedown.fit.log import append as appends
from shakedown.fit.log import counts, fill, flash, layout, length, streams
from shakedown.fit.log.placement import Place
from shakedown.fit.trace import BLOCK_BYTES

SPACE_ENDS: Final = 0.95
_SPACE_MAY_END: Final = 0.8
_SINGLE_SPACE_ENDS: Final = 0.9
VISIT_PACKETS: Final = 64
_MOST_IN_MEMORY: Final = 0.3
_QUICK: Final = 4
# Of bands that do not move all that is cleaned comes to its old place, but for what a late host makes of it.
_STATIC: Final = 0.75
# Of bands that stay this much at least comes to its old angle, on a busy host as well; of bands that move, every other
# of which begins at the same angle, up to 0.81 has.
_SURELY_STATIC: Final = 0.85


@dataclass
class Cache:
    """What was found of a persistent cache and of what lies behind it."""

    place: Place
    in_memory: int | None = 1
    """Small writes that memory holds: so many come to the log at once. None: not known."""
    turn_ms: float = 0.0
    """Of the platters; 0: not told, and nothing follows from how long a fill took."""
    lazy: bool = False
    rest_ms: Estimate | None = None
    """Silence until it cleans: at all, or, if it is lazy, once its log is full."""
    marks: marks.Marks | None = None
    by_pressure: bool = False
    """Whether it cleans without waiting for silence, once it is lazy and has passed its high mark."""
    begins_at: Estimate | None = None
    """Bytes of the log, at one of its places, at which such a one begins to clean."""
    most_dirty_first: bool | None = None
    """In which order it cleans bands; None: not known."""
    contradicts: bool = False
    """Whether its marks contradict each other, or it cleans in a long silence whatever it holds."""
    streams_doubted: bool = False
    """Whether what was written to see them may have been cleaned under way."""
    pass_bands: int | None = None
    """How many bands such a one cleans in a pass."""
    ration: ration.Ration | None = None
    """What a full drive lets the host write between forced passes; None: all that there is room for, as far as seen."""
    begins: begins.Begins | None = None
    """After how many small writes one that is driven by pressure began to clean, for their number; None: not tried."""
    bands: dict[float, bands.Bands] = field(default_factory=dict)
    static_share: float | None = None
    """How much of what was cleaned came to its old place, or to one that looks like it."""
    far_would_show: bool = False
    """Whether bands were cleaned in such an order that none that moves comes to a place like its old one."""
    band_ms: Estimate | None = None
    whole_band_ms: Estimate | None = None
    """Of a band of which everything is cached."""
    streams: streams.Streams | None = None
    layout: layout.Layout = field(default_factory=lambda: layout.Layout.without_gaps(1.0))
    append: appends.Append | None = None
    run_ms: float | None = None
    """What a small write of a run takes, where packets of several writes show in nothing else."""
    many: appends.Many | None = None
    """Where packets may hold more than any group had."""
    flash: flash.Flash | None = None
    destage_bytes: Estimate | None = None
    """What is written from memory to the log at once."""
    destage_seen: Estimate | None = None
    """What seems to be, where as many packets as one may have may end a visit as well."""
    forced: Passes | None = None
    """Passes that had to clean whole bands before a write."""
    collect_turns: Estimate | None = None
    packet_bytes: Estimate | None = None
    """Where it shows in nothing but the last writes before the log is full."""
    length: length.Length | None = None
    """Of each log."""
    journal: appends.Journal | None = None
    regions: int = 1
    borders: tuple[float, ...] = ()
    """Between which offsets writes share a log, if there are several."""
    fill_order: fill.Order | None = None
    small: fill.Fill | None = None
    """Of small writes as fast as they are taken."""
    single: fill.Fill | None = None
    """Of small writes, each durable before the next. One of both, where that tells all."""
    groups: counts.Groups | None = None
    """Where both leave open what an entry is, and groups of small writes tell."""
    grouped: fill.Fill | None = None
    """Of these groups, each durable before the next."""
    overwriting: counts.Overwriting | None = None
    """Where no groups tell that, and overwriting does."""
    overwritten: fill.Fill | None = None
    """Of small writes as fast as they are taken, every other of which overwrites an older one."""
    all_logs: Cache | None = None
    """As one log, and filled as one, where a fill of one of several ended with its space."""

    @property
    def bytes_found(self) -> float | None:
        """Of all logs."""
        return self.length.bytes_found.value * self.regions if self.length else None

    def as_one_log(self, order: fill.Order, track_bytes: float) -> Cache:
        """One as long as all logs, which nothing has filled yet: where tracks hold most the first of them is full."""
        assert self.length
        whole = replace(self.length, bytes_found=self.length.bytes_found.scaled(self.regions))
        outmost = replace(self.layout, track_bytes=track_bytes)
        one = replace(self, length=whole, layout=outmost, regions=1, borders=(), fill_order=order)
        one.small = one.single = one.groups = one.grouped = one.overwriting = one.overwritten = None
        return one

    @property
    def longest_band_bytes(self) -> float:
        """Of the bands that were seen; 0 if none was."""
        return max((band.size_bytes.value for band in self.bands.values()), default=0.0)

    @property
    def marks_at(self) -> float:
        """From which share of the capacity on marks lie whose room is met again."""
        return length.MARKS_AT if self.lazy or 0.5 not in self.bands else 0.5

    def band_bytes(self, share: float) -> float:
        """Of a band at a share of the capacity, between those that were seen."""
        shares = sorted(self.bands)
        return float(np.interp(share, shares, [self.bands[one].size_bytes.value for one in shares]))

    def passed(self, capacity_bytes: int) -> band_time.Pass:
        """What a forced pass does, where the length of the log and bands are known."""
        assert self.length
        return band_time.pass_over(self.length, self.marks_at, capacity_bytes, self.band_bytes)

    @property
    def goes_by_dirt(self) -> bool:
        """Whether the dirtiest bands may be cleaned first: if it is not known, as where it matters."""
        return self.most_dirty_first is not False

    @property
    def cleans_at_once(self) -> bool:
        """Whether it cleans whatever it holds, and waits for no silence."""
        return self.by_pressure and not self.lazy

    @property
    def burst_hides_log(self) -> bool:
        """Whether memory took so many that it gave them away meanwhile: how many the log had by then does not show."""
        return bool(self.small and self.small.writes and (self.in_memory or 0) > _MOST_IN_MEMORY * self.small.writes)

    @property
    def hides_stalls(self) -> bool:
        """Whether a forced pass takes about as long as the journal, and the first ones may have been taken for that."""
        if self.forced is None or self.journal is None or not self.journal.every:
            return False
        return abs(self.forced.ms.value / self.journal.ms - 1) < fill.JOURNAL_VARIES

    @property
    def may_have_met_mark(self) -> bool:
        """Whether what ended a fill may be a mark: a lazy one that cleans a full log in no silence may begin there."""
        return self.lazy and not self.by_pressure and self.rest_ms is None

    @property
    def pass_ms(self) -> float:
        """What a forced pass takes that has next to nothing to clean; 0: not known."""
        return self.length.stall_ms if self.length else 0.0

    @property
    def moves_bands(self) -> bool:
        """Whether what is cleaned comes to another place."""
        return self.static_share is not None and self.static_share < _STATIC

    @property
    def may_move_bands(self) -> bool:
        """Whether too little came to its old place for bands that stay, but too much to be sure that they move."""
        return self.static_share is not None and _STATIC <= self.static_share < _SURELY_STATIC


def gathered_bytes(cache: Cache) -> float:
    """What a small write takes of the log where they are taken as fast as they come."""
    return cache.layout.gathered_bytes(shared_writes(cache), _visit_writes(cache))


def gathered_vaguely(cache: Cache) -> float:
    """By which share of it that may be wrong, if so many go into a visit."""
    layout = cache.layout
    each = layout.visit_tracks.half / _visit_writes(cache) + layout.packet_tracks.half / shared_writes(cache)
    return each * layout.track_bytes / gathered_bytes(cache)


def space_bound(cache: Cache, writes: int) -> bool:
    """Whether so many small writes, as fast as they are taken, are what space in one log ends at."""
    if cache.length is None or entries_end(cache, writes):
        return False
    # How many go into a visit is known roughly, or not at all: then it may be as few as fill a packet.
    packet = packet_writes(cache)
    each = gathered_bytes(cache) if cache.in_memory else cache.layout.gathered_bytes(packet, packet)
    enough = SPACE_ENDS if cache.layout.visit_tracks.value == 0 else _SPACE_MAY_END
    return writes * each > enough * cache.length.bytes_found.value


def entries_end(cache: Cache, writes: int) -> bool:
    """Whether so many, as fast as they were taken, had no time to take a log's space: so much is a visit at least.

    That holds whatever memory gathers, and however many of them share a packet.
    """
    cost, layout, filled = cache.append, cache.layout, cache.small
    if cache.length is None or cost is None or filled is None or not cache.turn_ms or not filled.ms:
        return False
    visit_bytes, packet_bytes = layout.space_bytes(BLOCK_BYTES), layout.group_bytes(1, 1) - layout.visit_bytes
    packet_turns = cost.packet_turns.low + packet_bytes / layout.track_bytes
    visit_turns = cost.append_turns.low + visit_bytes / layout.track_bytes + cost.packet_turns.low
    a_turn = max(packet_bytes / packet_turns, visit_bytes / visit_turns)
    most_bytes = writes * BLOCK_BYTES + filled.ms / cache.turn_ms * a_turn
    return most_bytes < _SPACE_MAY_END * cache.length.bytes_found.value


def space_surely_ends(cache: Cache, writes: int) -> bool:
    """Whether so many small writes have taken all space, if space may end them, however many share a packet."""
    if cache.length is None:
        return False
    return packets_are_told(cache) or writes * BLOCK_BYTES > SPACE_ENDS * cache.length.bytes_found.value


def single_space_bound(cache: Cache) -> bool:
    """Whether space ends a fill with writes that are durable one by one, and no other limit."""
    if cache.length is None or cache.single is None or cache.single.writes is None:
        return False
    room = cache.length.bytes_found.value / cache.layout.space_bytes(BLOCK_BYTES)
    return cache.single.writes > _SINGLE_SPACE_ENDS * room


def counts_packets(cache: Cache) -> bool | None:
    """Whether entries are packets, where only groups of writes tell, or overwriting; None: not known."""
    if cache.overwriting and cache.overwritten:
        return cache.overwriting.counts_packets(cache.overwritten.writes)
    if cache.groups and cache.grouped:
        return cache.groups.counts_packets(cache.grouped.writes or cache.grouped.written)
    return None


def overwriting(cache: Cache, small: int) -> counts.Overwriting | None:
    """The fill that tells what counts by overwriting, where so many ``small`` writes were taken; None: none does."""
    if cache.length is None or not cache.in_memory or cache.fill_order is None:
        return None
    room = cache.length.bytes_found.low / gathered_bytes(cache)
    return counts.overwriting(small, packet_writes(cache), room, cache.in_memory, cache.fill_order.round_writes)


def packet_writes(cache: Cache) -> int:
    """How many small writes share a packet; one, where that is not known."""
    return int(cache.append.packet_writes.value) if cache.append and cache.append.packet_writes else 1


def packets_are_told(cache: Cache) -> bool:
    """Whether it is known how many small writes share a packet: what visits the log alone shares none."""
    return cache.in_memory == 1 or bool(cache.append and cache.append.packet_writes)


def shared_writes(cache: Cache) -> int:
    """How many small writes share a packet: no more than a visit brings, which is one where none waits in memory."""
    return min(packet_writes(cache), _visit_writes(cache))


def _visit_writes(cache: Cache) -> int:
    most = VISIT_PACKETS * packet_writes(cache)
    return min(most, cache.in_memory or most)


def single_is_quick(cache: Cache) -> bool:
    """Whether writes that are durable one by one are taken nearly as fast: they show best when one has to wait."""
    cost = cache.append
    if cost is None or cost.packet_writes is None or cost.packet_writes.value > 1 or cache.flash:
        return False
    if cache.layout.visit_tracks.value:
        return False
    packet = cost.packet_turns.value + cache.layout.packet_tracks.value
    return cost.append_turns.value + packet < _QUICK * (cost.append_turns.value / VISIT_PACKETS + packet)


def says_all(cache: Cache) -> bool:
    """Whether another kind of fill would end at the same limit."""
    writes = cache.append.packet_writes if cache.append else None
    if cache.small is None:
        return True
    if cache.burst_hides_log:
        return False
    return bool(cache.small.writes is None or space_bound(cache, cache.small.writes) or (writes and writes.value == 1))


def mark(cache: Cache, key: str, pass_bands: float) -> Estimate | None:
    """A mark of lazy cleaning; the last pass may go below the low one, by all of its bands but one.

    Not less so where it is not known how many those are: then as many as the twin has, or as many as are counted.
    """
    # A host that is late may have made them contradict each other: then neither is known.
    if cache.marks is None or cache.marks.low.low >= cache.marks.high.value:
        return None
    if key == "high_mark":
        return cache.marks.high
    found = cache.marks.low
    below = cache.marks.step * (pass_bands - 1)
    uncounted = cache.by_pressure and cache.pass_bands is None
    most_below = cache.marks.step * (pressure.MOST_COUNTED - 1) if uncounted else below
    # But the low mark is below the high one.
    high = cache.marks.high
    value = min(found.value + below / 2, (found.low + high.value) / 2)
    return Estimate(value, found.low, max(min(found.high + most_below, high.high), value))
