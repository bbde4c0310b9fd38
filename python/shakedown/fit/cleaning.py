"""Cleaning: how long a band takes, and a piece that has to be collected for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shakedown.fit.bands import Bands
from shakedown.fit.estimate import Estimate
from shakedown.fit.place import rewrite
from shakedown.fit.trace import BLOCK_BYTES, Bench, Trace
from shakedown.fit.whereabouts import Watch, differ

_BANDS: Final = 48
_PER_BAND: Final = 8
_SETTLE_NS: Final = 45_000_000_000
_ENOUGH: Final = 24
_FIRST_REST_MS: Final = 8_000.0
_LONGEST_REST_MS: Final = 240_000.0
_MOST_BANDS: Final = 64


def band_ms(bench: Bench, bands: Bands, turn_ms: float, rest_ms: float) -> Estimate | None:
    """Time for a whole band with little cached in it; None where too little came home."""
    surplus_ms = _FIRST_REST_MS
    enough = min(_ENOUGH, _count(bench, bands) * 2 // 3)
    while True:
        cleaned, silence_ms = _cleaned(bench, bands, turn_ms, rest_ms + surplus_ms)
        if cleaned >= enough or surplus_ms >= _LONGEST_REST_MS:
            break
        surplus_ms = min(max(surplus_ms * 1.3 * _ENOUGH / max(cleaned, 1), 2 * surplus_ms), _LONGEST_REST_MS)
    if not cleaned:
        return None
    # Half a band is under way at the end, and a band is cleaned from its first dirty track on only.
    each = (silence_ms - rest_ms) / (cleaned + 0.5) / (1 - 0.5 / _PER_BAND)
    return Estimate(each, each * (1 - 0.5 / cleaned), each * (1 + 0.5 / cleaned))


@dataclass(frozen=True)
class Stall:
    """How long a forced pass took, and what there was to do in each of its bands."""

    ms: float
    band_ms: float
    pieces: float
    data_ms: float


@dataclass(frozen=True)
class Pass:
    """What a drive without room does before it goes on."""

    bands: Estimate
    piece_ms: Estimate
    """To collect a piece, beyond its data."""


def forced(stalls: tuple[Stall, ...]) -> Pass | None:
    """Bands of a forced pass and the cost of a piece, from stalls with few and with many pieces in a band."""
    tried = []
    for count in range(1, _MOST_BANDS + 1):
        over = np.array([stall.ms / count - stall.band_ms - stall.data_ms for stall in stalls])
        pieces = np.array([stall.pieces for stall in stalls])
        weight = np.array([count / stall.ms for stall in stalls])
        piece_ms = max(float(np.sum(over * pieces * weight**2) / np.sum((pieces * weight) ** 2)), 0.0)
        tried.append((float(np.sqrt(np.mean(((over - pieces * piece_ms) * weight) ** 2))), count, piece_ms))
    if not tried:
        return None
    best = min(tried)
    near = [one for one in tried if one[0] <= 1.3 * best[0] + 0.02]
    return Pass(
        Estimate(best[1], min(one[1] for one in near), max(one[1] for one in near)),
        Estimate(best[2], min(one[2] for one in near), max(one[2] for one in near)),
    )


def _cleaned(bench: Bench, bands: Bands, turn_ms: float, silence_ms: float) -> tuple[float, float]:
    """How many bands came home in a rest, and how long that really was."""
    size = bands.size_bytes.value
    count = _count(bench, bands)
    # Several blocks a band, since the borders of far bands are not known: the first lies near its beginning.
    spacing = int(size / _PER_BAND) // BLOCK_BYTES * BLOCK_BYTES
    places = bands.border // BLOCK_BYTES * BLOCK_BYTES + np.arange(count * _PER_BAND) * spacing
    bench.idle(_SETTLE_NS)
    watch = Watch.over(bench, "clean", places, turn_ms)
    bench.play("clean-write", Trace.writes(places, flush_every=1))
    before = watch.angles()
    left = differ(before, watch.home)
    ended_ns = bench.play("clean-last", Trace.reads(places[:1])).ended_ns
    bench.idle(int(silence_ms * 1e6))
    first = bench.play("clean-wake", Trace.reads(places[:1]))
    silence_ms = (int(first.submitted_ns[0]) - ended_ns) / 1e6
    came = differ(watch.angles(), before)
    rewrite(bench, "clean-rewrite", int(places[0]), int(count * size))
    return float(came[left].mean() * count), silence_ms


def _count(bench: Bench, bands: Bands) -> int:
    return int(min(_BANDS, (bench.capacity_bytes - bands.border) * 0.8 // bands.size_bytes.value))
