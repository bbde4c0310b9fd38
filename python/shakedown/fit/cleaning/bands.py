"""Bands: a persistent cache is emptied band by band, so all blocks of a band come home at the same time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shakedown.fit.cleaning.grid import fitted
from shakedown.fit.drive.whereabouts import Sight, Watch, forgetting, middle_angle
from shakedown.fit.estimate import Estimate
from shakedown.fit.place import aligned, apart, in_region
from shakedown.fit.trace import BLOCK_BYTES, Bench, Floats, Ints, Trace, whole_blocks

SHARES: Final = (0.0, 0.5, 1.0)
"""Of the capacity: where bands are looked at."""
_COARSE_BYTES: Final = 8 << 20
BLOCKS: Final = 144
_ROUNDS: Final = 80
_PATIENCE_ROUNDS: Final = 8
# A band that takes longer than all before it together, and than the slowest, is none.
_STOPPED: Final = 4
_STOPPED_MS: Final = 30_000.0
_LONGEST_REST_MS: Final = 16_000
_REST_BLOCKS: Final = 200
_PROBES: Final = 200
_AT_A_TIME: Final = 2
_PROBES_BYTES: Final = 4 << 30
_PROBES_SHARE: Final = 16
_TRIES: Final = 6
_LATE: Final = 2
_SURPLUS_MS: Final = 200.0
_SURE_LOOKS: Final = 2
_BORDER_WEIGHT: Final = 1.25
_MOST_CHANGED: Final = 0.1
_NEARLY_ALL: Final = 0.9
_CLEANED_SHARE: Final = 0.15
# Of bands that move, one in eight comes to an angle like its old one, as a busy host sees it. A lazy drive keeps more.
_MOST_CAME: Final = 0.75
_JITTER: Final = 0.02
# The outermost of four silences is then half way from the middle to a bound.
_WITHIN_BOUNDS: Final = 3
# A place may lie a zone further than where its rate was measured; of few zones each has a sixth less to a track.
_ALIKE: Final = 1.2
_FEWEST_ALIKE: Final = 2
_BAND_NS: Final = 15_000_000_000


def _nothing(_offset: int, _count: int = 0, _size: int = 0) -> None:
    """A drive that cleans whatever it holds needs none."""


@dataclass(frozen=True)
class Press:
    """What has to be done before and after writing at an offset so that a drive cleans that, and that alone.

    Afterwards it matters how many writes of which size that were.
    """

    before: Callable[[int], None] = _nothing
    after: Callable[[int, int, int], None] = _nothing


NO_PRESS: Final = Press()


@dataclass(frozen=True)
class Bands:
    """What was seen of the bands at one place."""

    size_bytes: Estimate
    border: int
    """Offset of one border."""


@dataclass(frozen=True)
class Homecoming:
    """When each of some blocks came home; those whose leaving did not show are left out."""

    offsets: Ints
    against: Floats
    """A row a round, and one for none: what speaks against each block having come home in it."""
    static_share: float
    """How many of those that came did so to their old place."""
    stopped: bool = False
    """Whether in silence much longer than all before hardly more came, with much left: a lazy drive had enough."""

    @property
    def rounds(self) -> Ints:
        """In which round each most likely came home; -1: in none."""
        return _likeliest(self.against)

    @property
    def came_at_once(self) -> bool:
        """Whether all that came home did so in one round, which tells of no band."""
        return len(np.unique(self.rounds[self.rounds >= 0])) == 1


def rest_needed(bench: Bench, sight: Sight, slow_ms: float, press: Press = NO_PRESS) -> Estimate | None:
    """How many ms of silence it takes until the drive begins to clean; None: it does not within 16 s.

    Heads that clean keep a read waiting for longer than ``slow_ms``, which is more than any seek.
    """
    # It ends before the places of the streams, also on a small drive: one that ended among them would be gone on with.
    first = aligned(0.425 * bench.capacity_bytes)
    spacing = spacing_within(bench, _COARSE_BYTES)
    offsets = first + np.arange(_REST_BLOCKS) * spacing

    def course() -> Estimate | None:
        return _rest_needed(bench, offsets, sight, slow_ms, press)

    return in_region(bench, "rest-rewrite", first, _REST_BLOCKS * spacing, course)


def _rest_needed(bench: Bench, offsets: Ints, sight: Sight, slow_ms: float, press: Press) -> Estimate | None:
    first = int(offsets[0])
    press.before(first)
    watch = Watch.over(bench, "rest", offsets, sight)
    bench.play("rest-write", Trace.writes(offsets, flush_every=1))
    press.after(first, _REST_BLOCKS, BLOCK_BYTES)
    away = watch.angles()
    low, high = quiet_until_late(bench, slow_ms, sight.kept)
    # Parked heads answer as late as heads that clean, and a lazy drive closes what a stream left: only data that came
    # home, and much of it, is proof. What was written before goes first.
    cleaned = False
    for _ in range(_PATIENCE_ROUNDS if np.isfinite(high) else 0):
        bench.idle(_BAND_NS)
        cleaned = float(sight.differ(watch.angles(), away).mean()) > _CLEANED_SHARE
        if cleaned:
            break
    # Where answers are late now and then, the two may contradict each other: then they are no better known than that.
    return Estimate((low + high) / 2, min(low, high), max(low, high)) if cleaned else None


def quiet_until_late(bench: Bench, slow_ms: float, kept: int = 0) -> tuple[float, float]:
    """Ms of silence after which no read is late, and of one after which some are: infinite if 16 s are not enough."""
    # Near each other, so that no long seek looks like cleaning; the first read brings the heads there.
    near_bytes = min(_PROBES_BYTES, bench.capacity_bytes // _PROBES_SHARE)
    places = apart(_PROBES) * whole_blocks(near_bytes // _PROBES)
    fresh, left = cycle(places), _PROBES - 1
    last_ns = bench.play("rest-begin", Trace.reads(np.array([next(fresh)]))).ended_ns
    low, high, idle_ms, tries, late = 0.0, np.inf, 60.0, 0, 0
    while high > 1.06 * low + 5 and idle_ms <= _LONGEST_REST_MS:
        # Not always at the same moment: between two operations the heads are free. But well between the bounds, or the
        # silences that are tried reach beyond them, and they come no nearer to each other.
        jitter = _JITTER if np.isinf(high) else min(_JITTER, (high - low) / (high + low) / _WITHIN_BOUNDS)
        if left < _AT_A_TIME:
            # What memory answers is never late.
            left += _PROBES
            if len(forget := forgetting(bench, places, kept)):
                begin = np.array([next(fresh), next(fresh)])
                last_ns = bench.play("rest-begin", forget + Trace.reads(begin)).ended_ns
                left -= _AT_A_TIME
        bench.idle(int(idle_ms * (1 + jitter * (tries % 4 - 1.5)) * 1e6))
        log = bench.play("rest-probe", Trace.reads(np.array([next(fresh), next(fresh)])))
        silence, last_ns = (int(log.submitted_ns[0]) - last_ns) / 1e6, log.ended_ns
        left -= _AT_A_TIME
        tries, late = tries + 1, late + int(log.latency_ms[0] > slow_ms)
        # One late answer may be the host's.
        if late >= _LATE:
            high, tries = min(silence, high), 0
        elif tries >= _TRIES:
            low, tries = max(silence, low), 0
        if not tries:
            idle_ms, late = 2 * idle_ms if np.isinf(high) else (low + high) / 2, 0
    return low, high


@dataclass(frozen=True)
class Looks:
    """What was seen at one place, with coarse steps and with fine ones."""

    bands: Bands | None
    coarse: Homecoming
    fine: Homecoming | None = None
    """None where too little came home."""


def measure(bench: Bench, share: float, sight: Sight, rest_ms: float, press: Press = NO_PRESS) -> Looks:
    """Band size at ``share`` of the capacity, first with coarse steps, which tell how fine the others have to be."""
    coarse = watch_home(bench, f"bands-{share:.2f}", share, spacing_within(bench, _COARSE_BYTES), sight, rest_ms, press)
    found = coarsely(coarse)
    if found is None:
        return Looks(None, coarse)
    if found.size_bytes.value > 16 * _COARSE_BYTES:
        return Looks(estimate(coarse) or found, coarse, coarse)
    spacing = _finer(found)
    fine = watch_home(bench, f"bands-{share:.2f}-fine", share, spacing, sight, rest_ms, press)
    if fine.came_at_once:
        # What the first left in the cache went before, in so much silence that then all bands came in one round.
        fine = watch_home(bench, f"bands-{share:.2f}-again", share, spacing, sight, rest_ms, press)
    # A drive whose cache was full by then keeps nothing of the second: what the first showed is all there is.
    return Looks(estimate(fine) if (fine.rounds >= 0).any() else found, coarse, fine)


def agreed(seen: dict[float, Looks], track_bytes: dict[float, float]) -> dict[float, Bands]:
    """The bands at each place; a band has as many tracks wherever it lies.

    Where most places agree how many those are, what another one shows is explained by as many, or by nothing: the host
    was late too often there.
    """
    found = {share: looks.bands for share, looks in seen.items() if looks.bands}
    counts = {share: one.size_bytes.value / track_bytes[share] for share, one in found.items()}
    like = {share: [one for one in counts if _alike(counts[share], counts[one])] for share in counts}
    most = max(like.values(), key=len, default=[])
    if len(most) < _FEWEST_ALIKE:
        return found
    tracks = float(np.median([counts[share] for share in most]))
    for share in seen.keys() - set(most):
        found.pop(share, None)
        for looks in (seen[share].fine, seen[share].coarse):
            if share not in found and looks and (bands := estimate(looks, tracks * track_bytes[share])):
                found[share] = bands
    return dict(sorted(found.items()))


def _alike(one: float, other: float) -> bool:
    return max(one, other) <= _ALIKE * min(one, other)


def _finer(found: Bands) -> int:
    return whole_blocks(max(found.size_bytes.value / 24, BLOCK_BYTES))


def watch_home(
    bench: Bench,
    name: str,
    share: float,
    spacing: int,
    sight: Sight,
    rest_ms: float,
    press: Press = NO_PRESS,
    order: Ints | None = None,
) -> Homecoming:
    """Write blocks at even distances, in their order or another, and look after every rest which of them came home."""
    first = aligned(share * (bench.capacity_bytes - BLOCKS * spacing - (256 << 20)))
    offsets = first + np.arange(BLOCKS) * spacing

    def course() -> Homecoming:
        return _watched_home(bench, name, offsets, sight, rest_ms, press, order)

    return in_region(bench, f"{name}-rewrite", first, BLOCKS * spacing, course)


def _watched_home(
    bench: Bench, name: str, offsets: Ints, sight: Sight, rest_ms: float, press: Press, order: Ints | None
) -> Homecoming:
    first = int(offsets[0])
    press.before(first)
    watch = Watch.over(bench, name, offsets, sight)
    bench.play(f"{name}-write", Trace.writes(offsets if order is None else offsets[order], flush_every=1))
    press.after(first, BLOCKS, BLOCK_BYTES)
    before, again = watch.angles(), watch.angles()
    left = sight.differ(before, watch.home) & ~sight.differ(again, before)
    looks: list[Floats] = []
    surplus_ms, since, came = _SURPLUS_MS, 0, np.zeros(BLOCKS, bool)
    busy_ms = quiet_ms = 0.0
    for _ in range(_ROUNDS):
        bench.idle(int((rest_ms + surplus_ms) * 1e6))
        looks.append(watch.angles())
        now = left & (_left_in(_away(looks, before, sight)) >= 0)
        new = now & ~came
        if new.any() and not came.any():
            # What lay in the cache before has gone; from now on no round is to see more than one band if it can be.
            surplus_ms = _SURPLUS_MS
        quiet_ms, since = quiet_ms + surplus_ms, since + 1
        if new.any():
            busy_ms, quiet_ms, since = busy_ms + quiet_ms, 0.0, 0
        surplus_ms *= 2 if since >= _PATIENCE_ROUNDS else 1
        since %= _PATIENCE_ROUNDS
        came = now
        if not left.any() or came[left].mean() > _NEARLY_ALL:
            break
    against = against_each_round(looks, before, sight)
    rounds = _likeliest(against)
    home = (rounds >= 0) & ~sight.differ(looks[-1], watch.home)
    stopped = False
    if came.any() and came[left].mean() <= _MOST_CAME:
        # Silence so much longer than all before is no band's. A cache that was full takes most rounds down to its mark.
        missing_ms = _STOPPED * busy_ms + _STOPPED_MS - quiet_ms
        stopped = _came_later(watch, looks, before, rest_ms, missing_ms)[left & ~came].mean() < _CLEANED_SHARE
    static_share = float(home[left].sum() / max((rounds[left] >= 0).sum(), 1))
    return Homecoming(offsets[left], against[:, left], static_share, stopped)


def _came_later(
    watch: Watch, looks: list[Floats], before: Floats, rest_ms: float, missing_ms: float
) -> NDArray[np.bool_]:
    """Which blocks have come home after so much more silence, too, if that was not long enough."""
    if missing_ms > 0:
        watch.bench.idle(int((rest_ms + missing_ms) * 1e6))
        # One look is not believed.
        looks = looks + [watch.angles() for _ in range(_SURE_LOOKS)]
    return np.asarray(_left_in(_away(looks, before, watch.sight)) >= 0)


def _away(looks: list[Floats], place: Floats, sight: Sight) -> NDArray[np.bool_]:
    """At which looks each block lay elsewhere than at a place of its own."""
    return np.array([sight.differ(look, place) for look in looks])


def _left_in(away: NDArray[np.bool_]) -> Ints:
    """From which look on each block most likely lay elsewhere: it was not before, and was at all from then on."""
    return _likeliest(_contradictions(away, ~away))


def against_each_round(looks: list[Floats], before: Floats, sight: Sight) -> Floats:
    """What speaks against each block having come home in each round, the last: in none.

    Once it is known where it lies in the end, a look at which it lies neither there nor where it did says nothing: the
    host was late. One such look just before a band comes home would else make many of its blocks come home early.
    """
    away = _away(looks, before, sight)
    rounds, seen = _left_in(away), np.array(looks)
    ends = np.array([middle_angle(seen[max(number, 0) :, block]) for block, number in enumerate(rounds)])
    back = ~_away(looks, ends, sight) & (rounds >= 0)
    return _contradictions(away & back, ~away & ~back)


def _contradictions(came: NDArray[np.bool_], stayed: NDArray[np.bool_]) -> Floats:
    """How many looks before each show that a block has come, and how many from it on that it has not."""
    none = np.zeros((1, came.shape[1]))
    before_it = np.concatenate([none, np.cumsum(came, axis=0)])
    after_it = np.concatenate([np.cumsum(stayed[::-1], axis=0)[::-1], none])
    return np.asarray(before_it + after_it, float)


def _likeliest(against: Floats) -> Ints:
    """From which look on each block lies elsewhere, -1: nowhere yet. A host that is late once does not deceive."""
    best, looks = np.argmin(against, axis=0), len(against) - 1
    sure = against[-1] - against.min(axis=0) >= min(_SURE_LOOKS, looks)
    return np.asarray(np.where(sure & (best < looks), best, -1))


def estimate(seen: Homecoming, size: float | None = None) -> Bands | None:
    """The size of a band, which may be known about, from where the rounds meet; None if too little came home."""
    if not (seen.rounds >= 0).any():
        return None
    sizes = None if size is None else (size / _ALIKE, size * _ALIKE)
    found = fitted(seen.offsets, seen.against, sizes)
    return Bands(Estimate(found.size, found.least, found.most), int(found.border)) if found else None


def coarsely(seen: Homecoming) -> Bands | None:
    """About the same where a band has few blocks, or one; it may come out half as large again."""
    # One whose angle happens to be the same at its new place seems to stay: among those that came it says nothing.
    came = np.flatnonzero(seen.rounds >= 0)
    if not len(came):
        return None
    index = np.arange(len(seen.rounds))
    telling = (seen.rounds >= 0) | (index < came[0]) | (index > came[-1])
    rounds, offsets = _settled(seen.rounds[telling]), seen.offsets[telling]
    borders = np.flatnonzero(rounds[1:] != rounds[:-1])
    if len(borders) < 2:
        return None
    cuts = (offsets[borders] + offsets[borders + 1]) / 2
    spacing = int(np.min(np.diff(offsets)))
    size, begin = _comb(cuts, spacing)
    span = max(float(np.round((cuts[-1] - cuts[0]) / size)), 1.0)
    return Bands(Estimate.around(size, spacing / span), int(begin))


def _settled(rounds: Ints) -> Ints:
    """The rounds without those that stand alone among others: a host that was late, and no band.

    The row with fewest borders and fewest changes, where a border weighs more than a change; that of Viterbi. If it
    changes many, the bands are as narrow as the blocks lie apart, and all count.
    """
    labels = np.unique(rounds)
    costs, came_from = (labels != rounds[0]).astype(float), []
    for found in rounds[1:]:
        cheapest = int(np.argmin(costs))
        stays = costs <= costs[cheapest] + _BORDER_WEIGHT
        came_from.append(np.where(stays, np.arange(len(labels)), cheapest))
        costs = np.where(stays, costs, costs[cheapest] + _BORDER_WEIGHT) + (labels != found)
    row = [int(np.argmin(costs))]
    for before in came_from[::-1]:
        row.append(int(before[row[-1]]))
    settled = labels[row[::-1]]
    return np.asarray(settled if np.mean(settled != rounds) < _MOST_CHANGED else rounds)


def _comb(cuts: Floats, spacing: int) -> tuple[float, float]:
    """Period and phase of the borders, of which some may not have shown."""
    gaps = np.diff(cuts)
    least = float(gaps.min())
    size = float(np.mean(gaps[gaps <= least + 1.5 * spacing]))
    for _ in range(4):
        ranks = np.round((cuts - cuts[0]) / size)
        size, begin = np.polyfit(ranks, cuts, 1)
    return float(size), float(begin)


def spacing_within(bench: Bench, wanted: int) -> int:
    """Whole blocks, and not so many that all that are written take more than an eighth of the drive."""
    return whole_blocks(max(min(wanted, bench.capacity_bytes // (8 * BLOCKS)), BLOCK_BYTES))
