"""One figure out of one run: pure functions of its samples and findings.

All figures are in base units: seconds, bytes, bytes per second, and counts. ``None`` where a run holds no such figure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import polars as pl

from shakedown.analysis.finding import Finding, FindingKind
from shakedown.result.folder import Run
from shakedown.units import NS_PER_S

UNITS: Final[dict[str, float]] = {
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "days": 86400.0,
    "MB/s": 1e6,
    "MiB/s": 2.0**20,
    "GiB written": 2.0**30,
    "IOPS": 1.0,
    "4KiB writes/min": 1 / 60,
    "writes": 1.0,
    "ratio": 1.0,
    "percent": 1.0,
}
"""A published unit in base units. Percent are a change: they become a ratio first."""


def _rows(run: Run, step: str) -> pl.DataFrame:
    return run.loads.rows(step)


def _seconds(rows: pl.DataFrame) -> float:
    """The rows' time. A mixed load has two rows of one interval, one for each direction: it counts once."""
    intervals = rows.select("start_ns", "duration_ns").unique()
    return float(intervals["duration_ns"].sum()) / NS_PER_S


def throughput(run: Run, step: str) -> float | None:
    """Bytes over the step's time."""
    rows = run.loads.under_load(step)
    return float(rows["bytes"].sum()) / _seconds(rows) if len(rows) else None


def throughput_by_place(run: Run, step: str) -> float | None:
    """Mean of the rates at places evenly over what is read or written: slow ones count no more for taking longer."""
    rows = run.loads.under_load(step)
    if not len(rows):
        return None
    weights = rows["bytes"].to_numpy()
    return float(np.average(weights / rows["duration_ns"].to_numpy() * NS_PER_S, weights=weights))


def rate(run: Run, step: str) -> float | None:
    """Requests over the step's time."""
    rows = run.loads.under_load(step)
    return float(rows["count"].sum()) / _seconds(rows) if len(rows) else None


def duration(run: Run, step: str) -> float | None:
    """How long the step took."""
    rows = run.loads.under_load(step)
    return _seconds(rows) if len(rows) else None


def mean_latency(run: Run, step: str) -> float | None:
    """Mean over all requests."""
    rows = _rows(run, step).filter(pl.col("count") > 0)
    total = float((rows["latency_mean_ns"] * rows["count"]).sum())
    return total / float(rows["count"].sum()) / NS_PER_S if len(rows) else None


def worst_latency(run: Run, step: str) -> float | None:
    """The longest request."""
    worst = _rows(run, step)["latency_max_ns"].max()
    return float(worst) / NS_PER_S if isinstance(worst, int) else None


def request_rate(run: Run, step: str) -> float | None:
    """Mean over single requests of bytes by own latency, which is what a plot with a point for each request shows.

    A row with several requests counts them with their mean latency: intervals must be short.
    """
    return _request_rate(_rows(run, step))


def _request_rate(rows: pl.DataFrame) -> float | None:
    rows = rows.filter(pl.col("count") > 0)
    speeds = rows["bytes"] / (rows["latency_mean_ns"] / NS_PER_S)
    return float(speeds.sum()) / float(rows["count"].sum()) if len(rows) else None


def _before_cliff(run: Run, step: str) -> pl.DataFrame:
    """The step's rows up to its cliff; none where no cliff was seen."""
    rows, cliff = _rows(run, step), _finding(run, "cliff", step)
    if cliff is None or cliff.value is None or not len(rows):
        return rows.clear()
    began_ns = rows["start_ns"][0]
    return rows.filter(pl.col("start_ns") + pl.col("duration_ns") <= began_ns + cliff.value * NS_PER_S)


def request_rate_before_cliff(run: Run, step: str) -> float | None:
    """``request_rate`` of what came before the step's cliff."""
    return _request_rate(_before_cliff(run, step))


def worst_before_cliff(run: Run, step: str) -> float | None:
    """The longest request before the step's cliff."""
    worst = _before_cliff(run, step)["latency_max_ns"].max()
    return float(worst) / NS_PER_S if isinstance(worst, int) else None


def _finding(run: Run, kind: FindingKind, step: str) -> Finding | None:
    found = (each for each in run.record.findings if (each.kind, each.step) == (kind, step))
    return next((each for each in found if each.value is not None), None)


def _evidence(kind: FindingKind, key: str) -> Callable[[Run, str], float | None]:
    def read(run: Run, step: str) -> float | None:
        finding = _finding(run, kind, step)
        return None if finding is None else float(finding.evidence[key])

    return read


def _value(kind: FindingKind) -> Callable[[Run, str], float | None]:
    def read(run: Run, step: str) -> float | None:
        finding = _finding(run, kind, step)
        return None if finding is None else finding.value

    return read


MEASURES: Final[dict[str, Callable[[Run, str], float | None]]] = {
    "throughput": throughput,
    "throughput-by-place": throughput_by_place,
    "rate": rate,
    "duration": duration,
    "mean-latency": mean_latency,
    "worst-latency": worst_latency,
    "request-rate": request_rate,
    "request-rate-before-cliff": request_rate_before_cliff,
    "worst-latency-before-cliff": worst_before_cliff,
    "cliff-time": _value("cliff"),
    "cliff-bytes": _evidence("cliff", "bytes_before"),
    "cliff-writes": _evidence("cliff", "requests_before"),
    "rate-before-cliff": _evidence("cliff", "iops_before"),
    "recovery-time": _value("recovery"),
    "recovery-ratio": _evidence("recovery", "level_ratio"),
}
"""Every measure by its name in ``reference/questions.toml``."""
