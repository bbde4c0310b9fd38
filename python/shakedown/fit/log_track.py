"""How many bytes a track has where the log is: the first and last block of a cached write are so far apart in angle."""

from __future__ import annotations

from typing import Final

import numpy as np

from shakedown.fit.place import rewrite, scattered
from shakedown.fit.rotation import short_way
from shakedown.fit.trace import BLOCK_BYTES, Bench, Floats, Trace
from shakedown.fit.whereabouts import Sight, Watch, forget

SIZES: Final = (65_536, 131_072, 262_144, 393_216, 524_288)
_REPEATS: Final = 20
_SCALES: Final = np.geomspace(0.3, 2.5, 1000)
# How many steps come as no track explains: what is cut in two, or fills more than a packet.
_STRAY: Final = 0.2
# How much likelier another has to be: e to the power of this.
_CERTAIN: Final = 10.0


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
    forget(bench, ends, sight.kept)
    now = watch.angles()
    now[~sight.differ(now, watch.home)] = np.nan
    rewrite(bench, "log-track-rewrite", first, slots * wide)
    begin, end = now[np.argsort(rising)].reshape(2, len(SIZES), _REPEATS)
    return np.asarray((end - begin) % 1.0)


def estimate(
    steps: Floats, expected_bytes: float, skews: tuple[float, ...], blur: float, whole_bytes: float = np.inf
) -> float:
    """Bytes of a track: with which of all that a surface has the steps are likeliest.

    ``expected_bytes`` unless another is much likelier: where its place is known its tracks are known better. ``skews``
    as of ``layout.estimate``; ``blur`` is what a step is known to, in turns. Writes of up to ``whole_bytes`` go to the
    log as one: of others parts may lie apart.
    """
    steps = np.where(np.array(SIZES)[:, None] <= whole_bytes, steps, np.nan)
    tried = expected_bytes * _SCALES
    likely = np.array([_likely(steps, track_bytes, skews, blur) for track_bytes in tried])
    best = int(np.argmax(likely))
    return (
        float(tried[best]) if likely[best] > _likely(steps, expected_bytes, skews, blur) + _CERTAIN else expected_bytes
    )


def _likely(steps: Floats, track_bytes: float, skews: tuple[float, ...], blur: float) -> float:
    tracks = (np.array(SIZES)[:, None] - BLOCK_BYTES) / track_bytes
    # What is more than a packet holds lies in several, which may lie apart: from some size on nothing may be told.
    return float(np.cumsum(np.nansum(likely(tracks, steps, skews, blur), axis=1)).max())


def likely(tracks: Floats, steps: Floats, skews: tuple[float, ...], blur: float) -> Floats:
    """How likely it is that so many tracks make such steps, as logarithms: borders of tracks or cylinders lie within.

    How often they do depends on the tracks. NaN of steps that are not known.
    """
    crossed, near = tracks % 1.0, 0.0
    for more, share in ((0, 1 - crossed), (1, crossed)):
        borders = np.floor(tracks) + more
        for skew in skews:
            # One of them may be a cylinder's.
            turns = tracks + borders * skews[0] + np.minimum(borders, 1) * (skew - skews[0])
            near += share / len(skews) * np.exp(-((short_way(steps - turns) / blur) ** 2) / 2)
    density = near / (blur * np.sqrt(2 * np.pi))
    return np.asarray(np.log(_STRAY + (1 - _STRAY) * density))
