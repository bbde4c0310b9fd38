"""Samples to lines of bounded length that keep every extreme.

A picture is a grid of equal bins over a span of time. For every bin each line keeps the smallest and the largest value
that was measured in it, in the order in which they came. So whatever one sample did - a single second without a
completion in a day - stays at its height, at most one bin beside its place, whatever the width of the picture.
All lines of a picture share the grid, so that no times need to be stored and targets can be laid over each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shakedown.units import NS_PER_S

Quantity = Literal["mib", "iops", "mean", "p99", "max"]
Values = NDArray[np.float64]
Times = NDArray[np.int64]

ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
GAP: Final = 0
ZERO: Final = 1
LEAST: Final = 2
MOST: Final = len(ALPHABET) ** 2 - 1

WINDOW_COUNT: Final = 4
"""Completions a rate is taken over, on average, where intervals hold fewer."""


@dataclass(frozen=True)
class Grid:
    """``bins`` equal bins of ``bin_ns`` from ``start_ns`` on."""

    start_ns: int
    bin_ns: int
    bins: int

    @classmethod
    def over(cls, start_ns: int, end_ns: int, interval_ns: int, most_bins: int) -> Grid:
        """The finest grid over a span with at most ``most_bins`` bins; none is finer than the sample interval."""
        span_ns = max(end_ns - start_ns, 1)
        bin_ns = max(interval_ns, -(-span_ns // most_bins), 1)
        return cls(start_ns, bin_ns, -(-span_ns // bin_ns))


@dataclass(frozen=True)
class Track:
    """A quantity over time: what was measured from ``start_ns`` to ``end_ns``, directions together; NaN for none."""

    start_ns: Times
    end_ns: Times
    values: Values


def tracks(samples: pl.DataFrame) -> dict[Quantity, Track]:
    """All quantities of ``samples``, whose columns are those of ``SAMPLE_SCHEMA``.

    Rates of directions are added, the mean latency is weighted, p99 and max are the worse of them. An interval without
    completions has the rate 0 and no latency. Latencies are in ns.
    """
    intervals = (
        samples.filter(pl.col("duration_ns") > 0)
        .group_by("step", "start_ns")
        .agg(
            (pl.col("start_ns") + pl.col("duration_ns")).max().alias("end_ns"),
            pl.col("count", "bytes").sum(),
            # Of a rebuild's own progress no latency is known: that is not one of 0.
            pl.when(pl.col("latency_mean_ns").is_not_null().any())
            .then((pl.col("latency_mean_ns") * pl.col("count")).sum())
            .alias("latency_sum_ns"),
            pl.col("latency_p99_ns", "latency_max_ns").max(),
        )
        .sort("start_ns")
    )
    windows = _windows(intervals).with_columns(seconds=(pl.col("end_ns") - pl.col("start_ns")) / NS_PER_S)
    mean_ns = pl.when(pl.col("count") > 0).then(pl.col("latency_sum_ns") / pl.col("count"))
    return {
        "mib": _track(windows, pl.col("bytes") / 2**20 / pl.col("seconds")),
        "iops": _track(windows, pl.col("count") / pl.col("seconds")),
        "mean": _track(intervals, mean_ns),
        "p99": _track(intervals, pl.col("latency_p99_ns")),
        "max": _track(intervals, pl.col("latency_max_ns")),
    }


def _windows(intervals: pl.DataFrame) -> pl.DataFrame:
    """Intervals joined until they hold WINDOW_COUNT completions on average, step by step.

    Where a step completes plenty, which is nearly always, a window is an interval. Where one request in three seconds
    was asked for, a rate by the second would only flicker between 0 and 1. What a step's end cuts off joins the window
    before: the rate of one request in its last millisecond is chance.
    """
    per_window = (WINDOW_COUNT / pl.col("count").mean().clip(lower_bound=1e-3)).ceil().clip(lower_bound=1)
    joined = pl.when(pl.col("count").sum() > 0).then(per_window).otherwise(1.0).cast(pl.Int64)
    windows = _joined(intervals.with_columns(window=(pl.int_range(pl.len()) // joined).over("step")))
    span = pl.col("end_ns") - pl.col("start_ns")
    is_last = pl.col("window") == pl.col("window").max().over("step")
    is_cut = is_last & (span < span.median().over("step") / 2)
    return _joined(windows.with_columns(window=pl.col("window") - is_cut.cast(pl.Int64)))


def _joined(rows: pl.DataFrame) -> pl.DataFrame:
    return (
        rows.group_by("step", "window")
        .agg(pl.col("start_ns").min(), pl.col("end_ns").max(), pl.col("count", "bytes").sum())
        .sort("start_ns")
    )


def _track(rows: pl.DataFrame, quantity: pl.Expr) -> Track:
    values = rows.select(quantity.cast(pl.Float64).fill_null(float("nan"))).to_series()
    return Track(rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy(), values.to_numpy())


def envelope(grid: Grid, track: Track) -> Values:
    """Two values per bin, shape ``(bins, 2)``: the smallest and the largest, in the order of their times; NaN for gaps.

    A sample belongs to every bin whose middle it covers, or, if it covers none, to the bin of its own middle.
    """
    start, end = track.start_ns - grid.start_ns, track.end_ns - grid.start_ns
    known = ~np.isnan(track.values) & (end > 0) & (start < grid.bins * grid.bin_ns)
    start, end, values = start[known], end[known], track.values[known]
    half = grid.bin_ns // 2
    first, stop = -((half - start) // grid.bin_ns), -((half - end) // grid.bin_ns)
    outside = stop <= first
    first = np.where(outside, (start + end) // 2 // grid.bin_ns, first)
    length = np.where(outside, 1, stop - first)
    sample = np.repeat(np.arange(len(values)), length)
    bins = np.arange(len(sample)) - np.repeat(np.cumsum(length) - length - first, length)
    inside = (bins >= 0) & (bins < grid.bins)
    sample, bins = sample[inside], bins[inside]

    slots = np.full((grid.bins, 2), np.nan)
    if len(bins):
        order = np.lexsort((values[sample], bins))
        sample, bins = sample[order], bins[order]
        opens = np.flatnonzero(np.diff(bins, prepend=-1))
        closes = np.append(opens[1:], len(bins)) - 1
        early, late = np.sort((sample[opens], sample[closes]), axis=0)
        slots[bins[opens]] = np.stack((values[early], values[late]), axis=1)
    return slots


@dataclass(frozen=True)
class Line:
    """A line as text: two characters a value, on a logarithmic scale from ``low`` to ``high``.

    The first ``skip`` slots and all after the text are gaps. One step of the scale is the ``1 / 4093`` part of it: a
    third of a percent of the value over six decades, finer than a pixel.
    """

    low: float
    high: float
    skip: int
    text: str


def encode(slots: Values) -> Line:
    """A flat array of values at or above 0, NaN for gaps, to a Line."""
    positive = slots[slots > 0]
    low, high = (float(positive.min()), float(positive.max())) if len(positive) else (1.0, 1.0)
    scale = (MOST - LEAST) / np.log(high / low) if high > low else 0.0
    codes = np.full(len(slots), GAP)
    codes[slots == 0] = ZERO
    codes[slots > 0] = LEAST + np.rint(np.log(positive / low) * scale).astype(int)
    known = np.flatnonzero(codes != GAP)
    skip, stop = (int(known[0]), int(known[-1]) + 1) if len(known) else (0, 0)
    letters = np.frombuffer(ALPHABET.encode(), dtype=np.uint8)
    pairs = np.stack(np.divmod(codes[skip:stop], len(ALPHABET)), axis=1)
    return Line(low, high, skip, letters[pairs].tobytes().decode())


def decode(line: Line, length: int) -> Values:
    """What the page's script does with a Line: a flat array of ``length`` values."""
    digits = np.array([ALPHABET.index(letter) for letter in line.text], dtype=int).reshape(-1, 2)
    codes = digits[:, 0] * len(ALPHABET) + digits[:, 1]
    shown = line.low * (line.high / line.low) ** ((codes - LEAST) / (MOST - LEAST))
    shown[codes == GAP] = np.nan
    shown[codes == ZERO] = 0.0
    values = np.full(length, np.nan)
    values[line.skip : line.skip + len(shown)] = shown
    return values
