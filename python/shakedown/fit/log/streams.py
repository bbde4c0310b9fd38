"""Streams: what is written in sequence and comes to its own place has bypassed the persistent cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shakedown.fit.drive.whereabouts import Sight, Watch, forget
from shakedown.fit.estimate import Estimate
from shakedown.fit.place import aligned, rewrite
from shakedown.fit.trace import BLOCK_BYTES, Bench, Trace, whole_blocks

_MOST_RUN_BYTES: Final = 256 << 20
_LEAST_RUN_BYTES: Final = 64 << 20
_RUN_SHARE: Final = 1 / 128
_ENDS: Final = 12
_MOSTLY: Final = 0.5
_APART_BYTES: Final = 128 << 10
LONG_RUN_BYTES: Final = 64 << 20
# Where nothing was written in sequence before: a stream that ended within would be gone on with.
_RUNS_AT: Final = (0.76, 0.775)
_COMPLETING_NS: Final = 20_000_000_000
# Of a band that a stream left early the rest is completed in no silence where cleaning does not wait for one, but once
# another stream needs the place: then with all that is cached of it. So the stream before leaves it behind.
_PAST_BYTES: Final = 256 << 20
_PAST_SHARE: Final = 1 / 200
_GRAIN_BYTES: Final = 64 << 10
_DURABLE_BYTES: Final = 256 << 10
_MOST_AFTER_BYTES: Final = 4 << 20
_SIZES: Final = tuple(1 << shift for shift in range(12, 22))
_MOST_TRACKED: Final = 64
# A few, of which 64 MiB are more whatever their size, and a prime: half a turn each make no whole ones.
_ALONE: Final = 23


@dataclass(frozen=True)
class Streams:
    """What a stream is to the drive."""

    min_request_bytes: Estimate
    min_run_bytes: Estimate
    tracked: Estimate


def measure(bench: Bench, sight: Sight) -> Streams | None:
    """Find the three thresholds; None where nothing bypasses the cache.

    With short runs first: one of small requests that is no stream may take a visit to the log for each of them.
    """
    longest = _longest_bytes(bench)
    if longest < 2 * _LEAST_RUN_BYTES:
        return _thresholds(bench, sight, longest)
    return _thresholds(bench, sight, _LEAST_RUN_BYTES) or _thresholds(bench, sight, longest)


def _thresholds(bench: Bench, sight: Sight, run_bytes: int) -> Streams | None:
    low = -1
    while (high := _first_that_bypasses(bench, low, sight, run_bytes)) < len(_SIZES):
        request = _SIZES[high]
        run = _run_bytes(bench, request, sight)
        if run is not None:
            least = _SIZES[high - 1] + 512 if high > 0 else 512
            tracked = _tracked(bench, request, run, sight)
            return Streams(Estimate(request, least, request), run, tracked)
        low = high
    return None


def _first_that_bypasses(bench: Bench, low: int, sight: Sight, run_bytes: int) -> int:
    """The number of the smallest size beyond ``low`` that seems to bypass the cache; that of none if none does."""
    high = len(_SIZES)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _bypasses(bench, _SIZES[middle], sight, run_bytes) else (middle, high)
    return high


def _bypasses(bench: Bench, request: int, sight: Sight, run_bytes: int) -> bool:
    """Whether the end of such a run comes to its own place, or seems to."""
    _, end = _away_at_ends(bench, request, sight, run_bytes, alone=0)
    return end < 0.5


def _is_long_in_coming(bench: Bench, request: int, sight: Sight) -> bool:
    """Whether a run's first half was cached and its end was not; with other packets than before: at other angles.

    A cache that became full at the end of the run brings home all of it.
    """
    front, end = _away_at_ends(bench, request, sight, _longest_bytes(bench), alone=_ALONE)
    return front >= 0.5 > end


def _away_at_ends(bench: Bench, request: int, sight: Sight, run_bytes: int, *, alone: int) -> tuple[float, float]:
    """What share of a run's first half, and of its end, does not lie where it did.

    Of its first ``alone`` requests each is durable before the next.
    """
    length = run_bytes // request * request
    # Each size at a place of its own, of which memory holds nothing, and in which no other experiment has ended: the
    # short runs of all sizes lie before the long ones.
    shorter = 0 if run_bytes == _LEAST_RUN_BYTES else len(_SIZES) * aligned(1.25 * _LEAST_RUN_BYTES)
    before = shorter if _longest_bytes(bench) >= 2 * _LEAST_RUN_BYTES else 0
    first = aligned(0.6 * bench.capacity_bytes) + before + _SIZES.index(request) * aligned(1.25 * length)
    front = first + np.arange(_ENDS) * (length // 2 // _ENDS // request * request)
    # The last alone: what came before may have been cleaned, if the cache is a small one.
    ends = first + length - np.arange(_ENDS, 0, -1) * max(request, _APART_BYTES)
    rewrite(bench, f"stream-{request}-before", first, length)
    # What lies in the log in the same order twice comes at the same angles twice, if what lies between is whole turns.
    bench.idle(_COMPLETING_NS)
    watched = np.concatenate([front, ends])
    forget(bench, watched, sight.kept)
    watch = Watch.over(bench, f"stream-{request}", watched, sight)
    run = first + np.arange(length // request) * request
    one_by_one = Trace.writes(run[:alone], request, flush_every=1)
    together = Trace.writes(run[alone:], request, flush_every=len(run) - alone)
    bench.play(f"stream-{request}-write", one_by_one + together)
    away, known = watch.away(), ~np.isnan(watch.home)
    rewrite(bench, f"stream-{request}-rewrite", first, length)
    parts = (away[:_ENDS], known[:_ENDS]), (away[_ENDS:], known[_ENDS:])
    # Where nothing bypasses a cache of flash, nothing came from the platters before, either.
    shares = [float((part[seen] if seen.any() else part).mean()) for part, seen in parts]
    return shares[0], shares[1]


def _longest_bytes(bench: Bench) -> int:
    return int(np.clip(_RUN_SHARE * bench.capacity_bytes, _LEAST_RUN_BYTES, _MOST_RUN_BYTES))


def _run_bytes(bench: Bench, request: int, sight: Sight) -> Estimate | None:
    """How long a run is before it is a stream; None where none is, whatever another run looked like.

    What is written in sequence twice lies in the log in the same order twice: if what was written between happens to be
    whole turns, all of it comes at its old angle, though none is at home. Packets of other sizes do not repeat that.
    """
    # Here and there a block comes from the log at its old angle by chance, but not the same one of both runs.
    away = np.any([_away_after_run(bench, share, request, sight) for share in _RUNS_AT], axis=0)
    # One that cleans under pressure has brought the run's front home, and not what it wrote last: that was cached, too.
    if away[-_ENDS:].mean() >= _MOSTLY:
        return None
    # The place that parts best what lies elsewhere from what does not.
    wrong = np.concatenate([[0], np.cumsum(~away)]) + np.concatenate([np.cumsum(away[::-1])[::-1], [0]])
    cached = int(np.argmin(wrong)) * _GRAIN_BYTES
    if cached == LONG_RUN_BYTES:
        if not _is_long_in_coming(bench, request, sight):
            return None
        low, high = cached, max(_longest_bytes(bench) // request * request, cached + request)
        return Estimate((low + high) / 2, low, high)
    low, high = max(cached - _GRAIN_BYTES, 0) + request, cached + _GRAIN_BYTES + _durable_bytes(request)
    return Estimate((low + high) / 2, low, high)


def _away_after_run(bench: Bench, share: float, request: int, sight: Sight) -> NDArray[np.bool_]:
    """Which parts of a long run, written from ``share`` of the capacity on, do not lie where they did."""
    first = aligned(share * bench.capacity_bytes)
    places = first + np.arange(LONG_RUN_BYTES // _GRAIN_BYTES) * _GRAIN_BYTES
    past = min(_PAST_BYTES, aligned(_PAST_SHARE * bench.capacity_bytes))
    rewrite(bench, "stream-run-before", first, LONG_RUN_BYTES + past)
    # The band that this leaves is to be complete: else the run makes the drive complete it, with what it cached of it.
    bench.idle(_COMPLETING_NS)
    forget(bench, places, sight.kept)
    watch = Watch.over(bench, "stream-run", places, sight)
    # What is still in memory when the run becomes a stream goes with it, past the cache: so little is. Each durable
    # alone would take a visit to the log, of which a small one does not have as many as a run has requests.
    run = first + np.arange(LONG_RUN_BYTES // request) * request
    bench.play("stream-run-write", Trace.writes(run, request, flush_every=_durable_bytes(request) // request))
    away = watch.away()
    rewrite(bench, "stream-run-rewrite", first, LONG_RUN_BYTES)
    return away


def _durable_bytes(request: int) -> int:
    """How much of a run is made durable at once: whole requests."""
    return max(_DURABLE_BYTES, request)


def _tracked(bench: Bench, request: int, run: Estimate, sight: Sight) -> Estimate:
    low, high = 1, _MOST_TRACKED + 1
    while high - low > 1:
        middle = min(2 * low, (low + high) // 2) if high > _MOST_TRACKED else (low + high) // 2
        low, high = (middle, high) if _follows(bench, middle, request, run, sight) else (low, middle)
    return Estimate(low, low, low if high <= _MOST_TRACKED else np.inf)


def _follows(bench: Bench, count: int, request: int, run: Estimate, sight: Sight) -> bool:
    """Whether so many streams are followed at a time: one is still known after all others have begun.

    These begin with a request each, for as many runs may be more than the cache holds, and what a full one brings home
    looks as if it had bypassed it.
    """
    first = aligned(0.64 * bench.capacity_bytes)
    before = int(run.high) // request + 2
    # Too little to be a stream by itself.
    after = max(int(min(run.low / 2, _MOST_AFTER_BYTES)) // request, 1)
    one = first + np.arange(before + after) * request
    others = one[-1] + 2 * np.arange(1, count) * request
    # The same for any number: none of the others is to go on where a rewriting for fewer ended.
    size_bytes = (before + after + 2 * _MOST_TRACKED) * request
    rewrite(bench, f"streams-{count}-before", first, size_bytes)
    bench.idle(_COMPLETING_NS)
    # Several, so that no single answer decides.
    step = whole_blocks(max(after * request // _ENDS, BLOCK_BYTES))
    ends = np.arange(int(one[before]), int(one[-1]) + request, step)
    forget(bench, ends, sight.kept)
    watch = Watch.over(bench, f"streams-{count}", ends, sight)
    offsets = np.concatenate([one[:before], others, one[before:]])
    bench.play(f"streams-{count}-write", Trace.writes(offsets, request, flush_every=len(offsets)))
    away = float(watch.away().mean())
    rewrite(bench, f"streams-{count}-rewrite", first, size_bytes)
    return away < 0.5
