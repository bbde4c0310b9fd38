"""The drive's memory: what it answers without its heads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from shakedown.errors import InconclusiveError
from shakedown.fit.drive.whereabouts import forget_these
from shakedown.fit.estimate import Estimate
from shakedown.fit.even import even_waits
from shakedown.fit.place import aligned, rewrite, scattered
from shakedown.fit.trace import BLOCK_BYTES, Bench, Floats, Ints, Log, Trace, whole_blocks

_AGAIN: Final = 12
_SIZES: Final = (4096, 65_536, 262_144, 1 << 20)
# What a drive at the platters takes for two of three reads at least.
_NO_WAIT_TURNS: Final = 0.3
# Where neither shows.
_OVERHEAD_US: Final = 100.0
_LINK_MB_S: Final = 550.0
# Times that no straight line explains: by more of what a small one varies by, and of what the largest takes.
_BENT_SPREADS: Final = 3
_BENT: Final = 0.01
# Commands explain them if so little of what is off with a line stays, and no more of any size.
_EXPLAINED: Final = 0.25
_SURELY_CUT: Final = 0.03
# 240 sectors and twice as many, which hosts give such bridges; and powers of two.
_USUAL_COMMANDS: Final = (122_880, 245_760, 65_536, 131_072, 262_144, 524_288)
# What memory answers takes as long each time, to so much of it and what a host is late by mostly.
_STEADY, _STEADY_MS = 0.1, 0.2
_FEWEST_SIZES: Final = 2
# Of a host that is never late the same request takes the same time to this.
_EXACT_MS: Final = 1e-4
# Where even more are kept tracks come from memory, too.
_SEGMENTS: Final = (300, 450)
# One in thirty comes as soon by its angle alone.
_HITS, _LOOKS = 3, 6
_READ_AHEAD_NS: Final = (700_000_000, 720_000_000)
_COUNTS: Final = 3
# Longer and longer ones: a small cache behind the memory is not to be filled by what tells of the memory.
_BURSTS: Final = (256, 800, 3000)
LARGE_BYTES: Final = 1 << 20
_LARGE_BURSTS: Final = (40, 150, 600)
# Not alike, nor a whole number of turns apart: at even rests each look would have the same luck with its angles.
_LARGE_RESTS_NS: Final = (1_000_000_000, 1_137_300_000, 1_391_700_000)
# So much of a burst at most, that enough of it is seen behind.
_SEEN: Final = 0.75
_MOST_LOST: Final = 3.0
_CERTAIN: Final = 3.0
# Waits are as close where each large write makes the next one wait.
_CLOSE: Final = 3
_NEARLY_ALL: Final = 0.9
# Of what counts as waiting otherwise, where all wait for less.
_SHORT: Final = 0.3
_FIRST_WRITES: Final = 16
# A visit that takes a memory along is so much longer than what keeps a host.
_VISIT: Final = 100.0
# What keeps no host that is late now and then; and how few writes wait where a visit takes many.
_LONG: Final = 30.0
_FEW: Final = 0.1
_AS_MANY: Final = 0.9
USUAL_WRITES: Final = 128
"""What a memory holds where that does not show."""
_FELT: Final = 0.5
_AGREE: Final = 0.1
# Until the band is complete as well that a rewriting left.
_RESTED_NS: Final = 20_000_000_000
# Until a thousand writes have left memory.
_EMPTIED_NS: Final = 8_000_000_000


@dataclass(frozen=True)
class Link:
    """What a request costs that needs no heads."""

    overhead_us: Estimate
    rate_mb_s: Estimate
    keeps_reads: bool = True
    """Whether what was just read is answered from memory."""
    seen: bool = True
    cuts: bool = False
    """Whether a bridge seems to cut large requests into commands."""
    command_bytes: Estimate | None = None
    """What each of them has at most, where they come one after the other; overhead and rate are theirs then."""
    commands: tuple[int, ...] = ()
    """All usual sizes that they may have."""

    def answer_ms(self, request_bytes: int) -> float:
        """What a request of this size takes without any motion."""
        commands = -(-request_bytes // self.command_bytes.value) if self.command_bytes else 1
        return (commands * self.overhead_us.value + request_bytes / self.rate_mb_s.value) / 1e3


def link(bench: Bench, turn_ms: float) -> Link:
    """Overhead and rate of the link, from reading what was just read; else from writing what memory takes."""
    fresh = np.arange(len(_SIZES) * _AGAIN) * _spacing(bench.capacity_bytes, len(_SIZES) * _AGAIN)
    lengths = np.repeat(np.tile(_SIZES, _AGAIN), 2)
    offsets = np.repeat(fresh, 2)
    log = bench.play("link", Trace(np.zeros(len(offsets), np.int64), offsets, lengths))
    again = log.part(np.arange(len(offsets)) % 2 == 1)
    if _quick(again, turn_ms):
        return estimate_link(again)
    log = bench.play("link-write", Trace.durable_writes(fresh, lengths[::2]))
    if _quick(log, turn_ms):
        return replace(estimate_link(log), keeps_reads=False)
    return Link(Estimate.around(_OVERHEAD_US, _OVERHEAD_US), Estimate(_LINK_MB_S, 0.0, np.inf), False, False)


def _quick(log: Log, turn_ms: float) -> bool:
    """Whether the small ones of some requests did not wait for the platters."""
    return float(np.median(log.latency_ms[log.lengths == _SIZES[0]])) < _NO_WAIT_TURNS * turn_ms


def estimate_link(log: Log) -> Link:
    """Requests that memory answers: their time grows with their size by the link's rate."""
    log = log.part(np.isin(log.lengths, _answered(log)))
    again, lengths = log.latency_ms, log.lengths
    sizes = np.unique(lengths)
    medians = np.array([np.median(again[lengths == size]) for size in sizes])
    spread = float(np.median(np.abs(again[lengths == sizes[0]] - medians[0])))
    # A share of each: else the small ones, which are short, hardly count.
    slope, least = np.polyfit(sizes, medians, 1, w=1 / medians)
    slope_error = 2 * max(spread, 1e-4) / float(sizes[-1])
    off = medians - least - slope * sizes
    slopes, off_ms = [float(slope)], 0.0
    cuts = bool(np.max(np.abs(off)) > _BENT_SPREADS * spread + _BENT * medians[-1])
    if cuts:
        if (cut := _cut(sizes, medians, spread, float(np.max(np.abs(off / medians))))) is not None:
            return cut
        # A bridge that cuts large requests into commands adds its time to each: no one rate is that of all sizes.
        slopes += (np.diff(medians) / np.diff(sizes)).tolist()
        # The small one's bytes may have taken as little as any do.
        off_ms = abs(float(off[0])) + (float(slope) - min(slopes)) * float(sizes[0])
    rate_mb_s = [1 / max(each, 1e-9) / 1e3 for each in (slope, max(slopes) + slope_error, min(slopes) - slope_error)]
    overhead = Estimate.around(float(least) * 1e3, 1e3 * (2 * spread + off_ms) + 1)
    return Link(overhead, Estimate(*map(float, rate_mb_s)), cuts=cuts)


def _answered(log: Log) -> Ints:
    """The sizes that memory answers: of one of which it keeps a part only, the rest waits for this angle or that."""
    sizes = np.unique(log.lengths)
    quarters = np.array([np.quantile(log.latency_ms[log.lengths == size], (0.25, 0.5, 0.75)) for size in sizes])
    steady: Ints = sizes[quarters[:, 2] - quarters[:, 0] <= _STEADY * quarters[:, 1] + _STEADY_MS]
    return steady if len(steady) > _FEWEST_SIZES else sizes


def _cut(sizes: Ints, medians: Floats, spread: float, straight_off: float) -> Link | None:
    """Overhead, rate and bytes of commands one after the other, if they explain what no straight line does."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for most in range(int(sizes[1]), int(sizes[-1]), BLOCK_BYTES):
        alike.setdefault(tuple(-(-sizes // most)), []).append(most)
    tried: list[tuple[float, float, float, list[int]]] = []
    for commands, held in alike.items():
        parts = np.stack([np.array(commands), sizes], axis=1) / medians[:, None]
        found = np.linalg.lstsq(parts, np.ones(len(sizes)), rcond=None)[0]
        tried.append((float(np.max(np.abs(parts @ found - 1))), float(found[0]), float(found[1]), held))
    off, overhead_ms, slope, held = min(tried, key=lambda one: one[0])
    explained = min(_EXPLAINED * straight_off, _SURELY_CUT)
    if off > explained or min(overhead_ms, slope) <= 0:
        return None
    others = [] if spread < _EXACT_MS else _beside_host(sizes, medians, alike, explained)
    least, most = min([held[0], *others]), max([held[-1], *others])
    # What small ones are late by counts for each command, and what is left of a large one's time is its bytes'.
    late_ms, largest = 4 * max(spread, 1e-4), float(sizes[-1])
    error = off + late_ms / float(medians[0])
    slope_error = off + late_ms * float(np.ceil(largest / held[-1])) / (slope * largest)
    usual = [size for size in _USUAL_COMMANDS if size in held]
    middle = round((held[0] * held[-1]) ** 0.5 / BLOCK_BYTES) * BLOCK_BYTES
    return Link(
        Estimate.around(overhead_ms * 1e3, error * overhead_ms * 1e3 + 1),
        Estimate(1 / slope / 1e3, (1 - slope_error) / slope / 1e3, (1 + slope_error) / slope / 1e3),
        cuts=True,
        command_bytes=Estimate(float(usual[0] if usual else middle), float(least), float(most)),
        commands=tuple(usual + [size for size in _USUAL_COMMANDS if size in others and size not in usual]),
    )


def _beside_host(sizes: Ints, medians: Floats, alike: dict[tuple[int, ...], list[int]], explained: float) -> list[int]:
    """What commands may have, where a request costs the host something as well, however many of them it becomes.

    If that is as much as a command's overhead, commands of half the size take the very same times.
    """
    found: list[int] = []
    for commands, held in alike.items():
        parts = np.stack([np.ones(len(sizes)), np.array(commands), sizes], axis=1) / medians[:, None]
        costs, *_ = np.linalg.lstsq(parts, np.ones(len(sizes)), rcond=None)
        if costs.min() >= 0 and float(np.max(np.abs(parts @ costs - 1))) <= explained:
            found += held
    return found


def read_segments(bench: Bench, hit_ms: float) -> int:
    """How many ranges that were read are kept: reading backwards what was read hits until the oldest kept.

    The newest is the one that the heads still read on from; it is not kept yet. Raises InconclusiveError where too many
    are kept for anything else to show.
    """
    for count in _SEGMENTS:
        places = np.arange(count) * _spacing(bench.capacity_bytes, count)
        trace = Trace.reads(np.concatenate([places, places[::-1]]))
        looks = [bench.play("read-segments", trace).latency_ms[count:] for _ in range(_COUNTS)]
        # A host that is late is so at another read in each look, and seldom twice in a row; no arm moves as fast as
        # memory.
        missed = np.median(looks, axis=0) > hit_ms
        twice = np.flatnonzero(missed[:-1] & missed[1:])
        if len(twice):
            return max(int(twice[0]) - 1, 1)
    raise InconclusiveError(
        f"memory keeps {count} ranges of what was read, or more: too much comes from it to tell what lies where",
        hint="whether a drive is shingled may show in other evidence: `shakedown identify`",
    )


def read_ahead(bench: Bench, hit_ms: float, kept: int) -> Estimate:
    """How far the heads read on past a read when nobody asks for more, where memory keeps so many ranges."""
    apart = whole_blocks(bench.capacity_bytes // 70)
    draw = np.random.default_rng(3)
    place = _forgotten(bench, draw.permutation(64) * apart, kept)

    def reaches(ahead: int) -> bool:
        hits = misses = 0
        # A host that is late makes a hit a miss.
        while hits < _HITS and misses <= _LOOKS - _HITS:
            first = int(next(place))
            bench.play("read-ahead", Trace.reads(np.array([first])))
            # Of no even length: else a block that comes at once by its angle does so everywhere.
            bench.idle(int(draw.uniform(*_READ_AHEAD_NS)))
            log = bench.play("read-ahead-probe", Trace.reads(np.array([first + ahead])))
            hit = bool(log.latency_ms[0] < hit_ms)
            hits, misses = hits + hit, misses + (not hit)
        return hits >= _HITS

    low, high = 0, 64 << 20
    if not reaches(BLOCK_BYTES):
        return Estimate(0, 0, BLOCK_BYTES)
    low = BLOCK_BYTES
    while high > 1.1 * low + BLOCK_BYTES:
        middle = max(int((low * high) ** 0.5) if high > 2 * low else (low + high) // 2, low + 1)
        middle = whole_blocks(middle + BLOCK_BYTES - 1)
        low, high = (middle, high) if reaches(middle) else (low, middle)
    return Estimate((low + high) / 2, low, high)


def _forgotten(bench: Bench, places: Ints, kept: int) -> Iterator[int]:
    """These places over and over, none of which memory holds by then, nor what was read behind each."""
    while True:
        yield from places
        forget_these(bench, places, kept)


@dataclass(frozen=True)
class Bursts:
    """Writes that a rested drive takes at once."""

    write_back: bool
    writes: int | None
    """Small ones before one has to wait; None: memory held them all, or none."""
    bytes_taken: int | None
    """Of large ones."""
    writes_off: int = 0
    """By how many small ones looks disagree: how many leave memory before it is full is luck with their angles."""
    bytes_off: int = 0
    """By how many bytes of large ones."""
    wide: bool = False
    """Whether the small ones lay all over the surface."""

    @property
    def end_by_number(self) -> bool:
        """Whether about as many large ones were taken as small ones, or as is usual: bytes may have ended neither."""
        return (self.bytes_taken or 0) > _AS_MANY * (self.writes or USUAL_WRITES) * LARGE_BYTES


def bursts(bench: Bench, overhead_ms: float, turn_ms: float) -> Bursts:
    """How many small writes, and how many bytes, are answered from memory before one has to wait."""
    limit_ms = waited_ms(overhead_ms, turn_ms)
    first_ms, looks = _small_burst(bench, limit_ms)
    large = large_burst(bench, overhead_ms, turn_ms)
    if first_ms >= overhead_ms + 0.15 * turn_ms:
        return Bursts(False, None, None)
    return _agreed(looks, large, wide=False)


def _agreed(looks: list[int | None], large: list[int | None], *, wide: bool) -> Bursts:
    """What looks at small and at large bursts come to."""
    writes, taken = middle(looks), _mostly(large)
    return Bursts(True, writes, taken, _disagreement(looks, writes), _disagreement(large, taken), wide)


def waited_ms(overhead_ms: float, turn_ms: float) -> float:
    """What takes longer had to wait for the platters."""
    return overhead_ms + 0.25 * turn_ms


def over_surface(bench: Bench, found: Bursts, overhead_ms: float, turn_ms: float) -> Bursts:
    """The same by writes all over the surface, where none goes through a cache.

    Far from each other they leave memory slowly: a burst ends soon after as many as memory holds. Within a few tracks
    they may leave nearly as fast as they come.
    """
    if not found.write_back:
        return found
    _, looks = _small_burst(bench, waited_ms(overhead_ms, turn_ms), wide=True)
    if middle(looks) is None:
        return found
    return _agreed(looks, large_burst(bench, overhead_ms, turn_ms, wide=True), wide=True)


def _small_burst(bench: Bench, limit_ms: float, *, wide: bool = False) -> tuple[float, list[int | None]]:
    """What one of the first takes, and how many are taken before one has to wait, by some looks."""
    log, count, writes = first_look(bench, limit_ms, wide=wide)
    looks: list[int | None] = [writes]
    if writes is not None:
        looks += [until_full(_burst(bench, count, wide=wide).latency_ms, limit_ms) for _ in range(_COUNTS - 1)]
    return float(np.median(log.latency_ms[:_FIRST_WRITES])), looks


def middle(looks: list[int | None]) -> int | None:
    """The middle one, if most come near it."""
    known = sorted(look for look in looks if look is not None)
    middle = known[len(known) // 2] if known else 0
    return middle if 2 * len(_near(looks, middle)) > len(looks) else None


def _disagreement(looks: list[int | None], middle: int | None) -> int:
    near = _near(looks, middle) if middle else []
    return max(near) - min(near) if near else 0


def _near(looks: list[int | None], middle: int) -> list[int]:
    return [look for look in looks if look is not None and abs(look - middle) <= _AGREE * middle]


def first_look(bench: Bench, limit_ms: float, *, wide: bool = False) -> tuple[Log, int, int | None]:
    """A burst of small writes, how many it has, and how many are taken before one has to wait."""
    for count in _BURSTS:
        log = _burst(bench, count, wide=wide)
        writes = until_full(log.latency_ms, limit_ms)
        if writes is not None and writes <= _SEEN * count:
            break
    return log, count, writes


def _all_over(bench: Bench, count: int, size: int) -> Trace:
    """So many writes all over the surface."""
    slot_bytes = whole_blocks(bench.capacity_bytes // (2 * count))
    return Trace.writes(scattered(count, 0, 2 * count, slot_bytes), size)


def _burst(bench: Bench, count: int, *, wide: bool = False) -> Log:
    bench.idle(_EMPTIED_NS if wide else _RESTED_NS)
    if wide:
        return bench.play("burst-wide", _all_over(bench, count, BLOCK_BYTES))
    first = aligned(0.2 * bench.capacity_bytes)
    log = bench.play("burst-small", Trace.writes(scattered(count, first, 2 * count, 8 * BLOCK_BYTES)))
    rewrite(bench, "burst-small-rewrite", first, 16 * count * BLOCK_BYTES)
    return log


def taken_all_over(bench: Bench, overhead_ms: float, turn_ms: float) -> int | None:
    """How many bytes of large writes are taken before one has to wait, all over the surface."""
    return _mostly(large_burst(bench, overhead_ms, turn_ms, wide=True))


def large_burst(bench: Bench, overhead_ms: float, turn_ms: float, *, wide: bool = False) -> list[int | None]:
    """How many bytes of large writes are taken before one has to wait, by some looks.

    While a journal is written nothing leaves memory, which is full sooner then; that comes once in a while.
    """
    limit_ms = waited_ms(overhead_ms, turn_ms)
    for count in _LARGE_BURSTS:
        looks = [_large_look(bench, count, limit_ms, rest_ns, wide=wide) for rest_ns in _LARGE_RESTS_NS]
        taken = _mostly(looks)
        if taken is not None and taken <= _SEEN * count * LARGE_BYTES:
            break
    return looks


def _mostly(looks: list[int | None]) -> int | None:
    """The middle of those that know, if most do."""
    known = sorted(taken for taken in looks if taken is not None)
    return known[len(known) // 2] if 2 * len(known) > len(looks) else None


def _large_look(bench: Bench, count: int, limit_ms: float, rest_ns: int, *, wide: bool) -> int | None:
    if wide:
        bench.idle(_EMPTIED_NS + rest_ns)
        return _taken(bench.play("burst-large-wide", _all_over(bench, count, LARGE_BYTES)), limit_ms)
    first = aligned(0.22 * bench.capacity_bytes)
    slots = min(bench.capacity_bytes // LARGE_BYTES // 4, 2 * count)
    places = scattered(min(count, slots // 2), first, slots, 2 * LARGE_BYTES)
    bench.idle(rest_ns)
    log = bench.play("burst-large", Trace.writes(places, LARGE_BYTES))
    rewrite(bench, "burst-large-rewrite", first, slots * 2 * LARGE_BYTES)
    return _taken(log, limit_ms)


def until_full(latency_ms: Floats, limit_ms: float) -> int | None:
    """How many writes are taken before they have to wait; None: they never do, or not so that it is certain.

    A full memory lets one wait after the other; a host is late now and then, from the beginning on. So it is the place
    from which on time is lost at more than half the pace of the end, if that is much more than before and is felt.
    """
    visit = _first_visit(latency_ms, limit_ms)
    if visit is not None:
        return visit
    full = _paced(latency_ms, limit_ms)
    full = _rarely_full(latency_ms, limit_ms) if full is None else full
    return _soon_served(latency_ms, limit_ms) if full is None else full


def _paced(latency_ms: Floats, limit_ms: float) -> int | None:
    """From where on time is lost at the pace of the end."""
    # None counts for more than a visit of the heads takes.
    lost = np.clip(latency_ms - limit_ms, 0.0, _MOST_LOST * limit_ms)
    pace = float(np.mean(lost[len(lost) // 2 :])) / 2
    full = int(np.argmin(np.cumsum(np.concatenate([[0.0], lost - pace]))))
    if not pace or full == len(lost):
        return None
    before, after = float(np.mean(lost[:full])) if full else 0.0, float(np.mean(lost[full:]))
    usual = float(np.median(latency_ms[: max(full, 1)]))
    if after <= max(_CERTAIN * before, _FELT * usual):
        return None
    return _short_first_wait(latency_ms, limit_ms, full)


def _soon_served(latency_ms: Floats, limit_ms: float) -> int | None:
    """Where a drive that turns fast finds one of many so near that no wait is long: if they follow each other closely.

    What a host is late by now and then is as long, and comes at any time.
    """
    usual = float(np.median(latency_ms[:_FIRST_WRITES]))
    short_ms = usual + _SHORT * (limit_ms - usual)
    full = _paced(latency_ms, short_ms)
    if full is None:
        return None
    waits = np.flatnonzero(latency_ms[full:] > short_ms)
    return full if len(waits) > 1 and float(np.quantile(np.diff(waits), _NEARLY_ALL)) <= _CLOSE else None


def _short_first_wait(latency_ms: Floats, limit_ms: float, full: int) -> int:
    """Where waits follow each other closely: the one just before, which is as short as luck with an angle makes it.

    It loses less than the pace of the end, so it seems to come before that. Where waits are rare it may be the host's.
    """
    waits = np.flatnonzero(latency_ms[full:] > limit_ms)
    apart = int(np.median(np.diff(waits))) if len(waits) > 1 else len(latency_ms)
    if apart > _CLOSE:
        return full
    before = max(full - apart, 0)
    return before + int(np.argmax(np.append(latency_ms[before:full], np.inf) > limit_ms))


def _first_visit(latency_ms: Floats, limit_ms: float) -> int | None:
    """Where visits take many writes along: the first, if it lasts longer than all together that came before it."""
    first = int(np.argmax(latency_ms > max(_LONG * limit_ms, float(latency_ms.max()) / 2)))
    before, behind = np.clip(latency_ms[:first] - limit_ms, 0.0, None), latency_ms[first + 1 :] > limit_ms
    few = not len(behind) or float(np.mean(behind)) < _FEW
    return first if first and few and latency_ms[first] > _CERTAIN * float(np.sum(before)) else None


def _rarely_full(latency_ms: Floats, limit_ms: float) -> int | None:
    """Where each wait lets so many more in that hardly any time is lost: the first, if they come evenly, or are alike.

    Now and then a journal comes between two that are.
    """
    waits = even_waits(latency_ms, _MOST_LOST * limit_ms)
    if waits is not None:
        return int(waits[0])
    long = np.flatnonzero(latency_ms[1:] > max(_VISIT * limit_ms, float(latency_ms[1:].max()) / 2)) + 1
    usual = float(np.median(latency_ms[long])) if len(long) else 0.0
    alike = int(np.sum(np.abs(latency_ms[long] / max(usual, limit_ms) - 1) < _AGREE))
    return int(long[0]) if alike >= _COUNTS and alike > len(long) / 2 else None


def _taken(log: Log, limit_ms: float) -> int | None:
    carried = float(np.min(log.latency_ms))
    count = until_full(log.latency_ms, limit_ms + carried)
    return None if count is None else count * int(log.lengths[0])


def deep_reads_gain(bench: Bench) -> float:
    """By how much 32 reads at a time are faster than one at a time."""
    draw = np.random.default_rng(5)
    blocks = bench.capacity_bytes // BLOCK_BYTES
    places: Ints = draw.integers(0, blocks, 600) * BLOCK_BYTES
    one = bench.play("reads-alone", Trace.reads(places[:200]))
    many = bench.play("reads-queued", Trace.reads(places[200:], depth=32))
    alone = float(np.mean(one.latency_ms))
    queued = float(many.completed_ns.max() - many.submitted_ns.min()) / 1e6 / len(many.offsets)
    return alone / queued


def _spacing(capacity_bytes: int, count: int) -> int:
    return whole_blocks(min(capacity_bytes // (count + 1), 24 << 20))
