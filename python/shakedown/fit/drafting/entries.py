"""Entries that a cache may have, and what counts as one, as the twin says it."""

from __future__ import annotations

from typing import Final

from shakedown.fit.cache import (
    Cache,
    counts_packets,
    gathered_bytes,
    packet_writes,
    packets_are_told,
    shared_writes,
    single_space_bound,
    space_surely_ends,
)
from shakedown.fit.trace import BLOCK_BYTES
from shakedown.fit.twin import BY, PERHAPS_MARK, UNKNOWN, Twin

# So many fewer durable writes than others end a fill where packets are counted.
_FEWER: Final = 0.6
# So many may have been there before, or gone home meanwhile: of sixty drawn drives eleven at most.
_STRAY: Final = 12
_MORE: Final = 1.1
# What goes home meanwhile of a drive that cleans at once.
_BESIDE_BALLAST: Final = 0.01


def put_entries(twin: Twin, cache: Cache, held: int, *, space_ends: bool, or_entries: bool = False) -> None:
    """Entries, and what counts as one, if memory holds so many writes while the log is full.

    ``or_entries``: that ``space_ends`` a fill is not certain.
    """
    section, single = "translation.cache", cache.single.writes if cache.single else None
    if cache.by_pressure and not cache.cleans_at_once:
        _entries_at_mark(twin, cache)
        return
    met = cache.small.writes if cache.small else None
    if met and single and cache.burst_hides_log and not single_space_bound(cache):
        _entries_by_single(twin, cache, single, met)
        return
    # Of a memory that is not known the usual is taken, and up to twice as much may be meant.
    most_held = 2 * held if cache.in_memory is None else max(held, cache.in_memory)
    # A drive that stalls from the first write on, or while memory has room, tells nothing of its entries.
    small = met - held if met else single
    small = None if met and cache.in_memory is None and met <= most_held else small
    small, single = (count if count and count > 0 else None for count in (small, single))
    vague = space_ends and not space_surely_ends(cache, small or 0)
    if (cache.length is None or not cache.layout.explains or vague) and small is not None:
        # Which of both ended is not known. Several logs hold as much each, if it was space.
        least = max(small, single or 0)
        why = f"{UNKNOWN}; at least {least}, where entries or space ended"
        twin.put(section, "entries", least * cache.regions, why)
        twin.put(section, "entry_counts", "write", why)
        return
    # How many of those that memory holds were in the log already when it was full is not known.
    if small is None or space_ends:
        _entries_by_space(twin, cache, small, stalls=bool(met), or_entries=or_entries)
    else:
        surely = max(met or 0, (cache.small.surely or 0) if cache.small else 0)
        _entries_counted(twin, cache, small, single, (met - most_held, surely) if met else None)


def _entries_by_space(twin: Twin, cache: Cache, small: int | None, *, stalls: bool, or_entries: bool) -> None:
    """Space ends first, or it stalls whatever is in the log: somewhat more than there is space for.

    With just as many a pass would make room by its entries, which may be used at once. Space has to be the oldest.
    Where entries may have ended it, as many as were met, of each log: the twin is full as soon, and by space later.
    """
    section, room = "translation.cache", cache.bytes_found or 1000 * gathered_bytes(cache)
    by_space = int(min(_MORE * room / gathered_bytes(cache), room / BLOCK_BYTES))
    why = f"{UNKNOWN}; at least {small or 0}: space for as many writes ends first"
    if small is None and stalls:
        why = f"{UNKNOWN}; it stalls as soon as memory is full"
    counts = "write" if packet_writes(cache) > 1 or by_space * BLOCK_BYTES > 0.99 * room else "packet"
    count = small * cache.regions if or_entries and small else max(by_space, small or 0)
    twin.put(section, "entries", max(count, 1000), why)
    twin.put(section, "entry_counts", counts, why)


def _entries_counted(twin: Twin, cache: Cache, small: int, single: int | None, met: tuple[int, int] | None) -> None:
    """So many ``small`` writes, or ``single`` durable ones, had room; ``met``: from to, memory and log together."""
    section, writes = "translation.cache", shared_writes(cache)
    by_packet = bool(cache.append and cache.append.packet_writes and writes == 1)
    # Single writes are packets: fewer of them than there is space for means that packets are counted.
    by_space_alone, by_groups = single_space_bound(cache), counts_packets(cache)
    if by_groups is not None:
        by_packet = by_groups
    elif single is not None and not by_packet:
        by_packet = not by_space_alone and single < _FEWER * small
    counted = [single] if by_packet and single else [small]
    what = "small writes"
    if by_groups:
        counted, what = _packets_met(cache, small)
    if single and not by_packet and not by_space_alone and single > small:
        # What a visit to the log takes at once may have hidden the last that had room.
        counted.append(single)
    low, high = min(counted), max(counted)
    if met and counted == [small]:
        low, high = met
    if cache.cleans_at_once:
        low, high = round(low * (1 - _BESIDE_BALLAST)), round(high * (1 + _BESIDE_BALLAST))
    told = writes > 1 and (not by_space_alone or by_groups is not None)
    shown = f"measured: {_about(low, high)} {what} to the first stall {BY}"
    why = "packets of one write end with the space"
    if not packets_are_told(cache):
        told, why = by_packet, "how many writes a packet has is not either"
        shown += "" if told else "; as many packets as they fill, if those are counted"
    elif writes == 1:
        why = "each small write is a packet"
    elif not told:
        shown += f"; as many packets as {writes} of them fill, if those are counted"
    origin = f"measured: {BY}" if told else f"{UNKNOWN}; {why}"
    if cache.hides_stalls:
        shown = origin = f"{UNKNOWN}; about {high}, but a forced pass takes as long as the journal"
    elif cache.may_have_met_mark:
        shown = f"{UNKNOWN}; {shown.removeprefix('measured: ')}, {PERHAPS_MARK}"
    elif cache.small and cache.small.some_home:
        shown = f"{UNKNOWN}; at most {high}, for some of what was written was home by then"
    twin.put(section, "entries", max(counted), shown)
    twin.put(section, "entry_counts", "packet" if by_packet else "write", origin)


def _entries_by_single(twin: Twin, cache: Cache, single: int, met: int) -> None:
    """Durable writes are in memory never. Where packets are counted more of the others, that share them, are taken."""
    section, alone = "translation.cache", shared_writes(cache) == 1
    by_packet = alone or single < _FEWER * met
    shown = f"measured: {_about(single, single)} durable writes to the first stall {BY}"
    origin = f"{UNKNOWN}; each small write is a packet" if alone else f"measured: {BY}"
    if cache.hides_stalls:
        shown = origin = f"{UNKNOWN}; about {single}, but a forced pass takes as long as the journal"
    elif cache.may_have_met_mark:
        shown = f"{UNKNOWN}; {shown.removeprefix('measured: ')}, {PERHAPS_MARK}"
    twin.put(section, "entries", single, shown)
    twin.put(section, "entry_counts", "packet" if by_packet else "write", origin)


def _about(low: int, high: int) -> str:
    return f"{max(low - _STRAY, 0)}..{high + _STRAY}"


def _packets_met(cache: Cache, small: int) -> tuple[list[int], str]:
    """Between how many packets writes stalled for the first time, and how they were written."""
    if cache.overwritten is None and cache.groups and cache.grouped and cache.grouped.writes:
        before = cache.grouped.writes // cache.groups.writes * cache.groups.packets
        return [before, before + cache.groups.packets - 1], "packets, several of them durable at a time,"
    held, visit = shared_writes(cache), cache.small.pace.writes if cache.small and cache.small.pace else None
    # The last packet of a visit may hold less than others.
    packets = [-(-small // held), round(small * -(-visit // held) / visit)] if visit else [-(-small // held)]
    return packets, "packets, by as many writes as fill them,"


def _entries_at_mark(twin: Twin, cache: Cache) -> None:
    """Of a drive that cleans under pressure it shows at how many of them it begins to."""
    section, begins = "translation.cache", cache.begins
    by_packet = bool(begins and begins.by_packet) or (packets_are_told(cache) and packet_writes(cache) == 1)
    counts = "packet" if by_packet else "write"
    if begins is None or begins.count is None or cache.marks is None:
        by_space = int((cache.bytes_found or 1000 * BLOCK_BYTES) / gathered_bytes(cache))
        least = round(begins.least / cache.marks.high.high) if begins and cache.marks else 0
        why = f"at least {least}: as many writes begin no cleaning"
        if not least:
            why = "two fills began cleaning at unlike numbers" if begins else "no place to try it is known"
        why = f"{UNKNOWN}; {why}"
        twin.put(section, "entries", max(by_space, least, 1000), why)
        twin.put(section, "entry_counts", counts, why)
        return
    what = "writes" if begins.by_packet is False else "durable writes"
    high = cache.marks.high
    count, most = (round(begins.count / share) for share in (high.value, high.low))
    low = round((begins.count - begins.grain) / high.high)
    shown = f"measured: {low}..{most}, where cleaning begins at {begins.count} {what} {BY}"
    twin.put(section, "entries", count, shown)
    origin = f"{UNKNOWN}; each was durable, and so a packet"
    twin.put(section, "entry_counts", counts, origin if begins.by_packet is None else f"measured: {BY}")


def put_entries_gathered(twin: Twin, cache: Cache, held: int) -> None:
    """Of such a drive that begins to clean for the number of its entries where many go to the log at once.

    How many of those that memory has ``held`` were in the log by then is not known.
    """
    assert cache.begins and cache.begins.gathered and cache.marks
    section, count, high = "translation.cache", cache.begins.gathered, cache.marks.high
    spans = ((held, high.high), (held / 2, high.value), (0, high.low))
    low, value, most = ((count - less) / share for less, share in spans)
    shown = f"{low:.0f}..{most:.0f}, where cleaning begins at {count} writes as fast as they are taken"
    if packet_writes(cache) == 1 and packets_are_told(cache):
        twin.put(section, "entries", round(value), f"measured: {shown} {BY}")
        twin.put(section, "entry_counts", "write", f"{UNKNOWN}; each small write is a packet")
        return
    why = f"{UNKNOWN}; {shown}, or as many packets as these fill"
    twin.put(section, "entries", round(value), why)
    twin.put(section, "entry_counts", "write", why)
