"""Cleaning: how long a band takes, and a piece that has to be collected for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shakedown.fit.bands import NO_PRESS, Bands, Press
from shakedown.fit.estimate import Estimate
from shakedown.fit.place import rewrite
from shakedown.fit.trace import BLOCK_BYTES, Bench, Trace
from shakedown.fit.whereabouts import Sight, Watch

_BANDS: Final = 48
_PER_BAND: Final = 8
_SETTLE_NS: Final = 45_000_000_000
_ENOUGH: Final = 24
_FIRST_REST_MS: Final = 8_000.0
_LONGEST_REST_MS: Final = 240_000.0
_RATIONED: Final = 1.3


def band_ms(bench: Bench, bands: Bands, sight: Sight, rest_ms: float, press: Press = NO_PRESS) -> Estimate | None:
    """Time for a whole band with little cached in it; None where too little came home."""
    surplus_ms = _FIRST_REST_MS
    enough = min(_ENOUGH, _count(bench, bands) * 2 // 3)
    while True:
        cleaned, silence_ms = _cleaned(bench, bands, sight, rest_ms + surplus_ms, press)
        if cleaned >= enough or surplus_ms >= _LONGEST_REST_MS:
            break
        surplus_ms = min(max(surplus_ms * 1.3 * _ENOUGH / max(cleaned, 1), 2 * surplus_ms), _LONGEST_REST_MS)
    if not cleaned:
        return None
    # Half a band is under way at the end, and a band is cleaned from its first dirty track on only.
    each = (silence_ms - rest_ms) / (cleaned + 0.5) / (1 - 0.5 / _PER_BAND)
    return Estimate(each, each * (1 - 0.5 / cleaned), each * (1 + 0.5 / cleaned))


@dataclass(frozen=True)
class Marked:
    """Forced passes over marks, of which a band has several."""

    passes: float
    """How many passes it took to clean all of them."""
    all_bands: float
    """How many bands that were."""
    spacing: float
    bands: float
    """How many the room is worth that these writes take."""
    grain: float
    """From one mark to the next, as a share of a band."""


@dataclass(frozen=True)
class Pass:
    """What a drive without room does before it goes on."""

    bands: Estimate
    ration: int
    """Visits to the log that the host gets between two passes; 0: all that there is room for."""


def forced(few: Marked) -> Pass:
    """A pass that frees the room of as many marks as its bands have; if it comes earlier, writes are rationed."""
    by_room = few.bands
    by_time = few.all_bands / few.passes
    rationed = by_time > _RATIONED * max(by_room, 1.0) + 1
    count = max(round(by_time if rationed else by_room), 1)
    error = max(0.1 * count, 0.5) if rationed else few.grain
    return Pass(Estimate(count, max(count - error, 1.0), count + error), round(few.spacing) if rationed else 0)


def _cleaned(bench: Bench, bands: Bands, sight: Sight, silence_ms: float, press: Press) -> tuple[float, float]:
    """How many bands came home in a rest, and how long that really was."""
    size = bands.size_bytes.value
    count = _count(bench, bands)
    # Several blocks a band, since the borders of far bands are not known: the first lies near its beginning.
    spacing = int(size / _PER_BAND) // BLOCK_BYTES * BLOCK_BYTES
    places = bands.border // BLOCK_BYTES * BLOCK_BYTES + np.arange(count * _PER_BAND) * spacing
    bench.idle(_SETTLE_NS)
    press.before(int(places[0]))
    watch = Watch.over(bench, "clean", places, sight)
    bench.play("clean-write", Trace.writes(places, flush_every=1))
    press.after(int(places[0]), len(places))
    before = watch.angles()
    left = sight.differ(before, watch.home)
    ended_ns = bench.play("clean-last", Trace.reads(places[:1])).ended_ns
    bench.idle(int(silence_ms * 1e6))
    first = bench.play("clean-wake", Trace.reads(places[:1]))
    silence_ms = (int(first.submitted_ns[0]) - ended_ns) / 1e6
    came = sight.differ(watch.angles(), before)
    rewrite(bench, "clean-rewrite", int(places[0]), int(count * size))
    return float(came[left].mean() * count), silence_ms


def _count(bench: Bench, bands: Bands) -> int:
    return int(min(_BANDS, (bench.capacity_bytes - bands.border) * 0.8 // bands.size_bytes.value))
