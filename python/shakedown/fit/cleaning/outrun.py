"""Large writes outrun the cleaning of a drive that does it under pressure, and then have to wait for whole passes.

Where its log ends shows in how much was written by then, and what a pass takes in how long they wait.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from shakedown.fit.cleaning.bands import Bands
from shakedown.fit.cleaning.pressure import Full, empty
from shakedown.fit.estimate import Estimate
from shakedown.fit.log.length import Filler, marked_trace, typical
from shakedown.fit.place import aligned
from shakedown.fit.trace import BLOCK_BYTES, Floats, Log, at_blocks

_LONGEST: Final = 3.0
_FEWEST_OPERATIONS: Final = 3
_FEWEST_BANDS: Final = 96
_BANDS_AT: Final = 0.05
_SHARE_OF_BANDS: Final = 0.4
_GROUP: Final = 4
# Of the time of a band's tracks: an operation takes one at most, and a pass two, to read a band and write it back.
_FORCED_PASS: Final = 4.0
# Of such a band from its first dirty track on, per write, and far more than an operation takes.
_FORCED_SHARE: Final = 0.5
_SURE_PASSES: Final = 4
# What surely waits for the end of a pass, and what may have: of the time that most passes take.
_WAITED: Final = (0.75, 0.25)
_BEFORE_SHARE: Final = 0.2


def whole_length(
    filler: Filler, band: Bands, turn_ms: float, track_bytes: float, full: Full, pass_bands: int
) -> Estimate | None:
    """Where the log ends: large writes outrun the cleaning of bands with a piece each, and have to wait for whole ones.

    ``filler`` is one of large writes within a band.
    """
    bench = filler.bench
    wanted = _LONGEST * full.high.high / filler.layout.space_bytes(filler.size) / _FEWEST_OPERATIONS
    most = int(_SHARE_OF_BANDS * bench.capacity_bytes / band.size_bytes.value)
    count = int(np.clip(wanted, _FEWEST_BANDS, most)) // _GROUP * _GROUP
    step = _SHARE_OF_BANDS * bench.capacity_bytes / count
    marks = aligned(_BANDS_AT * bench.capacity_bytes) + at_blocks(np.arange(count) * step)
    groups = count // _GROUP
    fillers = filler.offsets(2 * groups + filler.writes(_LONGEST * full.high.high))
    empty(filler, full.high)
    trace = marked_trace(marks, fillers, filler.size, np.repeat(np.arange(groups), _GROUP))
    log = bench.play("whole-length", trace)
    return _end_of_log(log, filler, band.size_bytes.value / track_bytes * turn_ms, full.high.low, count, pass_bands)


def _end_of_log(
    log: Log, filler: Filler, band_ms: float, high_bytes: float, count: int, pass_bands: int
) -> Estimate | None:
    """From the stretch of writes that wait for whole passes behind ``count`` marks; None where hardly any does.

    ``band_ms`` is what passing over a band takes once, ``high_bytes`` the least that is cached where cleaning begins.
    """
    cycle, small = log.cycle_ms, log.lengths == BLOCK_BYTES
    spaces = np.where(small, *(filler.layout.space_bytes(size) for size in (BLOCK_BYTES, filler.size)))
    at = np.cumsum(spaces) - spaces
    excess = cycle - np.where(small, np.median(cycle[small]), np.median(cycle[~small]))
    first = int(np.searchsorted(at, high_bytes, side="right"))
    # Bands that streams left are closed one after the other, too, but that does not take so long.
    begin, end = (first + one for one in _longest_stretch(excess[first:] - _FORCED_SHARE * band_ms))
    passes = int(np.sum(excess[begin:end] > _FORCED_PASS * band_ms))
    if passes < _SURE_PASSES:
        return None
    late = np.maximum(excess, 0.0)
    # Behind each pass a visit records that as well: before these writes one a pass, then one a write, if that waited.
    before = float(late[first:begin].sum()) / float(late[first:end].sum()) * count / pass_bands
    pass_ms = typical(late[begin:end])
    waited = [int(np.sum(excess[begin:end] > share * pass_ms)) for share in _WAITED]
    record = filler.layout.visit_bytes
    group = _GROUP * spaces.min() + spaces.max()
    # The last write that has to wait is one for which the last groups go, or those before them: as many as a pass has.
    gone = float(at[end - 1] - count / _GROUP * group)
    least = gone + ((1 - _BEFORE_SHARE) * before + waited[0]) * record
    most = gone + ((1 + _BEFORE_SHARE) * before + waited[1]) * record + (1 + pass_bands / 2) * group
    error = filler.layout.error_share(filler.size) * most
    return Estimate((least + most) / 2, least - error, most + error)


def _longest_stretch(beyond_ms: Floats) -> tuple[int, int]:
    """From which write to before which one all of them together took most beyond what was to be expected of each."""
    sums = np.append(0.0, np.cumsum(beyond_ms))
    risen = sums - np.minimum.accumulate(sums)
    end = int(np.argmax(risen))
    return int(np.argmin(sums[: end + 1])), end
