"""The marks of a lazy drive: how full its cache has to be before it cleans, and how full it leaves it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shakedown.fit.drive.whereabouts import Sight, Watch
from shakedown.fit.estimate import Estimate
from shakedown.fit.log.length import Filler
from shakedown.fit.place import aligned
from shakedown.fit.trace import BLOCK_BYTES, Floats, Trace, in_one_go, whole_blocks

_STEPS: Final = 40
_LEAST_STEPS: Final = 6
_SPACING_BYTES: Final = 96 << 20
_WIDE_BYTES: Final = 1 << 30
_MARKS_AT: Final = 0.78
# Bands further in may have more bytes than those that were seen, and behind the marks lie those of a sight.
_LONGER: Final = 1.05
_BEHIND_SHARE: Final = 0.19
_REST_SURPLUS_MS: Final = 12_000.0
_SURE: Final = 2
_OLDEST: Final = 8
_STRAY: Final = 1.5
_FIRST_STEP: Final = 4
_LOOKS: Final = 60
_LAST_SHARE: Final = 0.15
_QUIET_LOOKS: Final = 3
FULL: Final = 0.985
"""So much of a log is filled to see its low mark."""


@dataclass(frozen=True)
class Marks:
    """Shares of the log."""

    high: Estimate
    low: Estimate
    step: float
    """From one mark that was written to the next."""


@dataclass(frozen=True)
class Apart:
    """How far apart marks lie, how far behind the fillers, and how many there is room for."""

    spacing: int
    behind: int = 0
    most: int = _STEPS

    @staticmethod
    def widely(capacity_bytes: int) -> Apart:
        """Such that hardly any band has several, or the fillers and a mark, whatever its size."""
        spacing = whole_blocks(min(_WIDE_BYTES, _BEHIND_SHARE * capacity_bytes / (_STEPS + 1)))
        return Apart(spacing, spacing)


@dataclass(frozen=True)
class _Steps:
    """How marks and fillers share a log, of which a small one has room for few."""

    count: int
    fillers: int
    """Behind each mark."""
    mark: float
    """Share of the log that it takes."""
    filled: float
    """Share that the fillers of a step take."""

    @staticmethod
    def of(filler: Filler, length_bytes: float, most: int = _STEPS) -> _Steps:
        mark = filler.layout.space_bytes(BLOCK_BYTES) / length_bytes
        each = filler.layout.space_bytes(filler.size) / length_bytes
        count = int(np.clip(FULL / (mark + each), _LEAST_STEPS, most))
        fillers = max(int((FULL / count - mark) / each), 1)
        return _Steps(count, fillers, mark, fillers * each)

    @property
    def whole(self) -> float:
        return self.mark + self.filled


def measure(filler: Filler, sight: Sight, length_bytes: float, rest_ms: float) -> Marks | None:
    """Write marks evenly over the log: the first that comes home tells the high mark, the last that does the low one.

    None where none comes home.
    """
    near = filler.near(aligned(_MARKS_AT * filler.bench.capacity_bytes))
    steps = _Steps.of(near, length_bytes)
    high = _high(near, sight, length_bytes, rest_ms, steps)
    low = low_mark(filler, sight, length_bytes, rest_ms)
    return Marks(high, low, steps.whole) if high and low else None


def with_own_bands(
    found: Marks | None, filler: Filler, sight: Sight, length_bytes: float, rest_ms: float, band_bytes: float
) -> Marks | None:
    """The same, now that bands are known (0 bytes: they are not): where one had several, the low mark is found anew.

    They come home together, and then more seem to have been cleaned while the cache was so full. None where there is no
    room for enough that have a band each.
    """
    capacity_bytes = filler.bench.capacity_bytes
    if found is None or band_bytes <= _spacing_bytes(capacity_bytes):
        return found
    spacing = aligned(_LONGER * band_bytes)
    # One band lies between them and the fillers.
    most = min(int(_BEHIND_SHARE * capacity_bytes / spacing) - 1, _STEPS)
    if most < _LEAST_STEPS:
        return None
    low = low_mark(filler, sight, length_bytes, rest_ms, Apart(spacing, spacing, most))
    return replace(found, low=low, step=_Steps.of(filler, length_bytes, most).whole) if low else None


def _spacing_bytes(capacity_bytes: int) -> int:
    return whole_blocks(min(_SPACING_BYTES, capacity_bytes // (6 * _STEPS)))


def _begin(
    filler: Filler, sight: Sight, length_bytes: float, rest_ms: float, name: str, steps: _Steps, apart: Apart | None
) -> Watch:
    filler.flush_out(length_bytes)
    # A lazy drive, too, closes what a stream has left, and may clean a band or two with it.
    filler.bench.idle(int((rest_ms + _REST_SURPLUS_MS) * 1e6))
    bench = filler.bench
    apart = apart or Apart(_spacing_bytes(bench.capacity_bytes))
    first = aligned(_MARKS_AT * bench.capacity_bytes) + apart.behind
    return Watch.over(bench, name, first + np.arange(steps.count) * apart.spacing, sight)


@in_one_go
def _high(filler: Filler, sight: Sight, length_bytes: float, rest_ms: float, steps: _Steps) -> Estimate | None:
    watch = _begin(filler, sight, length_bytes, rest_ms, "high-mark", steps, None)
    watch.bench.play("high-mark-write", Trace.writes(watch.offsets, flush_every=1))
    before = twice(watch)
    for step in range(1, int((FULL - steps.count * steps.mark) / steps.filled) + 1):
        filler.put("high-mark-fill", steps.fillers, begin=step * steps.fillers)
        if step < _FIRST_STEP:
            continue
        watch.bench.idle(int((rest_ms + _REST_SURPLUS_MS) * 1e6))
        # The oldest go first: where others seem to, the host was late.
        if moved(watch, before)[:_OLDEST].sum() >= _SURE:
            # A drive looks at its marks now and then only: it may have been a step sooner.
            full = steps.count * steps.mark + steps.filled * step
            return Estimate(full - steps.filled / 2, full - 2 * steps.filled, full)
    return None


@in_one_go
def low_mark(
    filler: Filler, sight: Sight, length_bytes: float, rest_ms: float, apart: Apart | None = None
) -> Estimate | None:
    """How full, as a share of these bytes, the drive leaves a log that is nearly so full; None: it cleans nothing."""
    filler = filler.near(aligned(_MARKS_AT * filler.bench.capacity_bytes))
    steps = _Steps.of(filler, length_bytes, apart.most if apart else _STEPS)
    watch = _begin(filler, sight, length_bytes, rest_ms, "low-mark", steps, apart)
    # Whole steps may end well before the log does.
    rest = max(filler.writes((FULL - steps.count * steps.whole) * length_bytes), 0)
    fillers = filler.offsets(steps.count * steps.fillers + rest)
    between = fillers[: steps.count * steps.fillers].reshape(steps.count, steps.fillers)
    offsets = np.append(np.concatenate([watch.offsets[:, None], between], axis=1), fillers[between.size :])
    lengths = np.append(np.tile([BLOCK_BYTES, *[filler.size] * steps.fillers], steps.count), np.full(rest, filler.size))
    # One that waits for no silence is not above its high mark yet when they are looked at. The last ones stay anyway.
    written = int((1 - _LAST_SHARE) * steps.count)
    begun = written * (1 + steps.fillers)
    watch.bench.play("low-mark-write", Trace.durable_writes(offsets[:begun], lengths[:begun]))
    before = twice(watch)
    watch.bench.play("low-mark-last", Trace.durable_writes(offsets[begun:], lengths[begun:]))
    came, quiet, looked_at = np.zeros(steps.count, bool), 0, np.arange(steps.count) < written
    for _ in range(_LOOKS):
        watch.bench.idle(int((rest_ms + _REST_SURPLUS_MS) * 1e6))
        now = came | (moved(watch, before) & looked_at)
        quiet = 0 if (now & ~came).any() else quiet + 1
        came = now
        if quiet == _QUIET_LOOKS:
            break
    if not came.any():
        return None
    fewest, most = oldest_cleaned(came, surely_left(watch, before) & looked_at)
    fills = steps.whole * np.arange(len(came) + 1, -1, -1) + rest * steps.filled / steps.fillers
    # The last of them was cleaned while the cache was so full, and then it was not any more.
    low, high = float(fills[most + 1]), float(fills[fewest])
    return Estimate((low + high) / 2, low, high)


def oldest_cleaned(came: NDArray[np.bool_], left: NDArray[np.bool_]) -> tuple[int, int]:
    """How many of the marks, of which the oldest go first, were cleaned, at least and at most.

    It is where those that came part best from the others. One that lay at its old angle before, so that it had not
    ``left``, cannot be seen to come. One that seems to come behind those that do was rather cleaned than not.
    """
    missed, strays = np.cumsum(~came & left), np.cumsum(came[::-1])[::-1]
    wrong = np.append(0, missed) + _STRAY * np.append(strays, 0)
    best = np.flatnonzero(wrong == wrong.min())
    return int(best[0]), int(best[-1])


def twice(watch: Watch) -> tuple[Floats, Floats]:
    """Two looks: a host that is late in one of them moves nothing."""
    return watch.angles(), watch.angles()


def surely_left(watch: Watch, before: tuple[Floats, Floats]) -> NDArray[np.bool_]:
    """Which blocks would be seen to come home: those that two looks show at one place, which is not there."""
    away = [watch.sight.differ(one, watch.home) for one in before]
    return np.asarray(~watch.sight.differ(*before) & np.all(away, axis=0))


def moved(watch: Watch, before: tuple[Floats, Floats], now: tuple[Floats, Floats] | None = None) -> NDArray[np.bool_]:
    """Which blocks lie elsewhere: those on whose place two looks before agree, and two ``now``, on another."""
    now = now or twice(watch)
    agreed = ~watch.sight.differ(*before) & ~watch.sight.differ(*now)
    differs = [watch.sight.differ(one, then) for one in now for then in before]
    return np.asarray(agreed & np.all(differs, axis=0))
