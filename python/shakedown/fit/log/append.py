"""What a write into the persistent cache costs: small durable writes in groups, and single ones of growing size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from shakedown.fit.drive.dram import Bursts
from shakedown.fit.estimate import Estimate
from shakedown.fit.log.layout import Layout, held_up
from shakedown.fit.place import aligned, rewrite, scattered
from shakedown.fit.trace import BLOCK_BYTES, Bench, Floats, Ints, Log, Trace, whole_blocks

GROUPS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
SIZES: Final = (4096, 16_384, 65_536, 131_072, 262_144, 393_216, 524_288, 786_432, 1 << 20, 3 << 19)
_RUN_BYTES: Final = 384 << 20
_RUN_WRITE_BYTES: Final = 8192
_RUNS: Final = 4
_LONG_RUN_MS: Final = 60_000.0
_RUN_REST_NS: Final = 20_000_000_000
_MANY: Final = 4096
_IN_FLIGHT: Final = 32
_REPEATS: Final = 48
_FEWEST_REPEATS: Final = 8
_MOST_KEPT: Final = 400
_MOST_KEPT_BYTES: Final = 40 << 20
_AT: Final = 0.3
_MOST_BYTES: Final = 4 << 30
_MOST_IN_FLIGHT: Final = 16
# A memory that is half full may begin to write by itself; what is on its way then makes room for half as many again.
_BURST_OF_HALF: Final = 3
_NOISE: Final = 0.003
_FITS: Final = 0.01
_FAR_BETTER: Final = 0.25
_MOST_LEFT_OUT: Final = 3
# Where a visit takes half a track, every other one meets a track's end, and waits for the skew.
_UNHINDERED: Final = 0.25
# What a host pauses for between requests, as a share of its log's grain.
_PAUSE_SHARE: Final = 0.1
# What the mean of many such moments is known to, as a share of it: on a busy host up to 0.06 of a ms were missing.
_BLUR_SHARE: Final = 0.06
# Settling before a write does not show by itself.
_UNSEEN_TURNS: Final = 0.1
_LEAST_TURNS: Final = 0.02
_LEAST_OFTEN: Final = 3
_MOST_OFTEN: Final = 0.75
_WIDE: Final = 2
_FAR: Final = 8
# What packets may hold at most is known if it is to so much.
_MOST_APART: Final = 2
_MOST_ALIKE: Final = 3
_PACKET_WRITES: Final = 48


@dataclass(frozen=True)
class Visits:
    """Usual ms of durable writes: of groups of small ones, and of one of each size.

    Of writes that memory takes only what the flush behind them waits for.
    """

    groups: Ints
    group_ms: Floats
    sizes: Ints
    size_ms: Floats
    write_back: bool
    blur_ms: float = 0.0
    """What each may be off by, where moments are known to a grain only."""


@dataclass(frozen=True)
class Journal:
    """Every how many visits to the log one takes longer, and by how much."""

    every: int
    """0: none was seen."""
    ms: float
    seen: int = 0
    """Visits that were looked at."""


@dataclass(frozen=True)
class Append:
    """The cost of a visit: ``append_turns``, then for each packet ``packet_turns`` and the passing of its space."""

    append_turns: Estimate
    packet_turns: Estimate
    packet_bytes: Estimate | None
    packet_writes: Estimate | None
    misfit: float
    """Root of the mean square of what the formula misses, as a share."""
    one_visit_bytes: float = np.inf
    """A larger write takes several visits, as far as that shows."""
    one_packet_each: bool = False
    """Whether each visit may have brought one packet: what of its cost is the packet's is not known then."""

    @property
    def holds_more_writes(self) -> bool:
        """Whether packets hold as many small writes as were written in any group, and so perhaps more."""
        held = self.packet_writes
        return held is not None and held.value >= _PACKET_WRITES and bool(np.isinf(held.high))


@dataclass(frozen=True)
class Held:
    """What packets may hold at most, as far as it makes no difference to the writes that were measured."""

    usual: int
    """The likeliest of them: most are powers of two."""
    least: int
    most: float
    """Infinite if no write was larger."""

    @property
    def is_even(self) -> bool:
        """Whether a power of two is one of them."""
        return self.usual.bit_count() == 1

    @property
    def most_writes(self) -> int:
        """How many small ones fit in, as far as groups of them tell: of more none is told from this."""
        return min(self.usual // BLOCK_BYTES, _PACKET_WRITES)


def holdings() -> tuple[Held, ...]:
    """All that can be told apart by how many packets a write of each size needs."""
    # So much is just enough for one of these sizes in so many packets.
    enough = {
        -(-size // count // BLOCK_BYTES) * BLOCK_BYTES for size in SIZES for count in range(1, size // BLOCK_BYTES + 1)
    }
    ends = sorted(enough)
    found = []
    for least, beyond in zip(ends, [*ends[1:], np.inf], strict=True):
        even = 1 << (least - 1).bit_length()
        found.append(Held(even if even < beyond else least, least, beyond - BLOCK_BYTES))
    return tuple(found)


@dataclass(frozen=True)
class Stretch:
    """Where to write what is to go into one log."""

    first: int
    size_bytes: int

    @staticmethod
    def usual(capacity_bytes: int) -> Stretch:
        """Where there is but one log."""
        return Stretch(aligned(_AT * capacity_bytes), min(capacity_bytes // 16, _MOST_BYTES))

    @staticmethod
    def within(borders: list[float], offset: int, capacity_bytes: int) -> Stretch:
        """Where all is cached in one log with what lies at an offset: of several, a group goes to each by itself."""
        ends = [0.0, *borders, float(capacity_bytes)]
        log = int(np.searchsorted(borders, offset))
        begin, size = ends[log], ends[log + 1] - ends[log]
        most = Stretch.usual(capacity_bytes).size_bytes
        return Stretch(aligned(begin + size / 4), min(int(size / 2), most))


def visits(bench: Bench, settle_ns: int, bursts: Bursts, stretch: Stretch) -> Visits:
    """Measure both rows; the stretch is rewritten afterwards, and what that leaves cleaned in a rest of ``settle_ns``.

    A group that memory begins to write before its flush takes two visits, and is left out. A drive that answers no
    write from memory gets its groups as writes in flight: it visits the log for the first of them, and then for all
    others at once.
    """
    region = _Region(bench, stretch, settle_ns)
    group_ms, size_ms = [], []
    write_back = bursts.write_back
    groups = tuple(group for group in GROUPS if group <= most_at_once(bursts))
    for group in groups:
        offsets = region.places(group * int(np.clip(_MOST_KEPT // group, _FEWEST_REPEATS, _REPEATS)), BLOCK_BYTES)
        if write_back:
            log = bench.play(f"append-{group}", Trace.writes(offsets, flush_every=group))
            group_ms.append(flushed_ms(log, group))
        else:
            log = bench.play(f"append-{group}", Trace.writes(offsets, depth=group))
            done_ns = np.sort(log.completed_ns)
            group_ms.append(float(np.median(done_ns[group:] - done_ns[:-group])) / 1e6)
    for size in SIZES:
        log = bench.play(f"append-{size}", Trace.writes(region.places(_REPEATS, size), size, flush_every=1))
        size_ms.append(flushed_ms(log, 1) if write_back else float(np.quantile(log.cycle_ms, _UNHINDERED)))
    region.clear()
    blur_ms = _BLUR_SHARE * log.grain_ns / 1e6
    return Visits(np.array(groups), np.array(group_ms), np.array(SIZES), np.array(size_ms), write_back, blur_ms)


def flushed_ms(log: Log, group: int) -> float:
    """What a flush takes behind each group of writes that memory took: what those took is known of every one.

    What reads cost a host is not what writes do, and of 48 writes each hundredth of a ms counts. Where moments are
    whole milliseconds the mean of those two between which it lies is far nearer than either.
    """
    waited_ns = (np.append(log.submitted_ns[1:], log.ended_ns) - log.completed_ns).reshape(-1, group).sum(axis=1)
    usual_ns = np.quantile(waited_ns, _UNHINDERED, method="nearest")
    grain_ns, pause_ns = log.grain_ns, _PAUSE_SHARE * log.grain_ns
    # From below: beyond the next millisecond are those that met a track's end.
    low_ns = np.mean(waited_ns[(waited_ns >= usual_ns - grain_ns - pause_ns) & (waited_ns <= usual_ns + pause_ns)])
    return float(np.mean(waited_ns[np.abs(waited_ns - low_ns) <= grain_ns + pause_ns])) / 1e6


def most_at_once(bursts: Bursts) -> int:
    """How many small writes surely go to the log in one visit, if they go together."""
    if not bursts.write_back:
        return _MOST_IN_FLIGHT
    return max(bursts.writes // _BURST_OF_HALF, 1) if bursts.writes else GROUPS[-1]


class _Region:
    """Fresh places; what was written is rewritten, and so dropped, before a small cache could be full of it."""

    def __init__(self, bench: Bench, stretch: Stretch, settle_ns: int) -> None:
        self._bench, self._first, self._settle_ns = bench, stretch.first, settle_ns
        self._size_bytes = whole_blocks(stretch.size_bytes)
        self._count = self._bytes = 0

    def places(self, count: int, length: int) -> Ints:
        """For so many writes, none in sequence."""
        if self._count and (self._count + count > _MOST_KEPT or self._bytes + count * length > _MOST_KEPT_BYTES):
            self.clear()
        wide = max(length + BLOCK_BYTES, min(64 * BLOCK_BYTES, self._size_bytes // (4 * count)))
        wide = whole_blocks(wide)
        slots = max(self._size_bytes // wide, count + 1)
        begin, self._count, self._bytes = self._count, self._count + count, self._bytes + count * length
        return scattered(count, self._first, slots, wide, begin=begin)

    def clear(self) -> None:
        """Rewrite it."""
        rewrite(self._bench, "append-rewrite", self._first, self._size_bytes)
        self._bench.idle(self._settle_ns)
        self._count = self._bytes = 0


def run_ms(bench: Bench) -> float:
    """What each of many small writes in sequence takes, once memory is full: the least of some runs.

    They merge in memory, but a packet takes only so many: so many fewer visits to the log it needs. A run that begins
    elsewhere in the log may wait for its angles a third longer, and that tells of the place alone. One that takes
    minutes has met all places.
    """
    first = aligned(0.35 * bench.capacity_bytes)
    count = min(_RUN_BYTES, bench.capacity_bytes // 64) // _RUN_WRITE_BYTES
    run = Trace.writes(first + np.arange(count) * _RUN_WRITE_BYTES, _RUN_WRITE_BYTES)
    each_ms = []
    for _ in range(_RUNS):
        bench.idle(_RUN_REST_NS)
        log = bench.play("append-run", run)
        rewrite(bench, "append-run-rewrite", first, count * _RUN_WRITE_BYTES)
        each_ms.append(float(np.mean(log.cycle_ms[count // 2 :])))
        if count * each_ms[-1] > _LONG_RUN_MS:
            break
    return min(each_ms)


@dataclass(frozen=True)
class Many:
    """What each of many small writes takes that come as fast as can be, and where they were written."""

    ms: float
    stretch: Stretch


def many(bench: Bench, stretch: Stretch, settle_ns: int = 0) -> Many:
    """Several in flight, so that the host holds nothing back."""
    region = _Region(bench, stretch, settle_ns)
    log = bench.play("append-many", Trace.writes(region.places(_MANY, BLOCK_BYTES), depth=_IN_FLIGHT))
    region.clear()
    done_ms = np.sort(log.completed_ns) / 1e6
    # Behind the first, which memory takes.
    return Many(float(done_ms[-1] - done_ms[_MANY // 4]) / (_MANY - 1 - _MANY // 4), stretch)


def journal(log: Log, *, beside_passes: bool = False) -> Journal:
    """From the log of single durable writes: visits that take much longer, at even distances.

    ``beside_passes``: some wait for operations of cleaning, several of them near each other.
    """
    cycle = log.cycle_ms
    nothing = Journal(0, 0.0, len(cycle))
    if not len(cycle):
        return nothing
    usual = float(np.median(cycle))
    late = held_up(cycle)
    late = _alone(late) if beside_passes else late
    # Every how many: so that most of those that would have to be late are. A single stall in between is something else.
    apart = np.unique(late[:, None] - late[None, :])
    best = max((_regular(late, len(cycle), int(every)) for every in apart[apart > 1]), key=len, default=late[:0])
    if len(best) < _LEAST_OFTEN:
        return nothing
    return Journal(int(np.median(np.diff(best))), float(np.median(cycle[best])) - usual, len(cycle))


def _alone(late: Ints) -> Ints:
    """Those of some visits that are near no other."""
    if not len(late):
        return late
    gaps = np.concatenate([[_FAR], np.diff(late), [_FAR]])
    return np.asarray(late[np.minimum(gaps[1:], gaps[:-1]) >= _FAR])


def _regular(late: Ints, count: int, every: int) -> Ints:
    """Of those that are late the most that come at this distance, if nearly all do that should."""
    place = late % every
    # Those that come one sooner or later count as well, also across the end of a distance.
    around = np.sort(np.concatenate([place - every, place, place + every]))
    near = np.searchsorted(around, place + 1, side="right") - np.searchsorted(around, place - 1)
    best = late[(late - late[int(np.argmax(near))] + 1) % every <= _WIDE]
    # One may have a stall beside it; several in a row are no journal.
    apart = best[np.append(True, np.diff(best) > 1)]
    often = len(apart) >= _MOST_OFTEN * (count // every)
    return apart if often and len(best) - len(apart) <= 1 else late[:0]


def estimate(seen: Visits, turn_ms: float, layout: Layout, overhead_ms: float, link_mb_s: float) -> Append:
    """The packets that explain the measured times best.

    A memory that writes no more than so much at once visits the log again for the rest of a large write: so many of the
    largest are left out as lets packets explain the others far better.
    """
    whole = _estimate(seen, turn_ms, layout, overhead_ms, link_mb_s)
    if _are_visits(whole, layout) and whole.packet_bytes:
        # Up to so much each was one visit: then what packets hold, and which part of the cost is theirs, does not show.
        count = int(np.sum(seen.sizes <= whole.packet_bytes.value))
        fewer = replace(seen, sizes=seen.sizes[:count], size_ms=seen.size_ms[:count])
        found = _estimate(fewer, turn_ms, layout, overhead_ms, link_mb_s)
        return replace(found, one_visit_bytes=whole.packet_bytes.value, one_packet_each=True)
    if whole.misfit <= _FITS:
        return whole
    for count in range(len(seen.sizes) - 1, len(seen.sizes) - 1 - _MOST_LEFT_OUT, -1):
        fewer = replace(seen, sizes=seen.sizes[:count], size_ms=seen.size_ms[:count])
        found = _estimate(fewer, turn_ms, layout, overhead_ms, link_mb_s)
        if found.misfit < _FAR_BETTER * whole.misfit:
            return replace(found, one_visit_bytes=float(seen.sizes[count - 1]))
    return whole


def _are_visits(found: Append, layout: Layout) -> bool:
    """Whether what seem to be packets, in visits that cost nothing, may as well be visits of packets that cost nothing.

    So it is where memory writes no more at once, unless packets show by the space that they take, or in groups.
    """
    in_groups = found.packet_writes is not None and not found.holds_more_writes
    return (
        found.append_turns.value < _LEAST_TURNS < found.packet_turns.value and not in_groups and not layout.alike_bytes
    )


def _estimate(seen: Visits, turn_ms: float, layout: Layout, overhead_ms: float, link_mb_s: float) -> Append:
    """Sizes and limits tried out, costs by least squares."""
    host_ms, host_size_ms = host_share_ms(seen, overhead_ms, link_mb_s)
    if layout.cuts_writes:
        # One command after the other, those of a group as well.
        host_ms = seen.groups.astype(np.float64) * (overhead_ms + BLOCK_BYTES / link_mb_s / 1e3)
        host_size_ms = host_size_ms + (-(-seen.sizes // layout.command_bytes) - 1).astype(np.float64) * overhead_ms
    turns = np.concatenate([seen.group_ms - host_ms, seen.size_ms - host_size_ms]) / turn_ms
    weights = 1 / np.maximum(np.concatenate([seen.group_ms, seen.size_ms]) / turn_ms, 0.2)
    by_space = tuple(Held(size, size, size) for size in layout.alike_bytes)
    tried = [
        (*_misfit(seen, turns, weights, layout, held.usual, writes), held, writes)
        for held in by_space or holdings()
        for writes in range(1, held.most_writes + 1)
    ]
    best = min(tried, key=lambda one: one[0])
    near = [one for one in tried if one[0] <= 1.1 * best[0] + _NOISE]
    # Of what explains the times as well the one that space tells, or a usual one.
    usual = [one for one in near if one[3].usual == layout.packet_bytes] or [one for one in near if one[3].is_even]
    misfit, append, packet, held, writes = min(usual, key=lambda one: one[0], default=best)
    size = packet_bytes_of(held, [one[3] for one in near])
    return Append(
        _over(append, [one[1] for one in near], misfit + _UNSEEN_TURNS),
        # What their space is not known to is not known of their cost either.
        _over(packet, [one[2] for one in near], misfit + layout.packet_tracks.half),
        # Packets that cost nothing and leave no gaps do not show.
        size if packet > _LEAST_TURNS or by_space else None,
        writes_of(writes, [(one[3], one[4]) for one in near]),
        misfit,
        one_packet_each=layout.cuts_writes and any(one[3].usual >= layout.command_bytes for one in near),
    )


def writes_of(writes: int, alike: list[tuple[Held, int]]) -> Estimate | None:
    """How many writes packets hold, if only few numbers explain the times about as well; the most of all: or more."""
    counts = {count for _, count in alike}
    if len(counts) > _MOST_ALIKE:
        return None
    at_most = any(count == held.most_writes for held, count in alike)
    return Estimate(float(writes), float(min(counts)), np.inf if at_most else float(max(counts)))


def packet_bytes_of(best: Held, alike: list[Held], most_apart: float = _MOST_APART) -> Estimate | None:
    """What packets hold at most, if all that explains the times about as well is much the same."""
    least, most = min(one.least for one in alike), max(one.most for one in alike)
    return Estimate(float(best.usual), float(least), float(most)) if most <= most_apart * least else None


def host_share_ms(seen: Visits, overhead_ms: float, link_mb_s: float) -> tuple[Floats, Floats]:
    """What of the times of groups and of sizes goes to commands and to the link."""
    if seen.write_back:
        # While the flush arrives the heads are on their way already.
        return np.zeros(len(seen.groups)), np.zeros(len(seen.sizes))
    each_ms = overhead_ms + BLOCK_BYTES / link_mb_s / 1e3
    carry_ms = seen.sizes / link_mb_s / 1e3
    # Where several are in flight, the next has arrived before the visit at hand ends. A flush finds nothing to do.
    alone_ms: Floats = np.where(seen.groups > 1, 0.0, each_ms).astype(np.float64)
    return alone_ms, carry_ms + 2 * overhead_ms


def _misfit(
    seen: Visits, turns: Floats, weights: Floats, layout: Layout, packet_bytes: int, writes: int
) -> tuple[float, float, float]:
    """How badly packets of this kind explain the times, and the costs of visit and packet that do it best."""
    track_bytes = layout.track_bytes
    least = layout.packet_tracks.value * track_bytes
    visits, by_group, space_group = small_visits(seen, writes, least, one_by_one=layout.cuts_writes)
    # What is cut into commands before visits the log with each of them.
    commands, rest = np.divmod(seen.sizes, layout.command_bytes)
    (of_command,), (command_space,) = _packets_of(np.array([layout.command_bytes]), packet_bytes, least)
    by_rest, rest_space = _packets_of(rest, packet_bytes, least)
    by_size = commands * of_command + by_rest
    space_size = commands * command_space + rest_space
    packets = np.concatenate([by_group, by_size])
    fixed = np.concatenate([space_group, space_size]) / track_bytes
    weighted = (turns - fixed) * weights
    visited = np.concatenate([visits, commands + (rest > 0)])
    design = np.stack([visited, packets], axis=1) * weights[:, None]
    (append, packet), *_ = np.linalg.lstsq(design, weighted, rcond=None)
    append, packet = max(float(append), 0.0), max(float(packet), 0.0)
    alone = max(float(np.sum(weighted * design[:, 0]) / np.sum(design[:, 0] ** 2)), 0.0)
    with_packets = float(np.sqrt(np.mean((weighted - design @ np.array([append, packet])) ** 2)))
    # Packets cost something only if that explains more than the noise does.
    if packet == 0.0 or float(np.sqrt(np.mean((weighted - design[:, 0] * alone) ** 2))) < with_packets + _NOISE:
        append, packet = alone, 0.0
    residual = weighted - design @ np.array([append, packet])
    return float(np.sqrt(np.mean(residual**2))), append, packet


def _packets_of(sizes: Ints, packet_bytes: int, least: float) -> tuple[Floats, Floats]:
    """Packets of writes, and their space."""
    packets = np.ceil(sizes / packet_bytes)
    last = sizes - np.maximum(packets - 1, 0) * packet_bytes
    space = np.maximum(packets - 1, 0) * max(packet_bytes, least) + np.where(sizes > 0, np.maximum(last, least), 0.0)
    return packets, space


def small_visits(seen: Visits, writes: int, least: float, *, one_by_one: bool = False) -> tuple[Floats, Floats, Floats]:
    """Visits, packets and bytes of log that each group takes; a bridge that gives its writes on one by one parts it."""
    if one_by_one:
        each = seen.groups.astype(np.float64)
        return each, each, each * max(BLOCK_BYTES, least)
    parts = [seen.groups] if seen.write_back else [np.ones(len(seen.groups)), seen.groups - 1]
    visits, packets, space = np.zeros(len(seen.groups)), np.zeros(len(seen.groups)), np.zeros(len(seen.groups))
    for count in parts:
        here = np.ceil(count / writes)
        last = (count - np.maximum(here - 1, 0) * writes) * BLOCK_BYTES
        visits += count > 0
        packets += here
        space += np.maximum(here - 1, 0) * max(writes * BLOCK_BYTES, least)
        space += np.where(count > 0, np.maximum(last, least), 0.0)
    return visits, packets, space


def _over(value: float, values: list[float], error: float = 0.0) -> Estimate:
    return Estimate(float(value), max(float(min(values)) - error, 0.0), float(max(values)) + error)
