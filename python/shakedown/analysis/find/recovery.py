"""How long after the last write the drive was itself again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from shakedown.analysis.condition import Recovered
from shakedown.analysis.finding import Finding
from shakedown.analysis.level import WINDOW_BLOCKS
from shakedown.analysis.rate import figure
from shakedown.analysis.series import Series
from shakedown.analysis.split import best_step
from shakedown.analysis.watch.level import Change, LatencyWatch
from shakedown.units import NS_PER_S, format_duration


@dataclass(frozen=True)
class _Change:
    at_s: float
    resolution_s: float
    before_ms: float
    after_ms: float
    of: Literal["mean", "worst"] = "mean"


def find_recovery(step: str, series: Series, recovered: Recovered, end_of_writing_ns: int) -> Finding:
    """Time from the end of writing to the last change of the probes' latency level, in either direction."""
    probes = int(series.timed.sum())
    waited_s = (series.origin_ns - end_of_writing_ns) / NS_PER_S
    change = _last_change(series, recovered)
    if change is None:
        text = (
            f"No lasting change of the latency level in step {step} within {format_duration(series.span_s * NS_PER_S)}"
            f" and {probes} probes: no backlog, one that is still there,"
            " or one whose end changes the latency too little to be told."
        )
        evidence: dict[str, float | int | str] = {"watched_s": waited_s + series.span_s, "probes": probes}
        return Finding(kind="recovery", step=step, value=None, unit="s", evidence=evidence, text=text)
    value = waited_s + change.at_s
    direction = "rose" if change.after_ms > change.before_ms else "fell"
    return Finding(
        kind="recovery",
        step=step,
        value=value,
        unit="s",
        low=max(0.0, value - change.resolution_s),
        high=value + change.resolution_s,
        evidence={
            "direction": direction,
            "latency": change.of,
            "before_ms": change.before_ms,
            "after_ms": change.after_ms,
            "level_ratio": change.after_ms / change.before_ms,
            "probes": probes,
            "watched_s": waited_s + series.span_s,
        },
        text=(
            f"The drive was itself again {format_duration(value * NS_PER_S)} after the last write: then the {change.of}"
            f" latency {direction} from {figure(change.before_ms)} ms to {figure(change.after_ms)} ms and stayed so."
        ),
    )


def _last_change(series: Series, recovered: Recovered) -> _Change | None:
    """The last of the changes that the watcher sees before its patience ends, so that both always agree."""
    watch = LatencyWatch(recovered.window_ns, recovered.factor)
    last = None
    for start_ns, duration_ns, probes, waited_s, worst_s in zip(
        np.rint(series.start_s * NS_PER_S).astype(np.int64).tolist(),
        np.rint(series.duration_s * NS_PER_S).astype(np.int64).tolist(),
        series.timed.tolist(),
        series.waited_s.tolist(),
        series.worst_s.tolist(),
        strict=True,
    ):
        last = watch.add(start_ns, probes, waited_s, worst_s) or last
        if start_ns + duration_ns >= recovered.patience_ns:
            break
    return _place(series, last, recovered.window_ns / NS_PER_S / WINDOW_BLOCKS) if last else None


def _place(series: Series, change: Change, block_s: float) -> _Change:
    """Fit the change to the probes around a block's edge; where none are near, the edge stands."""
    near_s = change.at_ns / NS_PER_S
    if change.of == "worst":
        before_ms = change.before_s * 1000
        return _Change(near_s, block_s, before_ms, before_ms * math.exp(change.log_ratio), change.of)
    after = _mean_s(series, near_s, series.span_s)
    before = _mean_s(series, near_s - WINDOW_BLOCKS * block_s, near_s)
    close = (series.start_s >= near_s - 2 * block_s) & (series.start_s < near_s + 2 * block_s)
    around = np.flatnonzero(close & (series.waited_s > 0))
    earlier = series.start_s[around] < near_s
    at_s = near_s
    if earlier.any() and not earlier.all():
        levels = np.log(series.waited_s[around] / series.timed[around])
        step = best_step(levels, float(levels[earlier].mean()), float(levels[~earlier].mean()))
        at_s = float(series.start_s[around[min(step, len(around) - 1)]])
    return _Change(at_s=at_s, resolution_s=block_s, before_ms=before * 1000, after_ms=after * 1000)


def _mean_s(series: Series, from_s: float, to_s: float) -> float:
    """The mean latency of the intervals that begin in a stretch of time, else of those that reach into it."""
    chosen = (series.start_s >= from_s) & (series.start_s < to_s)
    if not series.timed[chosen].any():
        chosen = (series.end_s > from_s) & (series.start_s < to_s)
    return float(series.waited_s[chosen].sum() / series.timed[chosen].sum())
