"""How long a request took on average."""

from __future__ import annotations

from shakedown.analysis.estimate import Estimate, quotient, ratio
from shakedown.analysis.finding import Evidence, Finding
from shakedown.analysis.rate import figure
from shakedown.analysis.series import Series


def find_latency(step: str, series: Series) -> Finding:
    """Mean completion latency over all requests of a step."""
    estimate = _mean_ms(series)
    if estimate is None:
        text = f"Step {step} completed nothing, so there is no latency."
        return Finding(kind="latency", step=step, value=None, unit="ms", text=text)
    evidence: Evidence = {"requests": int(series.timed.sum()), "seconds": float(series.duration_s.sum())}
    text = f"A request of step {step} took {figure(estimate.value)} ms on average{estimate.interval_text()}."
    return Finding.of(estimate, "latency", step, "ms", evidence, text)


def find_latency_ratio(step: str, candidate: Series, baseline: Series) -> Finding:
    """Candidate over baseline."""
    means = _mean_ms(candidate), _mean_ms(baseline)
    compared = ratio(means[0], means[1]) if means[0] and means[1] else None
    if compared is None or means[0] is None or means[1] is None:
        text = f"Latencies of step {step} cannot be compared: one of the two runs completed nothing in it."
        return Finding(kind="latency-ratio", step=step, value=None, unit="ratio", text=text)
    evidence: Evidence = {
        "candidate_ms": means[0].value,
        "baseline_ms": means[1].value,
        **({} if compared.steady else compared.named_spread("value")),
    }
    text = (
        f"In step {step} a request took {figure(compared.value)} times as long as on the baseline"
        f"{compared.interval_text()}: {figure(means[0].value)} ms against {figure(means[1].value)} ms."
    )
    return Finding.of(compared, "latency-ratio", step, "ratio", evidence, text)


def _mean_ms(series: Series) -> Estimate | None:
    return quotient(series.waited_s * 1000, series.timed, series.duration_s)
