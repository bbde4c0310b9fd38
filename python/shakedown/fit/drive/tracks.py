"""Tracks: the angle at which neighbouring blocks lie grows with the offset, and jumps by a skew from track to track."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shakedown.fit.drive import rotation
from shakedown.fit.estimate import Estimate
from shakedown.fit.trace import BLOCK_BYTES, Bench, Floats, Log, Trace, whole_blocks

_PER_TRACK: Final = 12
_LOOKS: Final = 3
_TRIES: Final = 4
# Two standard errors, and thrice that: what a host is late by, neighbours share.
_ALIKE: Final = 6.0
_FROM_MEMORY_TURNS: Final = 0.06
_REMEMBERED: Final = 0.5
_MORE: Final = 3
# More, and a step may be half a track.
_WIDER, _WIDEST = 2, 4
_LEAST_SKEW: Final = 0.02
_VAGUE: Final = 0.1
_LEAST_DIFFERENCE: Final = 0.01
_AGREES: Final = 0.1
_SKEWS_AGREE: Final = 0.04


@dataclass(frozen=True)
class Tracks:
    """The tracks at one place: sizes in bytes, skews in turns."""

    track_bytes: Estimate
    track_skew: Estimate
    cylinder_skew: Estimate
    heads: int | None
    """None: one skew as the other, or too few tracks were seen."""


def measure(
    bench: Bench, first: int, rate: float, turn_ms: float, tracks: int, *, least: bool = False
) -> Tracks | None:
    """The tracks from ``first`` on, where so many bytes come in a second; None where no pattern is seen.

    ``least``: more may pass, which the link does not give. Then it takes two looks that agree.
    """
    turn_bytes = guess = rate * turn_ms / 1e3
    before: Tracks | None = None
    for _ in range(_TRIES):
        first = min(first, whole_blocks(bench.capacity_bytes - tracks * guess))
        # A host that was late too often in one look need not be in the next.
        log = bench.play(f"tracks-{first}", trace(first, guess, tracks))
        found = estimate(log, turn_ms)
        if found and agrees(found, turn_bytes, least=least):
            if not least or (before and _alike(found, before)):
                return found
            before, guess = found, passing(found, found, turn_ms).value * turn_ms / 1e3
        elif least:
            # Of steps that are far too short for a track a host's lateness hides each.
            guess = min(_WIDER * guess, _WIDEST * turn_bytes)
        if np.mean(from_memory(log, turn_ms)) > _REMEMBERED:
            # Read-ahead of the block on each track holds the next one, until others have taken its place.
            more = whole_blocks((_MORE - 1) * tracks * guess)
            tracks, first = _MORE * tracks, max(first - more, 0)
    return None


def agrees(found: Tracks, turn_bytes: float, *, least: bool = False) -> bool:
    """Whether as much comes in a turn as a track with its skew lets, or at ``least`` no more than that.

    A host that is late makes jumps, too.
    """
    skew = (found.track_skew.value + found.cylinder_skew.value) / 2
    more = found.track_bytes.value / (turn_bytes * (1 + skew)) - 1
    return more > -_AGREES and (least or more < _AGREES)


def passing(found: Tracks, skewed: Tracks, turn_ms: float) -> Estimate:
    """Bytes a second under the heads where a track is as large as ``found``, and skews are those of ``skewed``."""
    size, skew = found.track_bytes, _mean_skew(skewed)
    low, value, high = size.low / (1 + skew.high), size.value / (1 + skew.value), size.high / (1 + skew.low)
    return Estimate(*(each / turn_ms * 1e3 for each in (value, low, high)))


def _mean_skew(found: Tracks) -> Estimate:
    track, cylinder = found.track_skew, found.cylinder_skew
    if found.heads:
        share = 1 / found.heads
        value = track.value * (1 - share) + cylinder.value * share
        return Estimate.around(value, track.half * (1 - share) + cylinder.half * share)
    # Of each cylinder's tracks only one ends it.
    low, high = track.low, (track.high + cylinder.high) / 2
    return Estimate((low + high) / 2, low, high)


def _alike(found: Tracks, other: Tracks) -> bool:
    return abs(found.track_bytes.value / other.track_bytes.value - 1) < _SKEWS_AGREE


def same_skews(found: Tracks, other: Tracks) -> bool:
    """Whether skews are those of tracks at another place; of few tracks both may be of one kind."""
    low, high = other.track_skew.value - _SKEWS_AGREE, other.cylinder_skew.value + _SKEWS_AGREE
    return low < found.track_skew.value <= found.cylinder_skew.value < high


def share_skews(found: Tracks, rate: float, other: Tracks, other_rate: float) -> bool:
    """Whether tracks at two places differ as their rates do, for skews are the same everywhere."""
    expected = other.track_bytes.value * rate / other_rate
    return abs(found.track_bytes.value / expected - 1) < _SKEWS_AGREE


def trace(first: int, track_guess: float, tracks: int) -> Trace:
    """Blocks at even distances, in an order in which no read-ahead leads from one to the next, several times."""
    step = whole_blocks(max(track_guess / _PER_TRACK, BLOCK_BYTES))
    count = tracks * _PER_TRACK
    order = np.arange(count).reshape(tracks, _PER_TRACK)[::-1].T.ravel()
    return Trace.reads(np.tile(first + order * step, _LOOKS))


def estimate(log: Log, turn_ms: float) -> Tracks | None:
    """Track size, skews and heads, from the angles of evenly spaced blocks."""
    offsets, angle = _angles(log, turn_ms)
    slope = float(np.median(np.diff(angle) % 1.0))
    steps = np.diff(_without_strays(angle, slope)) % 1.0
    noise = max(1.5 * float(np.median(np.abs(steps - slope))), 1e-4)
    jumps = steps - slope
    borders = np.flatnonzero((jumps > max(_LEAST_SKEW, 5 * noise)) & (jumps < 0.6))
    borders, jumps = _joined(borders, jumps)
    borders = _of_tracks(borders, jumps[borders], noise)
    if len(borders) < 2:
        return None
    high = _higher(jumps[borders], noise)
    columns = [np.ones(len(offsets)), (offsets - offsets[0]).astype(float), _counts(borders, len(offsets))]
    if high.any():
        columns.append(_counts(borders[high], len(offsets)))
    unwrapped = np.concatenate([[0.0], np.cumsum(steps)])
    design = np.stack(columns, axis=1)
    found, *_ = np.linalg.lstsq(design, unwrapped, rcond=None)
    # Sizes and skews make up for each other: what both are known to follows from all of the design.
    noise_turns = float(np.std(unwrapped - design @ found))
    scale = np.maximum(np.abs(design).max(axis=0), 1e-12)
    spread = np.diag(np.linalg.pinv((design / scale).T @ (design / scale)))
    errors = _ALIKE * noise_turns * np.sqrt(spread) / scale
    size, skew = 1 / found[1], float(found[2])
    higher = skew + (float(found[3]) if high.any() else 0.0)
    size_error = float(errors[1]) * size**2
    # Two skews that are not told from one another may differ by so much.
    alike = 0.0 if high.any() else _unlike(noise)
    if size_error > _VAGUE * size or not 0 <= skew <= higher < 1:
        return None  # as many jumps are the host's as are those of tracks
    between = np.diff(borders[high])
    spacing = float(offsets[1] - offsets[0])
    heads = round(float(np.median(between)) * spacing / size) if len(between) else None
    return Tracks(
        Estimate.around(size, size_error),
        Estimate.around(skew, float(errors[2]) + alike),
        Estimate.around(higher, float(errors[2:].sum()) + alike),
        heads,
    )


def from_memory(log: Log, turn_ms: float) -> NDArray[np.bool_]:
    """Which reads came without any motion, so that their moments say nothing of angles."""
    return np.asarray(log.latency_ms < _FROM_MEMORY_TURNS * turn_ms)


def _angles(log: Log, turn_ms: float) -> tuple[NDArray[np.int64], Floats]:
    """Each block and its angle, the earlier one of the two looks that agree best: a host may be late, never early."""
    order = np.argsort(log.offsets, kind="stable")
    offsets = np.unique(log.offsets)
    looks = rotation.phases(log, turn_ms)[order].reshape(len(offsets), -1)
    apart = rotation.short_way(looks - looks[:, :1])
    remembered = from_memory(log, turn_ms)[order].reshape(looks.shape)
    # The first counts in any case, for one that nothing else is known of.
    apart[:, 1:][remembered[:, 1:]] = np.nan
    ranked = np.sort(apart, axis=1)
    gaps = np.nan_to_num(np.diff(ranked, axis=1), nan=np.inf)
    earlier = np.take_along_axis(ranked, np.argmin(gaps, axis=1)[:, None], axis=1)[:, 0]
    return offsets, np.asarray((looks[:, 0] + earlier) % 1.0)


def _without_strays(angle: Floats, slope: float) -> Floats:
    """The angles, but for blocks of which every look was late: way there and way back make up for each other."""
    off = rotation.short_way(np.diff(angle) - slope)
    back = rotation.short_way(off[:-1] + off[1:])
    stray = 1 + np.flatnonzero((np.abs(off[:-1]) > _LEAST_SKEW) & (np.abs(back) < _LEAST_SKEW))
    mended = angle.copy()
    mended[stray] = angle[stray - 1] + slope
    return mended


def _joined(borders: NDArray[np.int64], jumps: Floats) -> tuple[NDArray[np.int64], Floats]:
    """One border for two side by side, where a block between them came late: no track is as short as that."""
    second = np.flatnonzero(np.diff(borders) == 1) + 1
    joined = jumps.copy()
    joined[borders[second - 1]] += jumps[borders[second]]
    return np.delete(borders, second), joined


def _higher(skews: Floats, noise: float) -> NDArray[np.bool_]:
    """Which skews belong to the higher of two kinds, if there are two."""
    ranked = np.sort(skews)
    gaps = np.diff(ranked)
    widest = int(np.argmax(gaps))
    if gaps[widest] < _unlike(noise):
        return np.zeros(len(skews), bool)
    return np.asarray(skews > ranked[widest] + gaps[widest] / 2)


def _of_tracks(borders: NDArray[np.int64], skews: Floats, noise: float) -> NDArray[np.int64]:
    """The borders without those of a lower kind that is the rarer: of each cylinder's tracks only one ends it.

    So the lower kind is at least as frequent, but for one at each end. What is rarer are jumps of a host that was late.
    """
    while len(borders) > 1 and 2 * int((high := _higher(skews, noise)).sum()) > len(borders) + 2:
        borders, skews = borders[high], skews[high]
    return borders


def _unlike(noise: float) -> float:
    """By how much two skews differ at least that are told from one another."""
    return max(_LEAST_DIFFERENCE, 4 * noise)


def _counts(borders: NDArray[np.int64], count: int) -> Floats:
    """How many of the borders lie before each sample."""
    return np.searchsorted(borders, np.arange(count), side="left").astype(float)
