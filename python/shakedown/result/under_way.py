"""The step that was being played when a run was killed: its samples are there, and `run.json` has it not yet."""

from __future__ import annotations

from dataclasses import replace
from string import Template
from typing import Any

import polars as pl

from shakedown.result.folder import Run
from shakedown.result.run_record import RunRecord, StepRecord
from shakedown.toml import parse_toml


def with_step_under_way(run: Run) -> Run:
    """The run as Ctrl-C would have left it: with what was measured of the step, which was interrupted.

    Raises UsageError when its samples are damaged.
    """
    if run.record.status != "running":
        return run
    over = [step.name for step in run.record.steps]
    rows = run.samples.filter(~pl.col("step").is_in(over))
    if rows.is_empty():
        return run
    cut = _cut_off(run.record, rows)
    return replace(run, record=run.record.model_copy(update={"steps": (*run.record.steps, cut)}))


def _cut_off(record: RunRecord, rows: pl.DataFrame) -> StepRecord:
    name = str(rows["step"][-1])
    rows = rows.filter(pl.col("step") == name)
    told = _as_written(record, name)
    return StepRecord(
        name=name,
        title=str(told.get("title", name)),
        start_ns=int(rows.select(pl.col("start_ns").min()).item()),
        end_ns=int(rows.select((pl.col("start_ns") + pl.col("duration_ns")).max()).item()),
        interval_ns=int(rows.select(pl.col("duration_ns").max()).item()),
        ended_because="interrupted",
        job=Template(str(told.get("job", ""))).safe_substitute(record.parameters) or None,
    )


def _as_written(record: RunRecord, name: str) -> dict[str, Any]:
    """The step in the protocol's text; empty where it is not there."""
    steps: list[dict[str, Any]] = parse_toml(record.protocol.text).get("steps", [])
    return next((step for step in steps if step.get("name") == name), {})
