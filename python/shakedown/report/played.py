"""What was measured in steps of a run, as it is drawn: over the whole time that it stands for."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

import polars as pl

from shakedown.result.folder import Run
from shakedown.result.run_record import StepRecord

_SAMPLED: Final = ("rebuild", "rebuild-load")
"""Protocol and step of which stretches may have been measured that stand for all up to the next."""

_PROGRESS: Final = ("rebuild", "rebuild")
"""Protocol and step whose samples are what was filled, a mebibyte for a request."""


def rate_unit(run: Run, step: StepRecord) -> str:
    """What the completions per second of a step's samples are."""
    return "MiB/s" if (run.record.protocol.name, step.name) == _PROGRESS else "IOPS"


def samples_of(run: Run, steps: Iterable[StepRecord]) -> pl.DataFrame:
    """With the columns of ``SAMPLE_SCHEMA``, in order of time step by step."""
    parts = [run.samples.clear()]
    for step in steps:
        rows = run.samples.filter(pl.col("step") == step.name)
        is_sampled = (run.record.protocol.name, step.name) == _SAMPLED
        parts.append(_drawn_out(rows, step.end_ns) if is_sampled else rows)
    return pl.concat(parts)


def are_beside(steps: Iterable[StepRecord]) -> bool:
    """Whether one of them goes on while another does."""
    inside = sorted((step.start_ns, step.end_ns) for step in steps if step.end_ns > step.start_ns)
    return any(later[0] < sooner[1] for sooner, later in pairwise(inside))


def _drawn_out(rows: pl.DataFrame, end_ns: int) -> pl.DataFrame:
    """Each stretch up to the next, the last up to ``end_ns``: rates and latencies stay, time and amounts grow."""
    end = pl.col("start_ns") + pl.col("duration_ns")
    rows = rows.sort("start_ns", maintain_order=True).with_columns(
        stretch=(pl.col("start_ns") > end.cum_max().shift(1)).fill_null(value=False).cum_sum()
    )
    stretches = rows.group_by("stretch").agg(begin=pl.col("start_ns").min(), end=end.max()).sort("begin")
    until = pl.max_horizontal(pl.col("begin").shift(-1, fill_value=end_ns), "end")
    times = (until - pl.col("begin")) / (pl.col("end") - pl.col("begin")).clip(1)
    rows = rows.join(stretches.select("stretch", "begin", times=times), on="stretch", maintain_order="left")
    grown = [(pl.col(name) * pl.col("times")).round().cast(pl.Int64) for name in ("duration_ns", "count", "bytes")]
    moved = pl.col("begin") + ((pl.col("start_ns") - pl.col("begin")) * pl.col("times")).round().cast(pl.Int64)
    return rows.with_columns(moved.alias("start_ns"), *grown).drop("stretch", "begin", "times")
