"""Heads that are put away while nobody asks, and platters that stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shakedown.fit.estimate import Estimate
from shakedown.fit.trace import BLOCK_BYTES, Bench, Trace
from shakedown.fit.twin import BY, UNKNOWN, Twin

_LONGEST_MS: Final = 600_000.0
# Doubled again and again that is the longest.
_FIRST_MS: Final = _LONGEST_MS / 256
# No arm comes back so late: the platters stood.
_STOOD_MS: Final = 2_000.0
# Platters come up to speed a little sooner or later each time.
_SPIN_UP_SPREAD: Final = 0.2
_CLOSE: Final = 1.1
# How long cleaning is waited for before anybody looks, and how long in all.
_SETTLE_S: Final = 60
_LONGEST_SETTLE_S: Final = 3600
# Beyond the silence after which the drive cleans.
_MEANWHILE: Final = (1.1, 1.2, 1.35, 1.5)
# Reads that meet parked heads differ by the angle at which they come, and by the link.
_ALIKE: Final = 1.2


@dataclass(frozen=True)
class Rest:
    """After how many seconds of rest a read is late, and how long what was put away takes to come back, in ms."""

    after_s: Estimate
    back_ms: Estimate


@dataclass(frozen=True)
class Parking:
    """What rests while nobody asks: the heads, and the platters; None: they do not within ten minutes."""

    heads: Rest | None
    platters: Rest | None = None
    told: bool = True
    """False: what made reads late may have been something else, such as cleaning."""


UNTOLD: Final = Parking(None, told=False)


def measure(bench: Bench, slow_ms: float, turn_ms: float, cleans_after_ms: float | None) -> Parking:
    """Read after longer and longer rests; a read that no seek explains met parked heads, or platters that stood.

    ``cleans_after_ms``: the silence after which the drive cleans, if it does: then heads that work are waited for, too.
    """
    looks = _Looks(bench, slow_ms)
    looks.late_by("parking-wake", 0.0)
    if cleans_after_ms is not None and not _comes_to_rest(bench, looks, cleans_after_ms, turn_ms):
        return UNTOLD
    late = _late_after(looks, 0.0)
    if late is None:
        return Parking(None)
    first = late.rest(turn_ms)
    has_stood = first.back_ms.value >= _STOOD_MS
    if not _are_alike(late.latencies_ms, _SPIN_UP_SPREAD * first.back_ms.value if has_stood else turn_ms):
        return UNTOLD
    if has_stood:
        return Parking(None, first)
    looks.slow_ms += first.back_ms.value + _STOOD_MS / 2
    stood = _late_after(looks, late.high_ms)
    return Parking(first, stood.rest(turn_ms) if stood else None)


def put_parking(twin: Twin, parking: Parking | None) -> None:
    """Into the twin: what rests while nobody asks, if it was looked for."""
    for rest, after, back, each_ms, digits in (
        (parking and parking.heads, "park_after_s", "unpark_ms", 1.0, 1),
        (parking and parking.platters, "spin_down_after_s", "spin_up_s", 1e-3, 3),
    ):
        if rest:
            twin.put_measured("mechanics", after, rest.after_s, 1)
            twin.put_measured("mechanics", back, rest.back_ms.scaled(each_ms), digits)
            continue
        why = f"measured: not within ten minutes {BY}"
        if parking is None:
            why = f"{UNKNOWN}; not looked for"
        elif not parking.told:
            why = f"{UNKNOWN}; the drive never came to rest, or reads after a rest were late by this and that"
        twin.put("mechanics", after, 0, why)
        twin.put("mechanics", back, 0, why)


@dataclass(frozen=True)
class _Late:
    """A rest after which no read was late, one after which they were, and what those took."""

    low_ms: float
    high_ms: float
    latencies_ms: list[float]

    def rest(self, turn_ms: float) -> Rest:
        # At which angle each came is chance.
        mean = float(np.mean(self.latencies_ms))
        spread = turn_ms if mean < _STOOD_MS else _SPIN_UP_SPREAD * mean
        after_s = Estimate((self.low_ms + self.high_ms) / 2e3, self.low_ms / 1e3, self.high_ms / 1e3)
        return Rest(after_s, Estimate.around(mean - turn_ms / 2, spread / len(self.latencies_ms) ** 0.5 / 2))


def _late_after(looks: _Looks, least_ms: float) -> _Late | None:
    """From which rest on reads are late: longer than ``least_ms``, and up to ten minutes."""
    low, high, late = least_ms, np.inf, []
    while low < _LONGEST_MS:
        rest_ms = min(max(2 * low, _FIRST_MS), _LONGEST_MS) if np.isinf(high) else (low + high) / 2
        latency = looks.late_by("parking", rest_ms)
        if latency is not None:
            high = rest_ms
            late.append(latency)
        else:
            low = rest_ms
        if high <= _CLOSE * low:
            # What was looked at first may still have been at work, as memory that is emptied keeps the arm busy.
            again = looks.late_by("parking", low)
            if again is None:
                # After the longer ones of these rests platters may have stood besides.
                return _Late(low, high, [each for each in late if each < _STOOD_MS] or late)
            low, high = least_ms, low
            late.append(again)
    return None


class _Looks:
    """Reads at random places, each after a rest."""

    def __init__(self, bench: Bench, slow_ms: float) -> None:
        self._bench, self.slow_ms = bench, slow_ms
        self._draw = np.random.default_rng(6)

    def late_by(self, name: str, rest_ms: float) -> float | None:
        """How long a read took after a rest, if no seek explains it."""
        if rest_ms:
            self._bench.idle(int(rest_ms * 1e6))
        blocks = self._bench.capacity_bytes // BLOCK_BYTES
        log = self._bench.play(name, Trace.reads(self._draw.integers(0, blocks, 2) * BLOCK_BYTES))
        latency = float(log.latency_ms[0])
        return latency if latency > self.slow_ms else None


def _comes_to_rest(bench: Bench, looks: _Looks, cleans_after_ms: float, turn_ms: float) -> bool:
    """Waits until reads that come while the drive would clean meet none of it; whether that happened.

    Where heads are parked before the drive cleans every read is late, but all are alike; where they are parked after
    little more silence than that, those are late and alike that come from then on, and will be again.
    """
    pause_s, waited_s = _SETTLE_S, 0
    while waited_s < _LONGEST_SETTLE_S:
        bench.idle(pause_s * 1_000_000_000)
        looks.late_by("parking-wake", 0.0)
        late = [looks.late_by("parking-rest", share * cleans_after_ms) for share in _MEANWHILE]
        met = [latency for latency in late if latency is not None]
        if not met or (len(met) == len(late) and _are_alike(met, turn_ms)):
            return True
        if late[-len(met) :] == met and _are_alike(met, turn_ms):
            again = looks.late_by("parking-rest", _MEANWHILE[-1] * cleans_after_ms)
            if again is not None and _are_alike([*met, again], turn_ms):
                return True
        pause_s, waited_s = 2 * pause_s, waited_s + pause_s
    return False


def _are_alike(latencies: list[float], spread_ms: float) -> bool:
    return max(latencies) - min(latencies) <= _ALIKE * spread_ms
