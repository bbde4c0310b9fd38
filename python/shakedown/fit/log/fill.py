"""Filling the persistent cache: after how much of each kind of writing does the drive stall for the first time?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shakedown.fit.estimate import Estimate
from shakedown.fit.even import even_waits
from shakedown.fit.log.append import Journal, journal
from shakedown.fit.log.pace import Pace
from shakedown.fit.log.pace import estimate as pace_of
from shakedown.fit.log.turns import apart
from shakedown.fit.place import rewrite, scattered
from shakedown.fit.trace import BLOCK_BYTES, Bench, Floats, Ints, Trace

# No round number, as limits of drives are: what a flush at the end of a chunk takes a real target's log does not tell.
_LEAST_CHUNK: Final = 1499
_CHUNK_SHARE: Final = 0.25
_LEAST_EACH: Final = 600
_EACH_SHARE: Final = 100
MOST_WRITES: Final = 16_000_000
_CALM_WRITES: Final = 600
# Of what a write waits for while there is room: a visit that is under way, and the one behind it.
_CALM_FACTOR: Final = 2.25
_STEADY_FACTOR: Final = 1.4
_LEAST_STALL_MS: Final = 150.0
_SURE_STALL_MS: Final = 2500.0
_IN_A_ROW: Final = 3
# So many go to one place before the next one, that visits bring about as many as where there is one place only.
_TOGETHER: Final = 64
_ALIKE: Final = 2.0
# Within two passes over regions that take the fewest writes, of eight bands each.
_NEAR_WRITES: Final = 10_000
_NEAR_SHARE: Final = 0.16
_HOST_LATE: Final = 2
_JOURNAL_WIDTH: Final = 0.1
# What differs from the journal by less may be one.
JOURNAL_VARIES: Final = 0.05
_FAR_LONGER: Final = 10.0
# Of a pass with one piece in each band, which has least to do: memory may have had room for a part of it.
_LEAST_OF_PASS: Final = 0.4
_FEWEST_GAPS: Final = 2
_WAIT_FACTOR: Final = 4.0
_MUCH_SOONER: Final = 0.5
_LEADS_UP: Final = 1.5
# By which share a visit that is not forced may come sooner, where so many writes or more are taken along by each.
_OUT_OF_TURN: Final = 0.02
_GATHERED: Final = 50
# Of what a pass takes most may be hidden by what memory had room for: a twenty-sixth of it has been seen.
_AS_SLOW: Final = 0.02
_LEAST_EBB: Final = 4000
# Ends of stretches, as shares of all, whose last writes are not those before a full log.
_EARLIER: Final = (0.6, 0.7, 0.8, 0.9)
_FAR_MORE: Final = 4.0


@dataclass(frozen=True)
class Order:
    """Where to fill, and what to do afterwards."""

    firsts: tuple[int, ...]
    """From where on: one place, or one that is nearest to each log of a cache in several places."""
    room_bytes: int
    """Behind each of them."""
    region_bytes: int
    settle_ns: int
    """How long the drive needs for what rewriting leaves behind: a band or two at either end."""
    pass_ms: float
    """What a forced pass takes that has next to nothing to clean; 0: not known."""
    rewritten: bool
    """Whether rewriting passes by the cache, and so empties it."""
    pass_bands: float = 1.0
    """How many bands such a pass cleans."""

    @property
    def together(self) -> int:
        """How many writes go to one place before the next one."""
        return _TOGETHER if len(self.firsts) > 1 else 1

    @property
    def round_writes(self) -> int:
        """How many go to all places in turn."""
        return self.together * len(self.firsts)


@dataclass(frozen=True)
class Fill:
    """A fill up to the first stall."""

    writes: int | None
    """Until the first one that stalled; None: none did."""
    ebb_ms: float | None = None
    """What the last writes before it took longer in all than others."""
    written: int = 0
    """Until it was certain."""
    pace: Pace | None = None
    """Of memory, before it stalled."""
    passes_apart: Estimate | None = None
    """How many writes there are from one forced pass to the next."""
    surely: int | None = None
    """Until one waited longer than while there was room: a host that is late lets memory begin a visit out of turn."""
    ms: float = 0.0
    """What all of them took that did not stall."""
    some_home: bool = False
    """Whether some of it, nobody knows how much, went home before it stalled."""


def fill(
    bench: Bench,
    name: str,
    order: Order,
    *,
    flush_every: int,
    known: Journal | None,
    most: int = MOST_WRITES,
    again: int = 0,
) -> Fill:
    """Write scattered blocks into regions, one after the other, until one stalls; then tidy up.

    With ``flush_every`` each group of so many is durable before the next one begins, and stalls as a whole. With
    ``again`` every other write behind the first so many, whole rounds over all places, overwrites one of these.

    ``known`` is the journal, which takes long now and then though there is room; None: find it in the first writes,
    each of which has to be durable then.
    """
    plan = _Regions.of(order, most, again)
    begun = [0]

    def course() -> Fill:
        return _filled(bench, name, order, plan, flush_every, known, begun.append)

    return bench.in_one_go(course, lambda plain: _tidy(plain, name, order, plan.end(begun[-1])))


def _filled(
    bench: Bench,
    name: str,
    order: Order,
    plan: _Regions,
    flush_every: int,
    known: Journal | None,
    begins: Callable[[int], None],
) -> Fill:
    """``begins`` hears up to which write the next trace goes."""
    least_ms = _LEAST_OF_PASS * order.pass_ms
    cycles: list[Floats] = []
    limits: Limits | None = None
    done, stalls = 0, np.zeros(0, int)
    group = max(flush_every, 1)
    # Heads that were parked before come back for this: where memory gathers writes they would stall a later one.
    bench.play(f"{name}-wake", Trace.writes(plan.places(0, 1), flush_every=1))
    while not len(stalls) and done + group <= plan.writes:
        # Not much more than needed: after the collapse every write takes long.
        chunk = min(max(_LEAST_CHUNK, int(done * _CHUNK_SHARE)), plan.writes - done) // group * group
        offsets = plan.places(done, chunk)
        begins(done + chunk)
        log = bench.play(f"{name}-{len(cycles)}", Trace.writes(offsets, flush_every=flush_every))
        cycle = log.cycle_ms.reshape(-1, group).sum(axis=1)
        cycles.append(cycle)
        known = known or journal(log)
        limits = limits or Limits.of(cycle, known, gathered=not flush_every, least_ms=least_ms)
        done += chunk
        so_far = np.concatenate(cycles)
        stalls = stalls_in(so_far, limits)
        if not len(stalls):
            limits = limits.later(Limits.of(so_far, known, gathered=not flush_every, least_ms=least_ms))
    _tidy(bench, name, order, plan.end(done))
    all_cycles = np.concatenate(cycles)
    if limits and len(stalls):
        stalls = _with_shorter_pass(stalls, all_cycles, limits, lambda at: plan.dirty(at * group) / order.pass_bands)
    before = all_cycles[: stalls[0] if len(stalls) else done]
    pace, taken_ms = None if flush_every else pace_of(before), float(before.sum())
    if not len(stalls):
        return Fill(None, written=done, pace=pace, ms=taken_ms)
    ebb = None if flush_every else ebb_ms(before)
    longer = stalls[all_cycles[stalls] > limits.longest_ms] if limits else stalls
    surely = int(longer[0] if len(longer) else stalls[0]) * group
    return Fill(int(stalls[0]) * group, ebb, done, pace, apart(all_cycles, stalls), surely, taken_ms)


def _tidy(bench: Bench, name: str, order: Order, written_bytes: int) -> None:
    for first in order.firsts if order.rewritten else ():
        rewrite(bench, f"{name}-rewrite", first, written_bytes)
    bench.idle(order.settle_ns)


def ebb_ms(cycle_ms: Floats) -> float | None:
    """How much longer the last writes before the log is full take in all than as many when there was more room.

    A drive that goes there only with what certainly fits takes fewer and fewer writes along: it pays for more visits.
    None where it is not far more than what writes before lose by chance, journals and the host's delays included.
    """
    count = len(cycle_ms)
    if count < _LEAST_EBB:
        return None
    longer = cycle_ms - float(np.mean(cycle_ms[count // 4 : count // 2]))

    def lost(end: int) -> float:
        return float(np.max(np.cumsum(longer[end - count // 4 : end][::-1])))

    at_end, by_chance = lost(count), max(lost(int(share * count)) for share in _EARLIER)
    return at_end if at_end > _FAR_MORE * by_chance else None


@dataclass(frozen=True)
class Limits:
    """What a stall is longer than: anything that the drive did while it certainly had room, but for its journal."""

    usual_ms: float
    journal_ms: float
    steady: bool = False
    """Whether it was seen often enough that none that is longer was only missed."""
    journal_writes: float = 0.0
    """How many writes there are about from one journal to the next."""
    gathered: bool = True
    """Whether memory gathers writes for visits; else each is a visit of its own."""
    least_ms: float = 0.0
    """What is shorter is no pass that cleans as many bands as one may, whatever it is."""

    @staticmethod
    def of(cycle_ms: Floats, known: Journal, *, gathered: bool = False, least_ms: float = 0.0) -> Limits:
        """From the first cycles of a fill: visits to the log are many among them, late answers of a host are few.

        Where memory gathers writes, a visit may take as long as the journal.
        """
        journal_ms = known.ms
        early = cycle_ms[1:_CALM_WRITES]
        about = max(_JOURNAL_WIDTH * journal_ms, 2 * float(np.median(early)))
        is_calm = np.abs(cycle_ms - journal_ms) > about if journal_ms else np.ones(len(cycle_ms), bool)
        if gathered and _are_visits(cycle_ms, is_calm):
            is_calm[:] = True
        calm = np.sort(early[is_calm[1:_CALM_WRITES]])
        if len(calm) <= _HOST_LATE:
            return Limits(float(early.max()), journal_ms, gathered=gathered, least_ms=least_ms)
        waits = even_waits(np.where(is_calm, cycle_ms, 0.0), _FAR_LONGER * float(np.median(early)))
        if waits is not None and waits[-1] >= _CALM_WRITES:
            # So few come early that a late answer of the host cannot be told from one of them.
            apart = float(np.mean(np.diff(waits)))
            return Limits(float(cycle_ms[waits].max()), journal_ms, True, known.every * apart, gathered, least_ms)
        # Where a visit takes hundreds of writes along there are few of them, but one is as long as the other.
        alike = calm[1:][np.diff(calm) < _JOURNAL_WIDTH * calm[1:]]
        usual = float(max(calm[-1 - _HOST_LATE], alike[-1] if len(alike) else 0.0))
        steady = int(np.sum(np.abs(calm / usual - 1) < _JOURNAL_WIDTH)) >= _IN_A_ROW
        waits = np.flatnonzero(cycle_ms[:_CALM_WRITES] > usual / 2)
        # Durable ones are a visit each, also where that is shorter than a host is late now and then.
        visit_writes = float(np.median(np.diff(waits))) if gathered and len(waits) > _IN_A_ROW else 1.0
        return Limits(usual, journal_ms, steady, known.every * visit_writes, gathered, least_ms)

    @property
    def stall_ms(self) -> float:
        """What is longer is one, unless it is shorter than any pass."""
        factor = _STEADY_FACTOR if self.steady else _CALM_FACTOR
        return max(factor * self.usual_ms, _LEAST_STALL_MS)

    @property
    def longest_ms(self) -> float:
        """What is longer is one, where as many bands as a pass may clean have something to be cleaned."""
        return max(self.stall_ms, self.least_ms)

    def later(self, longer: Limits) -> Limits:
        """Those of a ``longer`` fill that is without a stall by these, if they have seen visits and these none.

        A large memory waits for its first ones behind what these are made of. What may be a stall is no visit.
        """
        sees_first = _FAR_LONGER * self.usual_ms < longer.usual_ms <= self.longest_ms
        return longer if sees_first else self


def _are_visits(cycle_ms: Floats, is_calm: NDArray[np.bool_]) -> bool:
    """Whether waits as long as the journal's are visits to the log, of which few have a journal to wait for.

    By the time that goes to them: a host is late more often than memory is full, but not for long.
    """
    waits = cycle_ms > _WAIT_FACTOR * float(np.median(cycle_ms))
    like = waits & ~is_calm
    return int(np.sum(like)) >= _IN_A_ROW and float(np.sum(cycle_ms[like])) > float(np.sum(cycle_ms[waits & is_calm]))


def stalls_in(cycle_ms: Floats, limits: Limits) -> Ints:
    """The stalls, once some came that are alike: a full drive cleans as many bands for every so many writes.

    A single one that is late may be the host, or the journal. So long a one is neither: a drive that cleans many bands
    at a time then has room for long.
    """
    late = cycle_ms > limits.longest_ms
    if limits.journal_ms:
        off_ms = np.abs(cycle_ms - limits.journal_ms - limits.usual_ms / 2)
        # Where visits are all alike it takes at most one of them longer.
        visit_ms = (0.5 + _JOURNAL_WIDTH if limits.steady else 1.0) * limits.usual_ms
        like = np.flatnonzero(late & (off_ms <= visit_ms + JOURNAL_VARIES * limits.journal_ms))
        late[like] = False
        late[_forced(like, _journals_apart(like, limits.journal_writes))] = True
    found = np.flatnonzero(late)
    lengths = cycle_ms[found]
    for number, (at, length) in enumerate(zip(found, lengths, strict=True)):
        near = found[number:] <= _near(int(at))
        if length > _SURE_STALL_MS or np.sum(near & _alike(lengths[number:], length)) >= _IN_A_ROW:
            stalls = found[_first_like(found[: number + 1], lengths[: number + 1]) :]
            return _with_first_out_of_turn(stalls, cycle_ms, limits)
    return found[:0]


def _with_shorter_pass(stalls: Ints, cycle_ms: Floats, limits: Limits, dirty_share_at: Callable[[int], float]) -> Ints:
    """The stalls and one before them that took twice as long as all else: a pass over such a share of its bands.

    The first has no more to clean than what the fill has made dirty by then.
    """
    before = cycle_ms[: stalls[0]]
    if limits.least_ms <= limits.stall_ms or len(before) < _IN_A_ROW:
        return stalls
    first = int(np.argmax(before))
    dirty_share = dirty_share_at(first)
    others_ms = _ALIKE * max(float(np.delete(before, first).max()), limits.usual_ms)
    least_ms = max(limits.stall_ms, limits.least_ms * dirty_share, others_ms + limits.journal_ms)
    return np.concatenate([[first], stalls]) if dirty_share < 1 and before[first] > least_ms else stalls


def _with_first_out_of_turn(stalls: Ints, cycle_ms: Floats, limits: Limits) -> Ints:
    """The stalls and a wait before them that is one, too, though none is that long.

    Where each visit takes as many writes along, one that comes sooner than the others has not gathered them.
    """
    waits = np.flatnonzero(cycle_ms[: stalls[0]] > limits.usual_ms / 2)
    gaps = np.diff(waits)
    if not limits.gathered or not limits.steady or len(gaps) < _IN_A_ROW:
        return stalls
    usual = float(np.median(gaps))
    sooner = np.flatnonzero(gaps < (1 - _OUT_OF_TURN) * usual)
    if usual < _GATHERED or not len(sooner) or np.any(gaps[1 : sooner[0]] > (1 + _OUT_OF_TURN) * usual):
        return stalls
    first = int(waits[sooner[0] + 1])
    # A pass takes time for the room that it makes; a host that is late once makes none.
    made = cycle_ms[first] / (stalls[0] - first)
    usual_made = float(np.sum(cycle_ms[stalls[:-1]])) / max(stalls[-1] - stalls[0], 1)
    is_pass = stalls[0] <= _near(first) and made > _AS_SLOW * usual_made
    return np.concatenate([[first], stalls]) if is_pass else stalls


def _journals_apart(like: Ints, most: float) -> float:
    """How many writes there are from one journal to the next, if one wait in ``most`` may have been several visits.

    They come evenly from the beginning on, when nothing is forced yet.
    """
    gaps = np.diff(like)[:_IN_A_ROW]
    if len(gaps) < _FEWEST_GAPS or like[0] > (1 + _JOURNAL_WIDTH) * gaps[0]:
        return most
    times = most / float(np.median(gaps))
    even = np.ptp(gaps) < _JOURNAL_WIDTH * gaps[0] and abs(times - round(times)) < _JOURNAL_WIDTH
    return float(np.median(gaps)) if even and times > 1 else most


def _forced(like: Ints, apart: float) -> list[int]:
    """Which of the waits that are as long as the journal's are none of it: they come much sooner after one that may be.

    A forced pass may take as long. The one before these was one too if it came no sooner than they follow each other,
    and not when the journal was due.
    """
    journals: list[int] = []
    forced: list[int] = []
    for at in like.tolist():
        if journals and at - journals[-1] < _MUCH_SOONER * apart:
            forced.append(at)
        else:
            journals.append(at)
    if len(forced) > 1:
        gaps = np.diff([at for at in journals if at < forced[0]])
        before = max(at for at in journals if at < forced[0])
        due = len(gaps) > 1 and abs(gaps[-1] / np.median(gaps) - 1) < _JOURNAL_WIDTH
        if not due and forced[0] - before <= _LEADS_UP * (forced[1] - forced[0]):
            forced.insert(0, before)
    return forced


def _near(at: int) -> float:
    """How far behind a stall the next one of the same kind is at most."""
    return at + _NEAR_WRITES + _NEAR_SHARE * at


def _first_like(found: Ints, lengths: Floats) -> int:
    """The first of the stalls that lead up to the last and are like it: what one alone did not tell for certain."""
    alike = _alike(lengths, lengths[-1])
    first = len(found) - 1
    while first and found[first] <= _near(int(found[first - 1])) and alike[first - 1]:
        first -= 1
    return first


def _alike(lengths: Floats, length: float) -> NDArray[np.bool_]:
    return np.asarray((lengths < _ALIKE * length) & (length < _ALIKE * lengths))


@dataclass(frozen=True)
class _Regions:
    """How many writes go into each region of a place: few at first, later a small share of all before.

    So a band that is cleaned early, in the pause between two loads, hardly counts, and regions do not become many.
    """

    order: Order
    counts: Ints
    slots: int
    bytes_each: int
    again: int = 0

    @staticmethod
    def of(order: Order, most: int, again: int = 0) -> _Regions:
        slots = max(order.region_bytes // BLOCK_BYTES, 16)
        counts, done, most = [], 0, most // len(order.firsts)
        if order.room_bytes == order.region_bytes:
            # One takes all.
            counts = [min(most, slots * 6 // 10)]
            done = most
        for _ in range(max(order.room_bytes // (slots * BLOCK_BYTES), 1)):
            if done >= most:
                break
            counts.append(min(max(_LEAST_EACH, done // _EACH_SHARE), slots * 6 // 10, most - done))
            done += counts[-1]
        return _Regions(order, np.array(counts), slots, slots * BLOCK_BYTES, again)

    def end(self, count: int) -> int:
        """How far behind its first the region of the last of so many ends, at any place."""
        fresh = self._newest(count - 1) + 1
        each = -(-fresh // self.order.round_writes) * self.order.together
        return (int(np.searchsorted(np.cumsum(self.counts), each)) + 1) * self.bytes_each

    @property
    def writes(self) -> int:
        return int(self.counts.sum()) // self.order.together * self.order.round_writes

    def dirty(self, number: int) -> int:
        """How many regions have something when the write with this number comes."""
        _, each = self._parted(np.array([self._newest(number)]))
        return (int(np.searchsorted(np.cumsum(self.counts), each[0], side="right")) + 1) * len(self.order.firsts)

    def places(self, begin: int, count: int) -> Ints:
        """The next ones."""
        ends = np.cumsum(self.counts)
        place, each = self._parted(self._numbers(np.arange(begin, begin + count)))
        region = np.searchsorted(ends, each, side="right")
        inside = each - np.concatenate([[0], ends])[region]
        base = scattered(int(self.counts.max()), 0, self.slots, BLOCK_BYTES)
        return np.asarray(np.array(self.order.firsts)[place] + region * self.bytes_each + base[inside])

    def _numbers(self, writes: Ints) -> Ints:
        """Of the place that each write goes to: none twice, unless every other one is to overwrite one of the first."""
        if not self.again:
            return writes
        pairs, second = np.divmod(writes - self.again, 2)
        return np.where(pairs < 0, writes, np.where(second, pairs % self.again, self.again + pairs))

    def _newest(self, write: int) -> int:
        """The number of the last place that something was written to, up to this write."""
        return int(self._numbers(np.array([max(write - 1, 0), write])).max())

    def _parted(self, numbers: Ints) -> tuple[Ints, Ints]:
        """At which place each write is, and its number there."""
        turn, inside = np.divmod(numbers, self.order.round_writes)
        place, inside = np.divmod(inside, self.order.together)
        return place, turn * self.order.together + inside
