"""Rationed writes: how many visits a full drive gives the host between forced passes, and until how much room there is.

Bands with a mark each are written such that each pass makes more room than the one before. As long as writes are
rationed the next pass comes after as many of them all the same; then no more comes before all of the room is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shakedown.fit.cleaning.bands import Bands
from shakedown.fit.cleaning.forced import FREE_BANDS, Known
from shakedown.fit.estimate import Estimate
from shakedown.fit.log.length import Filler, marked_trace
from shakedown.fit.trace import BLOCK_BYTES, Ints, Trace, at_blocks, in_one_go

# Fillers that the first pass makes room for, and by what each pass makes room for more.
_FIRST_ROOM: Final = 3.0
_GROWS: Final = 1.25
_ROOM_SHARE: Final = 0.6
_SHARE_OF_BANDS: Final = 0.25
# Then there is room for more than any log has.
_MOST_PASSES: Final = 64
_BEFORE: Final = 0.97
_CHUNK: Final = 200
_STALL_SHARE: Final = 0.2
# By then room for as many has grown to 2.4 times as much.
_FEWEST_ALIKE: Final = 5
_ALIKE: Final = 0.1
_FAR_MORE: Final = 2.0
_MANY: Final = 20
# Of a band, which is cleaned from its first dirty track on.
_INSIDE: Final = 0.25


@dataclass(frozen=True)
class Ration:
    """What was found."""

    visits: int
    """Between two passes."""
    room: Estimate
    """What has to be free for it to end, in bytes of the log; without end if it did not while it was watched."""


@dataclass(frozen=True)
class _Plan:
    """Marks of one band each, and how many fillers behind each of them."""

    marks: Ints
    behind: Ints

    @staticmethod
    def of(filler: Filler, bands: Bands, known: Known, pass_bands: int) -> _Plan:
        size = bands.size_bytes.value
        share = int(_SHARE_OF_BANDS * (filler.bench.capacity_bytes - bands.border) / size)
        most = min(share, _MOST_PASSES * pass_bands)
        # The filler's own band is one of the first pass.
        number = np.arange(most) + 1
        room = _FIRST_ROOM * _GROWS ** (number / pass_bands) / pass_bands
        fillers = np.diff(np.floor(np.cumsum(room)), prepend=0).astype(np.int64)
        taken = np.cumsum(filler.layout.space_bytes(BLOCK_BYTES) + fillers * filler.layout.space_bytes(filler.size))
        count = int(np.searchsorted(taken, _ROOM_SHARE * known.length.low))
        places = bands.border + (FREE_BANDS + np.arange(count) + _INSIDE) * size
        return _Plan(at_blocks(places), fillers[:count])

    def trace(self, filler: Filler) -> Trace:
        """All of it, each durable."""
        at = np.cumsum(self.behind) - self.behind
        return marked_trace(self.marks, filler.offsets(int(self.behind.sum())), filler.size, at)


@in_one_go
def measure(filler: Filler, bands: Bands, known: Known, pass_bands: int, stall_ms: float) -> Ration | None:
    """The ration of a drive whose passes take about so long and clean about so many bands; None where none shows."""
    plan = _Plan.of(filler, bands, known, pass_bands)
    filler.bench.idle(known.settle_ns)
    filler.bench.play("ration-marks", plan.trace(filler))
    done = int(plan.behind.sum())
    marked = len(plan.marks) * filler.layout.space_bytes(BLOCK_BYTES)
    count = max(filler.writes(_BEFORE * known.length.low - marked) - done, 1)
    filler.put("ration-fill", count, begin=done)
    late: list[Ints] = []
    found = None
    while len(late) * _CHUNK < filler.writes(_ROOM_SHARE * known.length.low):
        done += count
        count = _CHUNK
        log = filler.put("ration-writes", count, begin=done)
        cycle = log.cycle_ms
        late.append(len(late) * _CHUNK + np.flatnonzero(cycle - np.median(cycle) > _STALL_SHARE * stall_ms))
        stalls = np.concatenate(late)
        found = from_stalls(stalls, len(late) * _CHUNK, filler.layout.space_bytes(filler.size))
        if np.isfinite(found.room.high) if found else len(stalls) > _MANY:
            break
    filler.flush_out(known.length.value)
    return found


def from_stalls(stalls: Ints, count: int, each_bytes: float) -> Ration | None:
    """From which of so many writes waited for a pass; None where the room decides when, or too little was seen of it.

    A write takes ``each_bytes`` of the log.
    """
    gaps = np.diff(stalls)
    run = _longest_alike(gaps)
    if len(run) < _FEWEST_ALIKE:
        return None
    visits = int(np.median(gaps[run]))
    after = gaps[run[-1] + 1 :]
    passes = len(run) + 1
    used = int(after[0]) if len(after) else count - int(stalls[-1])
    # All that they made room for, of which the last did as the first of a series that shrinks.
    last = (used + len(run) * visits) * (1 - 1 / _GROWS) / (1 - _GROWS**-passes)
    ended = len(after) > 0 and used > _FAR_MORE * visits
    low = max(used + visits - last, 0.0) if ended else float(used)
    writes = ((low + used) / 2, low, float(used)) if ended else (low, low, np.inf)
    return Ration(visits, Estimate(*writes).scaled(each_bytes))


def _longest_alike(gaps: Ints) -> Ints:
    """The numbers of the longest row of gaps that are as long as each other."""
    best = np.zeros(0, int)
    for begin in range(len(gaps)):
        alike = np.abs(gaps[begin:] - gaps[begin]) <= max(_ALIKE * gaps[begin], 1)
        length = len(alike) if alike.all() else int(np.argmin(alike))
        if length > len(best):
            best = begin + np.arange(length)
    return best
