"""Heads that are put away while nobody asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shakedown.fit.estimate import Estimate
from shakedown.fit.trace import BLOCK_BYTES, Bench, Trace

_FIRST_MS: Final = 2_000.0
_LONGEST_MS: Final = 600_000.0
_CLOSE: Final = 1.1
# How long cleaning is waited for before anybody looks, and how long in all.
_SETTLE_S: Final = 60
_LONGEST_SETTLE_S: Final = 3600
# Beyond the silence after which the drive cleans.
_MEANWHILE: Final = (1.1, 1.2, 1.35, 1.5)
# Reads that meet parked heads differ by the angle at which they come, and by the link.
_ALIKE_TURNS: Final = 1.2


@dataclass(frozen=True)
class Parking:
    """After how many seconds of rest the heads are parked (None: not within ten minutes), and ms to bring them back."""

    after_s: Estimate | None
    unpark_ms: Estimate | None
    told: bool = True
    """False: what made reads late may have been something else, such as cleaning."""


UNTOLD: Final = Parking(None, None, told=False)


def measure(bench: Bench, slow_ms: float, turn_ms: float, cleans_after_ms: float | None) -> Parking:
    """Read after longer and longer rests; a read that no seek explains met parked heads.

    ``cleans_after_ms``: the silence after which the drive cleans, if it does: then heads that work are waited for, too.
    """
    looks = _Looks(bench, slow_ms)
    looks.late_by("parking-wake", 0.0)
    if cleans_after_ms is not None and not _comes_to_rest(bench, looks, cleans_after_ms, turn_ms):
        return UNTOLD
    low, high, late, rest_ms = 0.0, np.inf, [], _FIRST_MS
    while rest_ms <= _LONGEST_MS and high > _CLOSE * low:
        latency = looks.late_by("parking", rest_ms)
        if latency is not None:
            high = rest_ms
            late.append(latency)
        else:
            low = rest_ms
        rest_ms = 2 * rest_ms if np.isinf(high) else (low + high) / 2
    if not late:
        return Parking(None, None)
    if not _are_alike(late, turn_ms):
        return UNTOLD
    unpark = Estimate.around(float(np.mean(late)) - turn_ms / 2, turn_ms / len(late) ** 0.5 / 2)
    return Parking(Estimate((low + high) / 2e3, low / 1e3, high / 1e3), unpark)


class _Looks:
    """Reads at random places, each after a rest."""

    def __init__(self, bench: Bench, slow_ms: float) -> None:
        self._bench, self._slow_ms = bench, slow_ms
        self._draw = np.random.default_rng(6)

    def late_by(self, name: str, rest_ms: float) -> float | None:
        """How long a read took after a rest, if no seek explains it."""
        if rest_ms:
            self._bench.idle(int(rest_ms * 1e6))
        blocks = self._bench.capacity_bytes // BLOCK_BYTES
        log = self._bench.play(name, Trace.reads(self._draw.integers(0, blocks, 2) * BLOCK_BYTES))
        latency = float(log.latency_ms[0])
        return latency if latency > self._slow_ms else None


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


def _are_alike(latencies: list[float], turn_ms: float) -> bool:
    return max(latencies) - min(latencies) <= _ALIKE_TURNS * turn_ms
