"""Findings of a run: one file a kind."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

import polars as pl

from shakedown.analysis.condition import Bytes, Cliff, Recovered, Steady, Time
from shakedown.analysis.find.cliff import GoingOn, cliff_of, find_cliff
from shakedown.analysis.find.knee import find_knee
from shakedown.analysis.find.latency import find_latency, find_latency_ratio
from shakedown.analysis.find.recovery import find_recovery
from shakedown.analysis.find.throughput import FELL_AFTER, find_throughput, find_throughput_ratio
from shakedown.analysis.find.worst import find_worst_latency, find_worst_latency_ratio
from shakedown.analysis.finding import Finding, FindingSpec
from shakedown.analysis.series import Loads, Series

__all__ = ["findings"]

_Conditions = Mapping[str, Cliff | Steady | Recovered | Bytes | Time]


def findings(
    specs: Iterable[FindingSpec],
    loads: Loads,
    baseline: Loads | None = None,
    conditions: _Conditions | None = None,
    places_bytes: tuple[Mapping[str, int], Mapping[str, int]] = ({}, {}),
) -> list[Finding]:
    """Compute what a protocol asks for, in its order, each followed by its ratio when there is a baseline.

    ``conditions`` are the conditions of the steps by name: a cliff and a recovery are sought with the figures with
    which the step was watched. ``places_bytes``: how much of the target, and of the baseline's, each step goes to.
    """
    found: list[Finding] = []
    for spec in specs:
        most_bytes = tuple(each.get(spec.step, sys.maxsize) for each in places_bytes)
        found.append(_find(spec, loads, conditions or {}, most_bytes[0]))
        if baseline is not None:
            found.extend(_compare(spec, (loads, baseline), most_bytes, conditions or {}, _fell_after_bytes(found)))
    return found


def _fell_after_bytes(found: Iterable[Finding]) -> int | None:
    """After how much the candidate's rate had collapsed in one of the steps so far."""
    return next((int(each.evidence[FELL_AFTER]) for each in found if FELL_AFTER in each.evidence), None)


def _find(spec: FindingSpec, loads: Loads, conditions: _Conditions, most_bytes: int) -> Finding:
    series = Series.of(loads, spec.step)
    condition = conditions.get(spec.step)
    if not len(series):
        return Finding(kind=spec.kind, step=spec.step, value=None, unit="", text=f"Step {spec.step} was not run.")
    loaded = series.loaded
    cliff = cliff_of(condition, loaded)
    match spec.kind:
        case "throughput":
            found = find_throughput(spec.step, loaded, cliff)
        case "latency":
            found = find_latency(spec.step, series)
        case "worst-latency":
            found = find_worst_latency(spec.step, series)
        case "cliff":
            going_on = GoingOn(spec.goes_on, Series.of(loads, spec.goes_on)) if spec.goes_on else None
            found = find_cliff(spec.step, series, cliff, going_on, most_bytes)
        case "knee":
            found = find_knee(spec.step, loaded)
        case "recovery":
            recovered = condition if isinstance(condition, Recovered) else Recovered()
            found = find_recovery(spec.step, loaded, recovered, _end_of_writing_ns(loads.samples, series))
    return found


def _end_of_writing_ns(samples: pl.DataFrame, series: Series) -> int:
    """When the last interval with a write before a step ended; the step's beginning if there was none."""
    end_ns = samples.filter(
        (pl.col("direction") == "write") & (pl.col("count") > 0) & (pl.col("start_ns") < series.origin_ns)
    ).select((pl.col("start_ns") + pl.col("duration_ns")).max())
    value = end_ns.item()
    return series.origin_ns if value is None else min(int(value), series.origin_ns)


def _compare(
    spec: FindingSpec,
    loads: tuple[Loads, Loads],
    most_bytes: tuple[int, ...],
    conditions: _Conditions,
    fell_after_bytes: int | None,
) -> list[Finding]:
    candidate, other = (Series.of(each, spec.step) for each in loads)
    match spec.kind:
        case "throughput":
            condition = conditions.get(spec.step)
            both = candidate.loaded, other.loaded
            return [find_throughput_ratio(spec.step, *both, condition, most_bytes, fell_after_bytes)]
        case "latency":
            return [find_latency_ratio(spec.step, candidate, other)]
        case "worst-latency":
            return [find_worst_latency_ratio(spec.step, candidate, other)]
        case _:
            return []
