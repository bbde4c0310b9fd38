"""Where data lies: a block that was written comes at its old angle only if it lies at its old place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shakedown.fit.drive import rotation
from shakedown.fit.place import aligned, apart, rewrite, scattered
from shakedown.fit.trace import BLOCK_BYTES, FLUSH, READ, WRITE, Bench, Floats, Ints, Log, Trace, whole_blocks

_TOLERANCE_TURNS: Final = 0.03
_MOST_TOLERANCE_TURNS: Final = 0.08
_BLURS: Final = 3.0
_FROM_MEMORY_TURNS: Final = 0.06
_BLOCKS: Final = 96
_FEW_BLOCKS: Final = 24
_MORE_LOOKS: Final = 2
_NEARLY_ALL: Final = 0.9
_MARKS: Final = 24
_VAGUE_TURNS: Final = 0.1
# Of a turn: what is answered sooner did not wait for the platters.
_NO_TURN: Final = 0.25
# No arm and platter need so long for one durable write; to write a band anew takes more.
_BAND_TURNS: Final = 4
# A look is as sharp as its marks: of a quiet host nearly all come within half the tolerance.
_SHARP: Final = 0.5
_MOST_UNSHARP: Final = 0.25
_LOOKS: Final = 5
_HALF: Final = 0.5
_FORGETTING_BYTES: Final = 384 << 20
# How many ranges memory keeps is known to so much; and whichever it gives up first, few outlast twice as many.
_AT_MOST: Final = 1.25
_PUSHED_OUT: Final = 2
# Wider than what is read on behind a read, so that none leaves a range for two.
_FORGETTING_STEP_BYTES: Final = 4 << 20
_FORGETTING_DEPTH: Final = 32
_LEAST_QUIET: Final = 0.2
_REGION_BYTES: Final = 96 << 20


@dataclass(frozen=True)
class Sight:
    """What tells where a block lies: its angle, by the length of a turn; none, if it may come from flash."""

    turn_ms: float
    flash: bool = False
    tolerance: float = _TOLERANCE_TURNS
    """Angles that differ by less, in turns, are the same."""
    marks: Floats | None = None
    """Angles of some blocks that nobody writes: what the known length of a turn is wrong by, and how late the host is
    just now, shows in them. Of a model, which is never late, they are asked in each watch anew."""
    kept: int = 0
    """How many ranges that were read memory keeps: it is to answer none of what is looked at."""

    @staticmethod
    def through(turn_ms: float, blur_turns: float, *, flash: bool, kept: int = 0) -> Sight:
        """Where moments are known to so much only."""
        tolerance = float(np.clip(_BLURS * blur_turns, _TOLERANCE_TURNS, _MOST_TOLERANCE_TURNS))
        return Sight(turn_ms, flash, tolerance, kept=kept)

    def with_marks(self, bench: Bench) -> Sight:
        """One that knows where its marks lie; a host that is late in some looks is not in most."""
        first = np.zeros(1, np.int64)
        looks = [_angles(bench, "marks", first, self)[1] for _ in range(_LOOKS)]
        drifts = [middle_angle(rotation.short_way(look - looks[0])) for look in looks]
        return replace(self, marks=middle_look([(look - drift) % 1 for look, drift in zip(looks, drifts, strict=True)]))

    @property
    def blur(self) -> float:
        """What an angle is known to, in turns."""
        return self.tolerance / _BLURS

    def differ(self, now: Floats, before: Floats) -> NDArray[np.bool_]:
        """Which blocks do not lie where they did, as far as both is known."""
        moved = np.abs(rotation.short_way(now - before)) > self.tolerance
        return np.asarray(moved | (np.isnan(now) != np.isnan(before)) if self.flash else moved)


@dataclass(frozen=True)
class Moved:
    """What became of blocks that were written: how many lie elsewhere, and how many of those in flash."""

    share: float
    flash_share: float = 0.0
    unseen_share: float = 0.0
    """Of how many nothing showed before they were written: memory answered, whatever had been read meanwhile."""

    @property
    def hidden(self) -> bool:
        """Whether that hides where data lies."""
        return self.unseen_share > _HALF >= self.share


@dataclass(frozen=True)
class Watch:
    """Blocks whose angles are known from before they were written."""

    bench: Bench
    name: str
    offsets: Ints
    sight: Sight
    home: Floats
    marks: Floats

    @staticmethod
    def over(bench: Bench, name: str, offsets: Ints, sight: Sight) -> Watch:
        """Read the blocks, whose offsets rise, for the first time."""
        if sight.marks is None:
            return Watch(bench, name, offsets, sight, *_angles(bench, f"{name}-home", offsets, sight))
        unseen = Watch(bench, name, offsets, sight, np.zeros(0), sight.marks)
        return replace(unseen, home=unseen.looked("home"))

    def angles(self) -> Floats:
        """Read them again: their angles now, in the order of ``offsets``."""
        return self.looked("now")

    def looked(self, when: str) -> Floats:
        """Their angles; where the host was late too often in a look, the middle of several."""
        first, sharp = self._look(when)
        if sharp:
            return first
        return middle_look([first, *(self._look(when)[0] for _ in range(_LOOKS - 1))])

    def _look(self, when: str) -> tuple[Floats, bool]:
        """Their angles, and whether the marks came where they lie."""
        angles, marks = _angles(self.bench, f"{self.name}-{when}", self.offsets, self.sight)
        drift = rotation.short_way(marks - self.marks)
        middle = middle_angle(drift)
        off = np.abs(rotation.short_way(drift - middle))
        unsharp = float(np.mean(off > _SHARP * self.sight.tolerance))
        return np.asarray((angles - middle) % 1.0), unsharp <= _MOST_UNSHARP

    def away(self) -> NDArray[np.bool_]:
        """Which of them do not lie where they did."""
        now = self.angles()
        # What lay in flash before, too, is away while it lies there.
        return np.asarray(self.sight.differ(now, self.home) | (np.isnan(now) & self.sight.flash))


def moved(bench: Bench, turn_ms: float, most: int = _BLOCKS, *, kept: int = 0) -> Moved:
    """How many of some durably written blocks lie elsewhere afterwards: nearly none, or nearly all.

    A host that is late now and then makes blocks seem elsewhere that nobody wrote: as many are taken off. What comes
    without any motion once memory has forgotten it comes from flash.
    """
    first = aligned(0.4 * bench.capacity_bytes)
    slots = min(_REGION_BYTES, bench.capacity_bytes // 4) // (16 * BLOCK_BYTES)
    offsets = np.sort(scattered(min(most, slots // 2), first, slots, 16 * BLOCK_BYTES))
    sight = Sight(turn_ms, flash=True, kept=kept)
    watch = Watch.over(bench, "moved", offsets, sight)
    again = watch.angles()
    unmoved, unseen = float(np.mean(sight.differ(again, watch.home))), float(np.mean(np.isnan(again)))
    bench.play("moved-write", Trace.writes(offsets[apart(len(offsets))], flush_every=1))
    forget(bench, offsets, kept)
    now = watch.angles()
    seen, in_flash = sight.differ(now, watch.home), np.isnan(now) & ~np.isnan(watch.home)
    rewrite(bench, "moved-rewrite", first, slots * 16 * BLOCK_BYTES)
    share = max(float(np.mean(seen)) - unmoved, 0.0) / max(1 - unmoved, _LEAST_QUIET)
    return Moved(share, float(np.mean(in_flash)), unseen)


def most_moved(bench: Bench, turn_ms: float, rest_ns: int, kept: int) -> Moved:
    """What became of blocks that were written, the most of some looks.

    Where it is not nearly all, the cache may have been too full just then, so that what was new in it went home: other
    looks follow a rest, at fewer blocks.
    """
    seen = moved(bench, turn_ms, kept=kept)
    for _ in range(_MORE_LOOKS):
        if seen.share >= _NEARLY_ALL:
            break
        bench.idle(rest_ns)
        seen = max(seen, moved(bench, turn_ms, _FEW_BLOCKS, kept=kept), key=lambda one: one.share)
    return seen


def left_at_once(bench: Bench, turn_ms: float, kept: int) -> tuple[float, float]:
    """Which share of blocks lie elsewhere when each is read right behind its durable write, and soon no longer there.

    On the platters, and in flash.
    The host is never silent meanwhile: so does a drive that cleans without waiting for silence. From flash it comes at
    no angle; but then each durable write waits for the whole band of the one before, as no conventional drive's does.
    """
    first = aligned(0.45 * bench.capacity_bytes)
    slots = min(_REGION_BYTES, bench.capacity_bytes // 4) // (16 * BLOCK_BYTES)
    offsets = np.sort(scattered(min(_BLOCKS, slots // 2), first, slots, 16 * BLOCK_BYTES))
    sight = Sight(turn_ms, kept=kept).with_marks(bench)
    watch = Watch.over(bench, "at-once", offsets, sight)
    order = apart(len(offsets))
    pairs = Trace.writes(np.repeat(offsets[order], 2), flush_every=1)
    # Of each two writes with their flushes the second becomes a read, and its flush nothing.
    keep = np.tile([True, True, True, False], len(offsets))
    verbs = np.tile([WRITE, FLUSH, READ, FLUSH], len(offsets))[keep]
    each = Trace(verbs, pairs.offsets[keep], pairs.lengths[keep])
    log = bench.play("at-once-pairs", Trace.reads(reference_places(bench)) + each)
    from_flash = log.latency_ms[log.verbs == READ][_MARKS:] < turn_ms * _NO_TURN
    for_a_band = log.cycle_ms[log.verbs == WRITE] > turn_ms * _BAND_TURNS
    now = angles_of(log.part(log.verbs == READ), sight)
    home, later = watch.home[order], watch.angles()[order]
    # Between flushes moments are known to a fio's millisecond only; what that comes to is mostly the same for all.
    vague = replace(sight, tolerance=_VAGUE_TURNS)
    now = now + middle_angle(rotation.short_way(later - now))
    on_disk = np.mean(vague.differ(now, home) & vague.differ(later, now))
    return float(on_disk), float(np.mean(from_flash & for_a_band))


def middle_look(looks: list[Floats]) -> Floats:
    """Of several looks at blocks the middle angle of each; NaN where memory, or flash, answered mostly."""
    seen = np.array(looks)
    known = ~np.isnan(seen)
    # Angles go round: counted from the first that is known.
    first = seen[np.argmax(known, axis=0), np.arange(seen.shape[1])]
    ways = np.sort(rotation.short_way(seen - first), axis=0)
    # What is not known is last.
    middle = ways[np.maximum(known.sum(axis=0) - 1, 0) // 2, np.arange(seen.shape[1])]
    return np.asarray(np.where(known.mean(axis=0) > _HALF, (first + middle) % 1.0, np.nan))


def forget(bench: Bench, offsets: Ints, kept: int) -> None:
    """Read so much elsewhere that memory holds nothing of what was written; not in sequence, which is one range.

    On a small drive some of the ``offsets``, which are looked at next, may lie there: a memory that keeps many ranges
    forgets that, too.
    """
    size = min(_FORGETTING_BYTES, bench.capacity_bytes // 8)
    places = aligned(0.7 * bench.capacity_bytes) + apart(size >> 20) * (1 << 20)
    bench.play("forget", Trace.reads(places, 1 << 20, depth=4))
    forget_these(bench, offsets, kept)


def forget_these(bench: Bench, offsets: Ints, kept: int) -> None:
    """Let memory, which keeps so many ranges, forget what was read and will be again, if it may hold some of it."""
    trace = forgetting(bench, offsets, kept)
    if len(trace):
        bench.play("forget-these", trace)


def forgetting(bench: Bench, offsets: Ints, kept: int) -> Trace:
    """Reads that push out of memory what it may keep of these places, in the widest gap between them; else none.

    Where it keeps fewer ranges than a look has marks, each look pushes out the one before; what lies in a log, with
    nothing of use behind it, may leave no range.
    """
    if _AT_MOST * kept <= _MARKS:
        return Trace.reads(np.empty(0, np.int64))
    count = _PUSHED_OUT * kept
    ends = np.sort(np.concatenate([[0], offsets, [bench.capacity_bytes]]))
    widest = int(np.argmax(np.diff(ends)))
    gap_bytes = int(ends[widest + 1] - ends[widest])
    step = whole_blocks(max(min(gap_bytes // (2 * count), _FORGETTING_STEP_BYTES), BLOCK_BYTES))
    first = whole_blocks(int(ends[widest]) + (gap_bytes - count * step) // 2)
    return Trace.reads(first + apart(count) * step, depth=_FORGETTING_DEPTH)


def reference_places(bench: Bench) -> Ints:
    """Where the marks of a sight lie, in the order in which they are read."""
    marks = whole_blocks(bench.capacity_bytes) - (1 + np.arange(_MARKS)) * _mark_spacing(bench)
    return np.asarray(marks[apart(_MARKS)])


def angles_of(log: Log, sight: Sight) -> Floats:
    """Angles of what was read, in its order, right behind the places of the marks; these are left out."""
    assert sight.marks is not None
    read = _phases(log, sight.turn_ms)
    drift = rotation.short_way(read[:_MARKS] - sight.marks[apart(_MARKS)])
    return np.asarray((read[_MARKS:] - middle_angle(drift)) % 1.0)


def _phases(log: Log, turn_ms: float) -> Floats:
    """The phase at which each request came; NaN where memory answered."""
    read = rotation.phases(log, turn_ms)
    read[log.latency_ms < _FROM_MEMORY_TURNS * turn_ms] = np.nan
    return read


def _angles(bench: Bench, name: str, offsets: Ints, sight: Sight) -> tuple[Floats, Floats]:
    """Angles in the order of ``offsets``, and those of the marks; NaN where memory answered.

    They are read in an order that is neither theirs nor the one in which any were written, for a log read in its own
    order comes as fast as from memory. The last read goes far away: what the heads read on from there is none of these.
    """
    order, marks_order = apart(len(offsets))[::-1], apart(_MARKS)
    far = whole_blocks((int(offsets[0]) + bench.capacity_bytes // 2) % bench.capacity_bytes)
    count = len(offsets)
    # A mark between each two of the first: few blocks that lie near each other would come with one another.
    turns = np.argsort(np.concatenate([np.arange(count), np.arange(_MARKS) + 0.5]))
    places = np.concatenate([offsets[order], reference_places(bench)])[turns]
    read = _phases(bench.play(name, Trace.reads(np.append(places, far))), sight.turn_ms)
    # For the next look, and not before it: one that cleans for each request would bring home what that is to see.
    forget_these(bench, places, sight.kept)
    angles = read[:-1][np.argsort(turns)]
    return angles[:count][np.argsort(order)], angles[count:][np.argsort(marks_order)]


def _mark_spacing(bench: Bench) -> int:
    """The marks take the last 200 MB, which nothing here ever writes, or the last fiftieth of a small drive."""
    return whole_blocks(max(min(8 << 20, bench.capacity_bytes // 1200), BLOCK_BYTES))


def middle_angle(drifts: Floats) -> float:
    """The median of angles around the most common one; 0 where none is known."""
    known = drifts[~np.isnan(drifts)]
    if not len(known):
        return 0.0
    near = [np.sum(np.abs(rotation.short_way(known - one)) < _TOLERANCE_TURNS) for one in known]
    centre = float(known[int(np.argmax(near))])
    around = rotation.short_way(known - centre)
    return centre + float(np.median(around[np.abs(around) < _TOLERANCE_TURNS]))
