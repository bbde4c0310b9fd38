"""What cleaning takes of a drive that does it at once: how long its reads have to wait when bands are dirty."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Final

import numpy as np

from shakedown.fit.cleaning.ballast import Ballasted
from shakedown.fit.cleaning.bands import Bands
from shakedown.fit.estimate import Estimate
from shakedown.fit.place import aligned
from shakedown.fit.trace import BLOCK_BYTES, Ints, Log, Trace, at_blocks

_TO: Final = 0.95
# A band is cleaned from its first dirty track on: nearly all of it.
_AT_BEGIN: Final = 0.06
_FEW_BANDS: Final = 8
_MANY_BANDS: Final = 240
_DRIFT: Final = 0.04
# All in one phase of merging.
_PIECE_STEP_BYTES: Final = 64 << 10
_MOST_PIECES: Final = 64
_FEWEST_PIECES: Final = 16
# More than any of the drives passes in a turn while it skips to another piece.
_APART_TRACKS: Final = 1.15
_APART_SHOWN: Final = 0.85
_MORE: Final = 1.5
_WAIT_TURNS: Final = 1.5

# Behind each read comes an operation of cleaning, and of two in a row one takes many turns.
_READS: Final = 4
_READ_AT: Final = 0.02
_READ_STEP_BYTES: Final = 8 << 20
_READ_SLOTS: Final = 1999
_STEP: Final = 0.006
_ROUGH_STEP: Final = 0.25
_FIRST_LOOK: Final = 0.7
_SOONER: Final = 0.6
_TRIES: Final = 5
_MOST_LOOKS: Final = 200
_FIRST_MS: Final = 500.0


@dataclass(frozen=True)
class Space:
    """What small writes take of a log as they are gathered, and how many there is room for."""

    write_bytes: float
    track_bytes: float
    writes: int
    write_ms: float
    """What one takes as fast as they are taken."""


@dataclass(frozen=True)
class Cleaned:
    """Lets a drive clean bands that are written first, and tells how long it does; ``longest_ms``: a read that waits
    for nothing takes no longer."""

    ballasted: Ballasted
    band: Bands
    turn_ms: float
    longest_ms: float
    _times: count[int] = field(default_factory=count)

    def band_ms(self) -> Estimate | None:
        """For a band with one piece in it."""
        few, size = self._bands(_FEW_BANDS), self.band.size_bytes
        rough = self._cleans_ms(self._places(few, 1).ravel(), _FIRST_MS, _ROUGH_STEP)
        # Further behind the one that is known, where it begins is not: whole bands are to be cleaned.
        many = self._bands(int(np.clip(_DRIFT * size.value / max(size.half, 1.0), few, _MANY_BANDS)))
        if rough is None:
            return None
        found = self._within(self._places(many, 1).ravel(), rough.value * many / few)
        if found is None:
            return None
        each = found.scaled(1 / many)
        return Estimate.around(each.value, each.half + _DRIFT * each.value)

    def collect_turns(self, band_ms: Estimate, space: Space) -> Estimate | None:
        """What a piece takes to be collected that lies apart, beside one that lies right behind another.

        Of as many pieces: so what else the host's writes take is the same. None where the log has no room for enough
        writes, or what lies between is passed as soon as it is skipped.
        """
        bands = self._bands(max(_MANY_BANDS, int(np.ceil(_APART_TRACKS * space.track_bytes / space.write_bytes))))
        pieces = min(_MOST_PIECES, space.writes // max(bands, 1))
        if pieces < _FEWEST_PIECES:
            return None
        places = self._places(bands, pieces)
        # While they are written others are cleaned: of these none is to be dirty a second time.
        before = int(_MORE * places.size * space.write_ms / band_ms.value) + 1
        ballast = self.ballasted.places(before, pieces + 1).ravel()
        about_ms = band_ms.value * (bands + before)
        beside = self._within(np.append(ballast, places.T), about_ms)
        apart = beside and self._within(np.append(ballast, places), beside.value)
        if beside is None or apart is None:
            return None
        more = (pieces - 1) * bands * self.turn_ms
        # Pieces beside each other are as far apart as what a write takes of the log.
        turns = (apart.value - beside.value) / more + (space.write_bytes - BLOCK_BYTES) / space.track_bytes
        # Each band waits for an angle before it is written back, and all of them alike.
        error = (apart.half + beside.half) / more + _WAIT_TURNS / (pieces - 1)
        if turns > _APART_SHOWN * bands * space.write_bytes / space.track_bytes:
            return None
        return Estimate(max(turns, 0.0), max(turns - error, 0.0), max(turns, 0.0) + error)

    def _bands(self, most: int) -> int:
        room = (_TO * self.ballasted.capacity_bytes - self.band.border) // self.band.size_bytes.value
        return int(min(most, room))

    def _places(self, bands: int, pieces: int) -> Ints:
        """A row a piece."""
        firsts = at_blocks(self.band.border + (np.arange(bands) + _AT_BEGIN) * self.band.size_bytes.value)
        return np.asarray(firsts[None, :] + np.arange(pieces)[:, None] * _PIECE_STEP_BYTES)

    def _within(self, places: Ints, about_ms: float) -> Estimate | None:
        for _ in range(_TRIES):
            found = self._cleans_ms(places, _FIRST_LOOK * about_ms, _STEP)
            if found is None or found.low > 0:
                return found
            about_ms *= _SOONER
        return None

    def _cleans_ms(self, places: Ints, first_ms: float, step: float) -> Estimate | None:
        """How long it cleans once these are written, from their first on; low is 0 if it is clean at the first look."""
        time = next(self._times)
        return self.ballasted.in_one_go(lambda: self._timed(places, first_ms, step, time))

    def _timed(self, places: Ints, first_ms: float, step: float, time: int) -> Estimate | None:
        self.ballasted.clean()
        begun_ns = int(self.ballasted.put("timed-write", places).submitted_ns[0])
        silence_ms, busy_ms = first_ms, 0.0
        for number in range(_MOST_LOOKS):
            self.ballasted.bench.idle(int(silence_ms * 1e6))
            look = self._look(time * _MOST_LOOKS + number)
            at_ms = (int(look.submitted_ns[0]) - begun_ns) / 1e6
            if not (look.latency_ms[1:] > self.longest_ms).any():
                usual_ms = float(look.latency_ms.sum())
                low, high = busy_ms - number * usual_ms, at_ms - number * usual_ms
                return Estimate((low + high) / 2, max(low, 0.0), high)
            busy_ms, silence_ms = at_ms, at_ms * step
        return None

    def _look(self, number: int) -> Log:
        """At places that memory has forgotten, if it has ever had them."""
        slots = (np.arange(_READS) + _READS * number) % _READ_SLOTS
        offsets = aligned(_READ_AT * self.ballasted.capacity_bytes) + slots * _READ_STEP_BYTES
        return self.ballasted.bench.play("cleans", Trace.reads(offsets))
