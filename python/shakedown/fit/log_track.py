"""How many bytes a track has where the log is: the first and last block of a cached write are so far apart in angle."""

from __future__ import annotations

from typing import Final

import numpy as np

from shakedown.fit.layout import commonest
from shakedown.fit.place import rewrite, scattered
from shakedown.fit.trace import BLOCK_BYTES, Bench, Floats, Trace
from shakedown.fit.whereabouts import Sight, Watch, forget

SIZES: Final = (65_536, 131_072, 262_144, 393_216, 524_288)
_REPEATS: Final = 20
_LEAST_SEEN: Final = 8
_AGREE_TURNS: Final = 0.015
_MOST_TURNS: Final = 0.45
_AGREE: Final = 0.02


def measure(bench: Bench, sight: Sight, first: int) -> Floats:
    """By which part of a turn the last block of some durable writes comes later than the first, a row a size.

    NaN for those that have been brought home already.
    """
    wide = SIZES[-1] + 16 * BLOCK_BYTES
    count = _REPEATS * len(SIZES)
    slots = min(2 * count, bench.capacity_bytes // 4 // wide)
    places = scattered(count, first, slots, wide)
    sizes = np.repeat(SIZES, _REPEATS)
    ends = np.concatenate([places, places + sizes - BLOCK_BYTES])
    rising = np.argsort(ends)
    watch = Watch.over(bench, "log-track", ends[rising], sight)
    trace = Trace.writes(places, flush_every=1)
    lengths = trace.lengths.copy()
    lengths[::2] = sizes
    bench.play("log-track-write", Trace(trace.verbs, trace.offsets, lengths))
    forget(bench)
    now = watch.angles()
    now[~sight.differ(now, watch.home)] = np.nan
    rewrite(bench, "log-track-rewrite", first, slots * wide)
    begin, end = now[np.argsort(rising)].reshape(2, len(SIZES), _REPEATS)
    return np.asarray((end - begin) % 1.0)


def estimate(steps: Floats, expected_bytes: float) -> float:
    """Bytes of a track, by the largest writes that lie on it in one piece.

    ``expected_bytes`` unless that is contradicted: where its place is known its tracks are known better.
    """
    found = 0.0
    for size, row in zip(SIZES, steps, strict=True):
        seen = row[~np.isnan(row)]
        if len(seen) < _LEAST_SEEN:
            break
        step, data = commonest(seen), size - BLOCK_BYTES
        turns = step + round(data / found - step) if found else step
        if turns <= 0 or (found and abs(turns - data / found) > _AGREE_TURNS) or (not found and step > _MOST_TURNS):
            break
        found = data / turns
    return found if found and abs(found / expected_bytes - 1) > _AGREE else expected_bytes
