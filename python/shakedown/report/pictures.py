"""What the pictures of a run show: a view of the whole run and one of each step, with lines, bands and marks.

In the view of the whole run both targets begin at zero; in the view of a step the step begins at zero for both, so
that the same load lies over itself even where one target was through with the steps before much sooner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from shakedown.report.played import are_beside, samples_of
from shakedown.report.series import Grid, Quantity, Values, encode, envelope, tracks
from shakedown.result.folder import Run
from shakedown.result.run_record import RunRecord, StepRecord
from shakedown.units import NS_PER_S, format_duration

MOST_BINS: Final = 2000
FEWEST_BINS: Final = 240
CHARACTERS: Final = 600_000
"""For all lines of a report together."""

_LARGE_REQUEST_BYTES: Final = 16 * 1024
_LATENCIES: Final[tuple[Quantity, ...]] = ("mean", "p99", "max")

Json = dict[str, Any]


@dataclass(frozen=True)
class _Span:
    """What a view shows of one target."""

    run: Run
    steps: tuple[StepRecord, ...]
    start_ns: int
    end_ns: int


def pictures(runs: list[Run]) -> list[Json]:
    """For each run the list of its views, ready for JSON; together at most about CHARACTERS long."""
    views = [_views(run) for run in runs]
    lines = sum(len(spans) * (len(_LATENCIES) + 2) for run_views in views for _, spans in run_views)
    most_bins = max(FEWEST_BINS, min(MOST_BINS, CHARACTERS // max(1, lines * 2 * 2)))
    return [
        {"virtual": run.record.is_modelled, "views": [_view(name, spans, most_bins) for name, spans in run_views]}
        for run, run_views in zip(runs, views, strict=True)
    ]


def _views(run: Run) -> list[tuple[str, list[_Span]]]:
    """The views with what they show of each target; none where nothing was measured."""
    if run.samples.is_empty():
        return []
    sides = [side for side in (run, run.baseline) if side]
    whole = [_Span(side, side.record.steps, 0, _end_ns(side.record)) for side in sides]
    views = [("whole run", whole)]
    loaded = [step for step in run.record.steps if step.job and step.end_ns > step.start_ns]
    for wanted in loaded if len(run.record.steps) > 1 else ():
        spans = [
            _Span(side, (step,), step.start_ns, step.end_ns)
            for side in sides
            for step in side.record.steps
            if step.name == wanted.name and step.end_ns > step.start_ns
        ]
        views.append((wanted.name, spans))
    return views


def _end_ns(record: RunRecord) -> int:
    return max((step.end_ns for step in record.steps), default=0)


def _view(name: str, spans: list[_Span], most_bins: int) -> Json:
    longest_ns = max(span.end_ns - span.start_ns for span in spans)
    interval_ns = min((step.interval_ns for span in spans for step in span.steps if step.job), default=NS_PER_S)
    shape = Grid.over(0, longest_ns, interval_ns, most_bins)
    rates = _rate_units(spans[0])
    drawn = [_draw(span, shape, rates) for span in spans]
    latencies = [name for name in _LATENCIES if any(np.isfinite(lines[name]).any() for lines in drawn)]
    slots = 1 if all(_flat(values) for lines in drawn for values in lines.values()) else 2
    return {
        "name": name,
        "rates": rates,
        "latencies": latencies,
        "slot_s": shape.bin_ns / slots / NS_PER_S,
        "slots": shape.bins * slots,
        "bin": format_duration(shape.bin_ns),
        "exact": slots == 1,
        "windows": any(_is_sparse(span) for span in spans),
        "span_s": longest_ns / NS_PER_S,
        "sides": [
            {
                "who": "candidate" if index == 0 else "baseline",
                "bands": _bands(span),
                "marks": _marks(span),
                "lines": {name: vars(encode(lines[name][:, :slots].ravel())) for name in (*rates, *latencies)},
            }
            for index, (span, lines) in enumerate(zip(spans, drawn, strict=True))
        ],
    }


def _rate_units(span: _Span) -> list[Quantity]:
    """MiB/s for large requests, IOPS for small ones; both where steps differ, the longer-lasting first."""
    by_size = _per_step(span).group_by("large").agg(pl.col("duration_ns").sum()).sort("duration_ns", descending=True)
    return ["mib" if large else "iops" for large in by_size["large"]] or ["iops"]


def _per_step(span: _Span) -> pl.DataFrame:
    """Of each step that completed any: how long, and whether its requests were large.

    Of a rebuild only what is written to the replacement: what users do meanwhile and after is of one unit.
    """
    is_rebuild = span.run.record.protocol.name == "rebuild"
    is_large = pl.col("bytes") >= pl.col("count") * _LARGE_REQUEST_BYTES
    return (
        _within(span)
        .group_by("step")
        .agg(pl.col("bytes").sum(), pl.col("count").sum(), pl.col("duration_ns").sum())
        .filter(pl.col("count") > 0)
        .with_columns(large=pl.col("step") == "rebuild" if is_rebuild else is_large)
    )


def _within(span: _Span) -> pl.DataFrame:
    return samples_of(span.run, span.steps)


def _draw(span: _Span, shape: Grid, rates: list[Quantity]) -> dict[Quantity, Values]:
    grid = Grid(span.start_ns, shape.bin_ns, shape.bins)
    samples = _within(span)
    measured = tracks(samples)
    if are_beside(span.steps):
        # A rebuild's MiB/s and its users' IOPS go on at once: each is drawn in its own unit alone.
        for quantity in rates:
            own = _per_step(span).filter(pl.col("large") == (quantity == "mib"))["step"].to_list()
            measured[quantity] = tracks(samples.filter(pl.col("step").is_in(own)))[quantity]
    wanted: tuple[Quantity, ...] = (*rates, *_LATENCIES)
    return {quantity: envelope(grid, measured[quantity]) for quantity in wanted}


def _is_sparse(span: _Span) -> bool:
    measured = tracks(_within(span))
    return len(measured["iops"].values) < len(measured["mean"].values)


def _flat(values: Values) -> bool:
    return bool(np.array_equal(values[:, 0], values[:, 1], equal_nan=True))


def _bands(span: _Span) -> list[Json]:
    """One for each step; steps that go on at once share one."""
    bands: list[Json] = []
    for band in (_band(step, span) for step in span.steps):
        if bands and band["from_s"] < bands[-1]["to_s"]:
            bands[-1] |= {"name": f"{bands[-1]['name']} + {band['name']}", "to_s": max(bands[-1]["to_s"], band["to_s"])}
        else:
            bands.append(band)
    return bands


def _band(step: StepRecord, span: _Span) -> Json:
    return {
        "name": step.name,
        "from_s": (step.start_ns - span.start_ns) / NS_PER_S,
        "to_s": (step.end_ns - span.start_ns) / NS_PER_S,
        "idle": step.job is None,
    }


def _marks(span: _Span) -> list[Json]:
    """The moments of collapse and recovery. A recovery is counted from the end of the last write before its step."""
    starts = {step.name: step.start_ns for step in span.steps}
    marks = []
    for finding in span.run.record.findings:
        if finding.value is None or finding.unit != "s" or finding.step not in starts:
            continue
        if finding.kind == "cliff":
            origin_ns, word = starts[finding.step], "cliff after"
        elif finding.kind == "recovery":
            origin_ns, word = _end_of_writing_ns(span.run, starts[finding.step]), "recovered after"
        else:
            continue
        at_ns = origin_ns + finding.value * NS_PER_S
        marks.append(
            {"at_s": (at_ns - span.start_ns) / NS_PER_S, "text": f"{word} {format_duration(finding.value * NS_PER_S)}"}
        )
    return marks


def _end_of_writing_ns(run: Run, before_ns: int) -> int:
    written = run.samples.filter(
        (pl.col("direction") == "write") & (pl.col("count") > 0) & (pl.col("start_ns") < before_ns)
    )
    end_ns = written.select((pl.col("start_ns") + pl.col("duration_ns")).max()).item()
    return before_ns if end_ns is None else min(int(end_ns), before_ns)
