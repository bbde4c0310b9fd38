"""The findings of users: how many requests they got answered, and how long these took, beside a rebuild and alone."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Final

import polars as pl

from shakedown.analysis.finding import Evidence, Finding
from shakedown.array.interval import interval
from shakedown.array.ordered_rate import OrderedRate
from shakedown.array.rebuild import Rebuild
from shakedown.units import NS_PER_S, format_duration, format_size

LOAD: Final = "rebuild-load"
ALONE: Final = "load-alone"
_FRAMES: Final = {LOAD: ("during", "felt_during"), ALONE: ("alone", "felt_alone")}
_WHERE: Final = {LOAD: "beside the rebuild", ALONE: "on the healthy array"}
_AS_ORDERED: Final = 0.95
"""From this share of what a job orders on it has it: what is in flight at the end of a short one is not counted."""


def users_findings(rebuilds: Sequence[Rebuild], ordered: OrderedRate | None = None) -> list[Finding]:
    """Beside the rebuild (until it failed) and on the healthy array; ``ordered`` is the rate that their job orders."""
    found = []
    for step, (rows, felt) in _FRAMES.items():
        samples = [frame for each in rebuilds if (frame := getattr(each, rows)).height]
        frames = [frame for each in rebuilds if (frame := getattr(each, felt)).height]
        if samples and any(_seconds(frame) for frame in samples):
            found.append(_rate(step, [frame for frame in samples if _seconds(frame)], ordered))
        if frames:
            found += [_mean(step, frames), _worst(step, frames)]
    return found


def _rate(step: str, samples: Sequence[pl.DataFrame], ordered: OrderedRate | None) -> Finding:
    """Requests that were answered, of all directions together, as their latency is told."""
    mean, low, high = interval([_per_s(frame, "count") for frame in samples])
    told = f"{mean:.3g}"
    evidence: Evidence = {f"{way}_per_s": each for way, each in _by_direction(samples).items()}
    text = f"Users get {told} requests a second {_WHERE[step]}."
    if ordered is not None:
        counted = "count" if ordered.unit == "requests" else "bytes"
        got = fmean(_per_s(frame, counted) for frame in samples)
        is_less = got < _AS_ORDERED * ordered.per_s
        evidence |= {"ordered_per_s": ordered.per_s, "ordered_unit": ordered.unit, "less_than_ordered": int(is_less)}
        if is_less:
            much = f"{told} requests" if ordered.unit == "requests" else f"{told} requests, {format_size(got)},"
            text = f"Users get {much} a second {_WHERE[step]}, less than the {ordered.words} that their job orders."
    return Finding(
        kind="throughput", step=step, value=mean, unit="IOPS", low=low, high=high, evidence=evidence, text=text
    )


def _seconds(samples: pl.DataFrame) -> float:
    """For how long they were looked at: each direction has a row for each interval, also where nothing was answered."""
    lengths = samples.group_by("direction").agg(pl.col("duration_ns").sum())["duration_ns"].to_list()
    return max(map(int, lengths), default=0) / NS_PER_S


def _per_s(samples: pl.DataFrame, column: str) -> float:
    return int(samples[column].sum()) / _seconds(samples)


def _by_direction(samples: Sequence[pl.DataFrame]) -> dict[str, float]:
    ways = dict.fromkeys(str(way) for frame in samples for way in frame["direction"].to_list())
    return {
        way: fmean(int(frame.filter(direction=way)["count"].sum()) / _seconds(frame) for frame in samples)
        for way in ways
    }


def _mean(step: str, frames: Sequence[pl.DataFrame]) -> Finding:
    mean, low, high = interval([_mean_ms(frame) for frame in frames])
    p99_ms = _largest_ms(frames, "p99_ns")
    usual, rare = format_duration(mean * 1e6), format_duration(p99_ms * 1e6)
    text = f"A request takes {usual} on average, one of a hundred more than {rare}."
    evidence: Evidence = {"p99_ms": p99_ms, "requests": sum(int(f["count"].sum()) for f in frames)}
    return Finding(kind="latency", step=step, value=mean, unit="ms", low=low, high=high, evidence=evidence, text=text)


def _worst(step: str, frames: Sequence[pl.DataFrame]) -> Finding:
    worst_ms = _largest_ms(frames, "max_ns")
    text = f"The longest request takes {format_duration(worst_ms * 1e6)}."
    return Finding(kind="worst-latency", step=step, value=worst_ms, unit="ms", text=text)


def _mean_ms(felt: pl.DataFrame) -> float:
    total_ns = float((felt["mean_ns"] * felt["count"]).sum())
    return total_ns / int(felt["count"].sum()) / 1e6


def _largest_ms(frames: Sequence[pl.DataFrame], column: str) -> float:
    return max(float(value) for frame in frames for value in frame[column].to_list()) / 1e6
