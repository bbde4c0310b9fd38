"""The longest request: one event, so it has no confidence interval."""

from __future__ import annotations

import numpy as np

from shakedown.analysis.finding import Finding
from shakedown.analysis.rate import figure
from shakedown.analysis.series import Series
from shakedown.units import NS_PER_S, format_duration


def find_worst_latency(step: str, series: Series) -> Finding:
    """The longest completion latency of a step and the row that it ended in."""
    if not series.timed.any():
        text = f"Step {step} completed nothing, so there is no latency."
        return Finding(kind="worst-latency", step=step, value=None, unit="ms", text=text)
    index = int(np.argmax(series.worst_s))
    worst_s, at_s = float(series.worst_s[index]), float(series.start_s[index])
    until = format_duration((at_s + float(series.duration_s[index])) * NS_PER_S)
    ended = f"{format_duration(at_s * NS_PER_S)} to {until} after the step began" if at_s else f"in the first {until}"
    return Finding(
        kind="worst-latency",
        step=step,
        value=worst_s * 1000,
        unit="ms",
        evidence={"at_s": at_s, "requests": int(series.timed.sum())},
        text=f"The longest request of step {step} took {format_duration(worst_s * NS_PER_S)} and ended {ended}.",
    )


def find_worst_latency_ratio(step: str, candidate: Series, baseline: Series) -> Finding:
    """Candidate over baseline."""
    worst_ms = [float(series.worst_s.max(initial=0.0)) * 1000 for series in (candidate, baseline)]
    if min(worst_ms) <= 0:
        text = f"Worst latencies of step {step} cannot be compared: one of the two runs completed nothing in it."
        return Finding(kind="worst-latency-ratio", step=step, value=None, unit="ratio", text=text)
    value = worst_ms[0] / worst_ms[1]
    return Finding(
        kind="worst-latency-ratio",
        step=step,
        value=value,
        unit="ratio",
        evidence={"candidate_ms": worst_ms[0], "baseline_ms": worst_ms[1]},
        text=(
            f"The longest request of step {step} took {figure(value)} times as long as the baseline's:"
            f" {format_duration(worst_ms[0] * 1e6)} against {format_duration(worst_ms[1] * 1e6)}."
        ),
    )
