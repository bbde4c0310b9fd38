"""How many bytes a track has where the log is: the first and last block of a cached write are so far apart in angle."""

from __future__ import annotations

from typing import Final

import numpy as np

from shakedown.fit.drive.rotation import short_way
from shakedown.fit.drive.whereabouts import Sight, Watch, forget
from shakedown.fit.place import rewrite, scattered
from shakedown.fit.trace import BLOCK_BYTES, Bench, Floats, Trace

SIZES: Final = (65_536, 131_072, 262_144, 393_216, 524_288)
_REPEATS: Final = 20
_SCALES: Final = np.geomspace(0.3, 2.5, 1000)
_LAST: Final = np.array(SIZES) - BLOCK_BYTES
# How many packets lie before the last block of each size. Of smaller packets all but one size lie in several, and gaps
# between them make the steps of another track.
_PACKETS_BEFORE: Final = np.unique([_LAST // size for size in range(SIZES[1], SIZES[-1], BLOCK_BYTES)], axis=0)
# What may lie between two packets, in tracks.
_GAPS: Final = np.arange(0.02, 0.6, 0.01)
_GRAIN_TRACKS: Final = 0.002
# A gap explains more than none does: it has to make the steps likelier by e to the power of this.
_GAP_COST: Final = 5.0
# How many steps come as no track explains: what is cut in two, or fills more than a packet.
_STRAY: Final = 0.2
# As much of all steps another track has to explain, as the logarithm of how likely they are: what does for two of five
# sizes is luck, as of packets of 32 KiB with gaps. Of nine drives with other tracks they explain 0.77 and more.
_EXPLAINED: Final = 0.55
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
    tried = np.append(expected_bytes, expected_bytes * _SCALES)
    fits = _fits(steps, tried, skews, blur)
    best = int(np.argmax(fits))
    most = float(np.sum(~np.isnan(steps)) * np.log(_STRAY + (1 - _STRAY) / (blur * np.sqrt(2 * np.pi))))
    is_certain = fits[best] > max(fits[0] + _CERTAIN, _EXPLAINED * most)
    return float(tried[best if is_certain else 0])


def _fits(steps: Floats, tracks_bytes: Floats, skews: tuple[float, ...], blur: float) -> Floats:
    """How likely the steps are with tracks of each of these sizes, as logarithms.

    A write that is more than a packet lies further on by a gap for each: packets of 320 KiB in 0.25 tracks made those
    of 1.60 MB seem to have 1.41. Of other packets nothing is told, from some size of a write on.
    """
    whole = _LAST / tracks_bytes[:, None]
    furthest = float(whole.max()) + _GAPS[-1] * int(_PACKETS_BEFORE.max())
    tracks = np.arange(0.0, furthest + 2 * _GRAIN_TRACKS, _GRAIN_TRACKS)
    table = np.array([np.nansum(likely(tracks[:, None], row, skews, blur), axis=1) for row in steps])

    def told(further: Floats) -> Floats:
        each = table[np.arange(len(SIZES)), np.rint(further / _GRAIN_TRACKS).astype(int)]
        return np.asarray(np.cumsum(each, axis=-1).max(axis=-1))

    best = told(whole)
    for packets in _PACKETS_BEFORE:
        apart = told(whole[:, None, :] + _GAPS[:, None] * packets)
        best = np.maximum(best, apart.max(axis=1) - _GAP_COST)
    return best


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
