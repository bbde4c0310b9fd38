"""Cleaning: how long a band takes, and a piece that has to be collected for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from shakedown.fit.bands import NO_PRESS, Bands, Press
from shakedown.fit.estimate import Estimate
from shakedown.fit.layout import Layout
from shakedown.fit.place import rewrite
from shakedown.fit.trace import BLOCK_BYTES, Bench, Ints, Trace
from shakedown.fit.whereabouts import Sight, Watch

_BANDS: Final = 48
PER_BAND: Final = 8
_SETTLE_NS: Final = 45_000_000_000
_ENOUGH: Final = 24
_FIRST_REST_MS: Final = 8_000.0
_LONGEST_REST_MS: Final = 240_000.0
_MOST_LOOKS: Final = 7
_ANOTHER: Final = 0.5
_RATIONED: Final = 1.3
_MOST_PIECES: Final = 3072
_MOST_PER_BAND: Final = 64
_ROOM_SHARE: Final = 0.4
_FEWEST_BANDS: Final = 8
_APART_TRACKS: Final = 1.2
_SIZES: Final = (4096, 16_384, 65_536)
_REST_SHARES: Final = (0.6, 0.3, 1.2)
_FEWEST_CLEANED: Final = 4
_NEARLY_ALL: Final = 0.9
_SHOWN_TRACKS: Final = 0.8
_VAGUE_TURNS: Final = 0.15
# From one order to the other the heads wait for other angles as well.
_CERTAIN: Final = 2.0


def band_ms(bench: Bench, bands: Bands, sight: Sight, rest_ms: float, press: Press = NO_PRESS) -> Estimate | None:
    """Time for a whole band with little cached in it; None where too little came home."""
    pieces = _Pieces(_count(bench, bands), PER_BAND, behind=0.5)
    surplus_ms, seen = _FIRST_REST_MS, None
    for _ in range(_MOST_LOOKS):
        found = _cleaned(bench, bands, sight, rest_ms + surplus_ms, press, pieces, again=True)
        cleaned, silence_ms = found.bands, found.silence_ms
        if found.kept < _NEARLY_ALL and pieces.bands > 2 * _FEWEST_BANDS:
            # A log that is full meanwhile is cleaned at a time when nobody looks.
            pieces = replace(pieces, bands=pieces.bands // 2)
            continue
        busy = found.later >= cleaned + _ANOTHER
        if cleaned and not busy:
            # A small log has no room for all of it: what it did not hold came home before, and then the drive was idle.
            if seen is not None:
                break
            surplus_ms /= 2
            continue
        seen = (cleaned, silence_ms) if cleaned else seen
        if cleaned >= min(_ENOUGH, pieces.bands * 2 // 3) or surplus_ms >= _LONGEST_REST_MS:
            break
        surplus_ms = min(max(surplus_ms * 1.3 * _ENOUGH / max(cleaned, 1), 2 * surplus_ms), _LONGEST_REST_MS)
    if seen is None:
        return None
    cleaned, silence_ms = seen
    # Half a band is under way at the end, and a band is cleaned from its first dirty track on only.
    each = (silence_ms - rest_ms) / (cleaned + 0.5) / (1 - 0.5 / PER_BAND)
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


@dataclass(frozen=True)
class _Pieces:
    """What is written to some bands before they are cleaned: so many pieces of one size to each."""

    bands: int
    each: int
    size: int = BLOCK_BYTES
    apart: bool = False
    """One of every band, then the next of every band: no two of a band lie beside each other in the log."""

    behind: float = 0.0
    """How far behind a border the first piece lies, in distances of two: that is not known to a block."""

    def places(self, bands: Bands) -> Ints:
        """A row a band, from the beginning of one on."""
        spacing = int(bands.size_bytes.value / self.each) // BLOCK_BYTES * BLOCK_BYTES
        first = int(bands.border + self.behind * spacing) // BLOCK_BYTES * BLOCK_BYTES
        return (first + np.arange(self.bands * self.each) * spacing).reshape(self.bands, self.each)


@dataclass(frozen=True)
class _Rest:
    """How many bands came home in a rest, how long that really was, and how many had come after the next."""

    bands: float
    silence_ms: float
    later: float
    kept: float
    """Which share of what was written lay in the log when it began."""


@dataclass(frozen=True)
class Room:
    """The log as far as it is known: what may be written to it without filling it, and what a write takes."""

    layout: Layout
    size_bytes: float
    writes: float


def collect_turns(
    bench: Bench, bands: Bands, sight: Sight, rest_ms: Estimate, each_ms: float, room: Room, press: Press = NO_PRESS
) -> Estimate | None:
    """What a piece takes to be collected that lies apart: the same is written in two orders, and cleaned.

    None where the log has no room for enough pieces, or their gaps are passed as soon as they are skipped.
    """
    pieces = _most_pieces(_count(bench, bands), room)
    if pieces is None:
        return None
    (together, near_error), (asunder, far_error) = (
        _each_ms(bench, bands, sight, (rest_ms, each_ms), press, replace(pieces, apart=apart))
        for apart in (False, True)
    )
    gaps = (pieces.each - 1) * sight.turn_ms
    more, error = (asunder - together) / gaps, (near_error + far_error) / gaps
    space, track = room.layout.space_bytes(pieces.size), room.layout.track_bytes
    # What lies beside each other has the gaps that packets leave, and is collected no quicker than these are passed.
    near, far = (space - pieces.size) / track, (pieces.bands - 1) * space / track
    if more <= _CERTAIN * error:
        found = Estimate(max(more, 0.0) + near / 2, 0.0, max(more, 0.0) + near + error)
    else:
        found = Estimate(more + near, more + near - error, more + near + error)
    vague = not found.high - found.low <= 2 * _VAGUE_TURNS
    return None if vague or found.value > _SHOWN_TRACKS * far else found


def _each_ms(
    bench: Bench, bands: Bands, sight: Sight, expected: tuple[Estimate, float], press: Press, pieces: _Pieces
) -> tuple[float, float]:
    """What a band with so many pieces takes, and what that may be wrong by; infinite where none or all came home."""
    rest_ms, each_ms = expected
    for share in _REST_SHARES:
        found = _cleaned(bench, bands, sight, rest_ms.value + share * pieces.bands * each_ms, press, pieces)
        if _FEWEST_CLEANED <= found.bands <= _NEARLY_ALL * pieces.bands:
            each = (found.silence_ms - rest_ms.value) / (found.bands + 0.5)
            # Half a band is under way at the end, and when the first one began is known to so much.
            return each, (0.5 * each + (rest_ms.high - rest_ms.low) / 2) / found.bands
    return 0.0, np.inf


def _most_pieces(bands: int, room: Room) -> _Pieces | None:
    """As many pieces as there is room for, so large that what lies between two of a band takes a turn to pass."""
    writes = min(_MOST_PIECES, _ROOM_SHARE * room.writes)
    for count in (min(bands, _BANDS), _FEWEST_BANDS):
        for size in _SIZES:
            space = room.layout.space_bytes(size)
            each = int(min(writes, _ROOM_SHARE * room.size_bytes / space) / max(count, 1))
            apart = (count - 1) * space >= _APART_TRACKS * room.layout.track_bytes
            if count >= _FEWEST_BANDS and each >= 2 * PER_BAND and apart:
                return _Pieces(count, min(each, _MOST_PER_BAND), size)
    return None


def _cleaned(
    bench: Bench,
    bands: Bands,
    sight: Sight,
    silence_ms: float,
    press: Press,
    pieces: _Pieces,
    *,
    again: bool = False,
) -> _Rest:
    """Write to some bands, and rest; with ``again`` another time as long."""
    # Several blocks a band, since the borders of far bands are not known: the first lies near its beginning.
    places = pieces.places(bands)
    watched = places[:, :: max(pieces.each // PER_BAND, 1)].ravel()
    written = (places.T if pieces.apart else places).ravel()
    bench.idle(_SETTLE_NS)
    press.before(int(places[0, 0]))
    watch = Watch.over(bench, "clean", watched, sight)
    bench.play("clean-write", Trace.writes(written, pieces.size, flush_every=1))
    press.after(int(places[0, 0]), len(written), pieces.size)
    before = watch.angles()
    left = sight.differ(before, watch.home)
    ended_ns = bench.play("clean-last", Trace.reads(watched[:1])).ended_ns
    bench.idle(int(silence_ms * 1e6))
    first = bench.play("clean-wake", Trace.reads(watched[:1]))
    silence_ms = (int(first.submitted_ns[0]) - ended_ns) / 1e6
    came = later = sight.differ(watch.angles(), before)
    if again:
        bench.idle(int(silence_ms * 1e6))
        later = sight.differ(watch.angles(), before)
    rewrite(bench, "clean-rewrite", int(places[0, 0]), int(pieces.bands * bands.size_bytes.value))
    came_bands, later_bands = (float(each[left].mean() * pieces.bands) for each in (came, later))
    return _Rest(came_bands, silence_ms, later_bands, float(left.mean()))


def _count(bench: Bench, bands: Bands) -> int:
    return int(min(_BANDS, (bench.capacity_bytes - bands.border) * 0.8 // bands.size_bytes.value))
