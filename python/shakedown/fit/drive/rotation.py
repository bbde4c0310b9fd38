"""The turn: two reads of one block from the platters are a whole number of turns apart."""

from __future__ import annotations

from typing import Final, TypeVar

import numpy as np

from shakedown.errors import InconclusiveError
from shakedown.fit.estimate import Estimate
from shakedown.fit.trace import Bench, Floats, Ints, Log, Trace, whole_blocks

_PLACES: Final = 300
# Where memory keeps about as many ranges as that.
_MORE_PLACES: Final = 1200
_ROUNDS: Final = 4
# Moments with a blur are those of a real host, whose clock is not better than this.
_BLURRED: Final = 1e-4
_CLOCK: Final = 2e-5
_MOSTLY: Final = 0.8
_LOWEST_HZ, _HIGHEST_HZ = 25.0, 300.0
# Of a drive on the busiest host it is 0.95, of anything else hardly more than a tenth.
_TURNS: Final = 0.5
_FEWEST_SPANS: Final = 100


Turns = TypeVar("Turns", float, Floats)


def short_way(turns: Turns) -> Turns:
    """The same angle between half a turn back and half a turn on: what two angles differ by."""
    return (turns + 0.5) % 1.0 - 0.5


def measure(bench: Bench) -> tuple[Log, Estimate]:
    """How long a turn is, and the log that tells it. Raises InconclusiveError."""
    log = bench.play("rotation", trace(bench.capacity_bytes))
    try:
        return log, estimate(log)
    except InconclusiveError:
        log = bench.play("rotation-of-more", trace(bench.capacity_bytes, _MORE_PLACES))
        return log, estimate(log)


def blur_turns(log: Log, turn_ms: float) -> float:
    """By how much moments that are whole turns apart are not, four times of five: what the host's clock is worth."""
    turns = _spans_s(log) * 1e3 / turn_ms
    return float(np.quantile(np.abs(turns - np.round(turns)), _MOSTLY))


def trace(capacity_bytes: int, count: int = _PLACES) -> Trace:
    """Blocks near the outer edge, far enough apart and too many for a read-ahead to hold when they come again."""
    spacing = whole_blocks(min(capacity_bytes // (2 * count), 16 << 20))
    places = np.arange(count) * spacing
    draw = np.random.default_rng(1)
    return Trace.reads(np.concatenate([draw.permutation(places) for _ in range(_ROUNDS)]))


def estimate(log: Log) -> Estimate:
    """Length of a turn in ms, from the moments at which the same blocks came. Raises InconclusiveError."""
    spans_s = _spans_s(log)
    if len(spans_s) < _FEWEST_SPANS:
        raise _nothing_turns()
    coarse = np.arange(_LOWEST_HZ, _HIGHEST_HZ, 0.1 / max(float(spans_s.max()), 1.0))
    few = np.random.default_rng(1).permutation(spans_s)[:150]
    best = _sharpen(spans_s, _strongest(few, coarse))
    # Every multiple of the frequency fits nearly as well, or by chance better: the lowest that fits is meant.
    lower = [_sharpen(spans_s, best / part) for part in (4, 3, 2) if best / part > _LOWEST_HZ]
    fits = [hertz for hertz in lower if _coherence(spans_s, hertz) > 0.5 * _coherence(spans_s, best)]
    best = fits[0] if fits else best
    if _coherence(spans_s, best) < _TURNS:
        raise _nothing_turns()
    turns = np.round(spans_s * best)
    turn_s = float(np.sum(spans_s * turns) / np.sum(turns * turns))
    residual = spans_s - turns * turn_s
    good = np.abs(residual) < 0.1 * turn_s
    error = 2 * float(np.std(residual[good])) / float(np.sqrt(np.sum(turns[good] ** 2)))
    if np.median(np.abs(residual)) > _BLURRED * turn_s:
        # A host may have been later in one half of the log than in the other, by as much as it is at times: a step in
        # the middle tilts a line by one and a half of it.
        drift_s = float(np.quantile(np.abs(residual[good]), _MOSTLY))
        error += turn_s * (_CLOCK + 1.5 * drift_s / float(spans_s.max()))
    return Estimate.around(turn_s * 1e3, max(error * 1e3, 1e-9))


def phases(log: Log, turn_ms: float) -> Floats:
    """At which part of a turn (0..1) each request was complete."""
    return np.asarray((log.completed_ns / 1e6 / turn_ms) % 1.0)


def _nothing_turns() -> InconclusiveError:
    return InconclusiveError(
        "what was read comes at no turn of platters: this is no hard drive, or one that answers without them",
        hint="an SSD, an array and a file in memory have no turn; a drive that was never written must be "
        "filled first; one whose memory keeps a thousand ranges that were read shows none",
    )


def _sharpen(spans_s: Floats, hertz: float) -> float:
    width = 0.2 / max(float(spans_s.max()), 1.0)
    for _ in range(4):
        near = np.linspace(hertz - width, hertz + width, 81)
        hertz = _strongest(spans_s, near)
        width /= 10
    return hertz


def _strongest(spans_s: Floats, tried_hz: Floats) -> float:
    """The frequency, of some at even steps, at which the spans are whole turns best."""
    # Each is one of few large steps and one of few small ones further: so few waves have to be made.
    side = int(np.ceil(len(tried_hz) ** 0.5))
    small_hz = np.arange(side) * (tried_hz[1] - tried_hz[0])
    large, small = (np.exp(2j * np.pi * spans_s * hertz[:, None]) for hertz in (tried_hz[::side], small_hz))
    return float(tried_hz[np.argmax(np.abs(large @ small.T).ravel()[: len(tried_hz)])])


def _coherence(spans_s: Floats, hertz: float) -> float:
    return float(np.abs(np.mean(np.exp(2j * np.pi * spans_s * hertz))))


def _spans_s(log: Log) -> Floats:
    """Times between the readings of a block, for all that came from the platters."""
    latency = log.latency_ms
    moved = latency > max(0.2 * float(np.median(latency)), 3 * float(latency.min()) if latency.min() < 0.1 else 0.0)
    spans: list[Ints] = []
    for place in np.unique(log.offsets):
        times = np.sort(log.completed_ns[(log.offsets == place) & moved])
        spans += [times[later:] - times[:-later] for later in range(1, len(times))]
    return np.asarray(np.concatenate([np.empty(0), *spans]) / 1e9)
