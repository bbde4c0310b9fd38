"""A run as a Prometheus textfile: base units, no timestamps, one group of lines a metric."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from shakedown.analysis.finding import Finding
from shakedown.result.folder import Run
from shakedown.units import NS_PER_S

HEAD: Final = "# HELP shakedown_run_info "

_BASE_UNITS: Final[dict[str, tuple[str, float]]] = {
    "MiB/s": ("bytes_per_second", 2**20),
    "IOPS": ("operations_per_second", 1),
    "ms": ("seconds", 1e-3),
    "s": ("seconds", 1),
    "ratio": ("", 1),
}


@dataclass
class _Metric:
    help: str
    lines: list[str] = field(default_factory=list)


def prometheus_text(run: Run) -> bytes:
    """Findings, verdict and what each step did. A finding without a value has no line."""
    metrics: dict[str, _Metric] = {}
    record = run.record
    own = {"protocol": record.protocol.name, "target": record.target.name}
    info = own | {"model": record.target.model, "arena": record.arena, "version": record.shakedown_version}
    _add(metrics, "run_info", "what was run on what", info, 1)
    _add(metrics, "run_complete", "1 if the run is complete", own, record.status == "complete")
    for use in record.verdict.uses if record.verdict else ():
        for status in ("pass", "fail", "inconclusive"):
            labels = own | {"use": use.use, "status": status}
            _add(metrics, "verdict", "1 for the status that the verdict on a use has", labels, use.status == status)
    for finding in record.findings:
        _add_finding(metrics, own, finding)
    for name, text, labels, value in _steps(run):
        _add(metrics, name, text, own | labels, value)
    blocks = (
        f"# HELP shakedown_{name} {metric.help}\n# TYPE shakedown_{name} gauge\n" + "".join(metric.lines)
        for name, metric in metrics.items()
    )
    return "".join(blocks).encode("utf-8", errors="replace")


def _add_finding(metrics: dict[str, _Metric], own: dict[str, str], finding: Finding) -> None:
    if finding.value is None or finding.unit not in _BASE_UNITS:
        return
    unit, factor = _BASE_UNITS[finding.unit]
    name = "_".join(part for part in ("finding", finding.kind.replace("-", "_"), unit) if part)
    labels = own | {"step": finding.step}
    _add(metrics, name, f"the finding {finding.kind}", labels, finding.value * factor)
    for bound, value in (("low", finding.low), ("high", finding.high)):
        if value is not None:
            text = f"the {bound} end of the interval of the finding {finding.kind}"
            _add(metrics, f"{name}_{bound}", text, labels, value * factor)


def _steps(run: Run) -> Iterator[tuple[str, str, dict[str, str], float]]:
    for step in run.record.steps:
        seconds = (step.end_ns - step.start_ns) / NS_PER_S
        yield "step_duration_seconds", "how long a step lasted", {"step": step.name}, seconds
    sums = run.samples.group_by("step", "direction", maintain_order=True).agg(
        pl.col("count").sum(), pl.col("bytes").sum(), pl.col("latency_max_ns").max()
    )
    for step, direction, count, transferred, latency_max_ns in sums.iter_rows():
        labels = {"step": step, "direction": direction}
        yield "step_requests", "requests completed in a step", labels, count
        yield "step_bytes", "bytes of these requests", labels, transferred
        if latency_max_ns is not None:
            yield "step_worst_latency_seconds", "the longest of their latencies", labels, latency_max_ns / NS_PER_S


def _add(metrics: dict[str, _Metric], name: str, text: str, labels: dict[str, str], value: float) -> None:
    shown = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
    line = f"shakedown_{name}{{{shown}}} {float(value)!r}\n"
    metrics.setdefault(name, _Metric(text)).lines.append(line)


def _escaped(label: str) -> str:
    """The three characters that the text format escapes."""
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
