"""What a write needs beyond a read before it may begin: both between the same places, again and again.

Only of a drive on which a durable write goes to its own place. The arm is as far away for a read as for a write, so
what writes take longer is settling, and what comes before the heads move at all. That shows within one track, where
they need not move.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shakedown.fit.drive import seek
from shakedown.fit.drive.seek import Surface
from shakedown.fit.estimate import Estimate
from shakedown.fit.trace import BLOCK_BYTES, Bench, Floats, Log, Trace

# Twice as close as seeks are looked at otherwise: of many writes in memory the nearest go first, over short ways.
_SHARES: Final = (
    *(0.0005, 0.001, 0.002, 0.0035, 0.005, 0.01, 0.02, 0.032, 0.05, 0.07),
    *(0.1, 0.14, 0.2, 0.26, 1 / 3, 0.41, 0.5, 0.6, 0.7, 0.82, 0.95),
)
# The ways of one look are alike to so much, unless they lie within few tracks.
_SPREAD: Final = 16
_LEAST_ROOM_BYTES: Final = 4 << 20
_ROUGH, _FINE = 64, 128
_TRACKS: Final = 64
_ONE_TRACK_TURNS: Final = 0.04
# Of a moment that is known to a millisecond; and how many of them a turn has to have for it to count turns.
_NEARLY_ALL: Final = 0.7
_GRAINS_OF_TURN: Final = 6
# Of what comes at another angle the host was late, or the places were others.
_SAME_ANGLE_TURNS: Final = 0.25
# Four standard deviations, in medians of what is off.
_FAR_OFF: Final = 6.0
_NEAR_TURNS: Final = 0.03
_MOST_AGREE: Final = 0.7
# So many ways at least, and known to so much, or nothing is said.
_LEAST_WAYS: Final = 8
_KNOWN_TURNS: Final = 0.05


@dataclass(frozen=True)
class Settling:
    """What was found; the seeks are those of reads, known better by what writes told of them."""

    write_ms: Estimate
    seeks: dict[float, Estimate]


def measure(bench: Bench, surface: Surface, overhead_ms: float, turn_ms: float, turn_bytes: float) -> Settling | None:
    """None where it does not show.

    ``turn_bytes`` pass under the heads in a turn at the outer edge. Of a read ``overhead_ms`` are neither motion nor
    passing; a link that gives it on later than it passes has its part in that.
    """
    pass_ms = turn_ms * BLOCK_BYTES / turn_bytes
    before_ms = _before_moving(bench, overhead_ms, turn_ms, pass_ms)
    if before_ms is None:
        return None
    reads, writes, gaps_ms = {}, {}, []
    for number, share in enumerate(_SHARES):
        trace = _trace(surface, share, bench.capacity_bytes, seed=number)
        read = bench.play(f"settle-read-{share:.4f}", trace)
        write = bench.play(f"settle-write-{share:.4f}", Trace.durable_writes(trace.offsets, trace.lengths))
        if _GRAINS_OF_TURN * write.grain_ns > turn_ms * 1e6:
            return None
        gaps_ms.append(_gap_ms(read))
        found = seek.estimate(read, overhead_ms + pass_ms, turn_ms), _write_ms(read, write, overhead_ms, turn_ms)
        if found[0] is not None and found[1] is not None:
            reads[share], writes[share] = _unbiased(found[0]), found[1].less(before_ms)
    # What a host takes from one request to the next counts for a write and its flush twice.
    return estimate(reads, writes, before_ms.half + float(np.median(gaps_ms)), turn_ms)


def estimate(
    reads: dict[float, Estimate], writes: dict[float, Estimate], before_half_ms: float, turn_ms: float
) -> Settling | None:
    """From how long the arm takes to a read and to a write, over the same shares of the stroke.

    What is the same for all writes, before the heads move, is known to ``before_half_ms``.
    """
    if len(reads) < _LEAST_WAYS:
        return None
    mean = _most(np.array([writes[share].value - read.value for share, read in reads.items()]), _NEAR_TURNS * turn_ms)
    if mean is None or 2 * (mean.half + before_half_ms) > _KNOWN_TURNS * turn_ms:
        return None
    settle = Estimate.around(max(mean.value, 0.0), mean.half + before_half_ms)
    both = {share: _both(read, writes[share].less(settle), _NEAR_TURNS * turn_ms) for share, read in reads.items()}
    return Settling(settle, {share: seek for share, seek in both.items() if seek is not None})


def _trace(surface: Surface, share: float, capacity_bytes: int, seed: int) -> Trace:
    first = surface.offset(0.02) if share < 0.9 else 0.0
    second = surface.offset(surface.stroke(first) + share)
    room = max(min(int(second - first) // _SPREAD, 192 << 20, capacity_bytes // 200), _LEAST_ROOM_BYTES)
    return seek.between(int(first), int(second), room, capacity_bytes, seed)


def _write_ms(read: Log, write: Log, overhead_ms: float, turn_ms: float) -> Estimate | None:
    """From the end of one durable write until the next could have been under the heads.

    Each ends at the angle at which a read of its place did, so it took as long, or some turns more or less: how many
    shows even where moments between flushes are known to a millisecond only.
    """
    read_ms = read.latency_ms + _gap_ms(read)
    turns = (write.cycle_ms - read_ms) / turn_ms
    known = np.abs(turns - np.round(turns)) < _SAME_ANGLE_TURNS
    known &= seek.from_elsewhere(read, overhead_ms, turn_ms)
    # Whatever is made in this turn would not be in the one before, and what is missed would be in the next.
    made_ms = read_ms[known] + np.round(turns[known]) * turn_ms
    return threshold(made_ms, made_ms - turn_ms)


def _gap_ms(log: Log) -> float:
    """From the end of one request to the next."""
    return float(np.median(log.cycle_ms - log.latency_ms))


def _before_moving(bench: Bench, overhead_ms: float, turn_ms: float, pass_ms: float) -> Estimate | None:
    """How soon behind a durable write another may follow on the same track, where the heads are already."""
    rough = _along_track(bench, np.linspace(1, turn_ms / pass_ms, _ROUGH), overhead_ms, turn_ms, pass_ms)
    if rough is None:
        return None
    near = np.linspace(max(rough.low / pass_ms - 4, 1), rough.high / pass_ms + 4, _FINE)
    return _along_track(bench, near, overhead_ms, turn_ms, pass_ms) or rough


def _along_track(
    bench: Bench, blocks_behind: Floats, overhead_ms: float, turn_ms: float, pass_ms: float
) -> Estimate | None:
    """From pairs of writes, the second so many blocks behind the first: does it come in this turn or in the next?"""
    draw = np.random.default_rng(4)
    behind = np.round(blocks_behind).astype(np.int64)
    first = draw.integers(0, int(_TRACKS * turn_ms / pass_ms), len(behind))
    offsets = np.stack([first, first + behind], axis=1).ravel() * BLOCK_BYTES
    log = bench.play("settle-track", Trace.writes(offsets, flush_every=1))
    angle_ms: Floats = (behind * pass_ms).astype(np.float64)
    # Others lie on two tracks. A flush may come later than what it is for.
    late_ms = log.cycle_ms[1::2] - angle_ms
    most_ms = max(_ONE_TRACK_TURNS * turn_ms, _NEARLY_ALL * log.grain_ns / 1e6)
    made = (late_ms > -most_ms) & (late_ms < most_ms + overhead_ms)
    missed = np.abs(late_ms - turn_ms) < most_ms
    return threshold(angle_ms[made], angle_ms[missed])


def threshold(made: Floats, missed: Floats) -> Estimate | None:
    """From where on they are made that were missed before: there the fewest were otherwise, as by a host's lateness."""
    if not len(made):
        return None
    at = np.unique(np.concatenate([made, missed, [0.0]]))
    # Just behind each of them.
    wrong = np.searchsorted(np.sort(made), at, "right") + len(missed) - np.searchsorted(np.sort(missed), at, "right")
    least = np.flatnonzero(wrong == wrong.min())
    low, high = float(at[least[0]]), float(at[min(least[-1] + 1, len(at) - 1)])
    return Estimate((low + high) / 2, low, high)


def _unbiased(found: Estimate) -> Estimate:
    """The luckiest waited for one gap between angles on the mean, but of the unluckiest some were left out."""
    out = 1 + seek.LATE
    return Estimate(found.low + (found.high - found.low) * out / (1 + out), found.low, found.high)


def _most(values: Floats, near: float) -> Estimate | None:
    """The mean of those that a late host did not spoil, if it spoiled few: half may be the very same, others near."""
    off = np.abs(values - np.median(values))
    agree = off <= max(_FAR_OFF * float(np.median(off)), near)
    return Estimate.mean(values[agree]) if np.mean(agree) >= _MOST_AGREE else None


def _both(one: Estimate, other: Estimate, near_ms: float) -> Estimate | None:
    """What two looks tell together; None where they contradict each other, as where memory answered some reads late."""
    apart_ms = abs(one.value - other.value)
    if apart_ms > max(one.half + other.half, near_ms):
        return None
    return Estimate.around((one.value + other.value) / 2, max(min(one.half, other.half), apart_ms / 2))
