"""Cleaning: how long a band takes, and a piece that has to be collected for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from shakedown.fit.cleaning.bands import NO_PRESS, Bands, Press
from shakedown.fit.drive.whereabouts import Sight, Watch
from shakedown.fit.estimate import Estimate
from shakedown.fit.log.length import Length
from shakedown.fit.place import in_region
from shakedown.fit.trace import BLOCK_BYTES, Bench, Ints, Trace, whole_blocks

_BANDS: Final = 48
PER_BAND: Final = 8
_SETTLE_NS: Final = 45_000_000_000
_ENOUGH: Final = 24
_FIRST_REST_MS: Final = 8_000.0
_LONGEST_REST_MS: Final = 240_000.0
_MOST_LOOKS: Final = 7
_ANOTHER: Final = 0.5
_RATIONED: Final = 1.3
# The last has what is left.
_SINGLE: Final = 2.5
_FEWEST_BANDS: Final = 8
_NEARLY_ALL: Final = 0.9
_WHOLE_BANDS: Final = 16
_FEWEST_WHOLE: Final = 6
_SHARE_OF_LOG: Final = 0.25
PIECE_BYTES: Final = 524_288


def band_ms(bench: Bench, bands: Bands, sight: Sight, rest_ms: float, press: Press = NO_PRESS) -> Estimate | None:
    """Time for a whole band with little cached in it; None where too little came home."""
    count = int(min(_BANDS, (bench.capacity_bytes - bands.border) * 0.8 // bands.size_bytes.value))
    surplus_ms, seen = _FIRST_REST_MS, None
    for _ in range(_MOST_LOOKS):
        found = _cleaned(bench, bands, sight, rest_ms + surplus_ms, press, count)
        cleaned, silence_ms = found.bands, found.silence_ms
        if found.kept < _NEARLY_ALL and count > 2 * _FEWEST_BANDS:
            # A log that is full meanwhile is cleaned at a time when nobody looks.
            count //= 2
            continue
        busy = found.later >= cleaned + _ANOTHER
        if cleaned and not busy:
            # A small log has no room for all of it: what it did not hold came home before, and then the drive was idle.
            if seen is not None:
                break
            surplus_ms /= 2
            continue
        seen = (cleaned, silence_ms) if cleaned else seen
        if cleaned >= min(_ENOUGH, count * 2 // 3) or surplus_ms >= _LONGEST_REST_MS:
            break
        surplus_ms = min(max(surplus_ms * 1.3 * _ENOUGH / max(cleaned, 1), 2 * surplus_ms), _LONGEST_REST_MS)
    if seen is None:
        return None
    cleaned, silence_ms = seen
    # Half a band is under way at the end, and a band is cleaned from its first dirty track on only.
    each = (silence_ms - rest_ms) / (cleaned + 0.5) / (1 - 0.5 / PER_BAND)
    return Estimate(each, each * (1 - 0.5 / cleaned), each * (1 + 0.5 / cleaned))


def whole_band_ms(bench: Bench, bands: Bands, sight: Sight, rest_ms: float, log_bytes: float) -> Estimate | None:
    """Time for a band of which everything is cached; None where too little came home, or the log has no room for some.

    Pieces come in no order, so that they are no stream, and one band after the other.
    """
    count = int(min(_WHOLE_BANDS, _SHARE_OF_LOG * log_bytes // bands.size_bytes.value))
    if count < _FEWEST_WHOLE or bands.border + count * bands.size_bytes.value > bench.capacity_bytes:
        return None
    surplus_ms = _FIRST_REST_MS
    for _ in range(_MOST_LOOKS):
        found = _cleaned(bench, bands, sight, rest_ms + surplus_ms, NO_PRESS, count, whole=True)
        if found.kept < _NEARLY_ALL:
            return None
        if found.bands and found.later < found.bands + _ANOTHER:
            surplus_ms /= 2
        elif found.bands < count / 3:
            surplus_ms *= 2
        else:
            each = (found.silence_ms - rest_ms) / (found.bands + 0.5)
            return Estimate(each, each * (1 - 0.5 / found.bands), each * (1 + 0.5 / found.bands))
    return None


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
    if np.isinf(few.spacing):
        return Pass(Estimate(round(few.all_bands), few.all_bands - few.grain, np.inf), 0)
    rationed = by_time > _RATIONED * max(by_room, 1.0) + 1
    count = max(round(by_time if rationed else by_room), 1)
    error = max(0.1 * count, 0.5) if rationed else few.grain
    # One of the bands of the first pass is the fillers': where a single one is seen from its beginning to its end, that
    # counts.
    more = 1.0 if not rationed and few.passes <= _SINGLE else 0.0
    return Pass(Estimate(count, max(count - error, 1.0), count + error + more), round(few.spacing) if rationed else 0)


def pass_over(met: Length, share: float, capacity_bytes: int, band_bytes: Callable[[float], float]) -> Pass:
    """What a forced pass does, from its stalls over marks that lie from a ``share`` of the capacity on."""
    size = band_bytes(share + met.marks_written * met.mark_bytes / capacity_bytes / 2)
    # Marks that lie further apart than a band is long have a band each.
    grain = min(met.mark_bytes / size, 1.0)
    # One more is that of the filler.
    return forced(Marked(met.passes, met.marks_written * grain + 1, met.spacing, met.marks * grain, grain))


@dataclass(frozen=True)
class _Rest:
    """How many bands came home in a rest, how long that really was, and how many had come after the next."""

    bands: float
    silence_ms: float
    later: float
    kept: float
    """Which share of what was written lay in the log when it began."""


def _cleaned(
    bench: Bench, bands: Bands, sight: Sight, silence_ms: float, press: Press, count: int, *, whole: bool = False
) -> _Rest:
    """Write to so many bands, or all of them, and rest; then another time as long."""
    places = _places(bands, count)
    pieces = _pieces(bands, count) if whole else None

    def course() -> _Rest:
        return _came_home(bench, places, pieces, sight, silence_ms, press, count)

    return in_region(bench, "clean-rewrite", int(places[0]), int(count * bands.size_bytes.value), course)


def _came_home(
    bench: Bench, places: Ints, pieces: Ints | None, sight: Sight, silence_ms: float, press: Press, count: int
) -> _Rest:
    """``places`` lie in so many bands, and ``pieces`` are all of them, if they are to be written."""
    first = int(places[0])
    bench.idle(_SETTLE_NS)
    press.before(first)
    watch = Watch.over(bench, "clean", places, sight)
    if pieces is not None:
        bench.play("clean-fill", Trace.writes(pieces, PIECE_BYTES, flush_every=1))
    bench.play("clean-write", Trace.writes(places, flush_every=1))
    press.after(first, len(places), BLOCK_BYTES)
    before = watch.angles()
    left = sight.differ(before, watch.home)
    ended_ns = bench.play("clean-last", Trace.reads(places[:1])).ended_ns
    bench.idle(int(silence_ms * 1e6))
    wake = bench.play("clean-wake", Trace.reads(places[:1]))
    silence_ms = (int(wake.submitted_ns[0]) - ended_ns) / 1e6
    came = sight.differ(watch.angles(), before)
    bench.idle(int(silence_ms * 1e6))
    later = sight.differ(watch.angles(), before)
    came_bands, later_bands = (float(each[left].mean() * count) for each in (came, later))
    return _Rest(came_bands, silence_ms, later_bands, float(left.mean()))


def _pieces(bands: Bands, count: int) -> Ints:
    """All of so many bands, each in no order."""
    draw = np.random.default_rng(7)
    each = int(bands.size_bytes.value) // PIECE_BYTES
    first = whole_blocks(bands.border)
    return np.asarray(first + PIECE_BYTES * np.concatenate([n * each + draw.permutation(each) for n in range(count)]))


def _places(bands: Bands, count: int) -> Ints:
    """Several blocks a band, since the borders of far bands are not known, nor that of the first to a block."""
    spacing = whole_blocks(bands.size_bytes.value / PER_BAND)
    first = whole_blocks(bands.border + 0.5 * spacing)
    return np.asarray(first + np.arange(count * PER_BAND) * spacing)
