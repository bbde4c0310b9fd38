"""How much a step delivered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from shakedown.analysis.condition import Cliff
from shakedown.analysis.estimate import Estimate, quotient, ratio
from shakedown.analysis.find.cliff import UNTIL_END, LocatedCliff, cliff_of, locate_cliff, rate_until_end
from shakedown.analysis.finding import Evidence, Finding
from shakedown.analysis.rate import MIB, Rate, bytes_per_unit, figure, rate_unit
from shakedown.analysis.series import Series
from shakedown.units import NS_PER_S, format_duration


def find_throughput(step: str, series: Series, cliff: Cliff) -> Finding:
    """Mean rate over the whole step; where it collapsed within, the rates before and after as well."""
    unit = rate_unit(series.request_bytes)
    amount = series.bytes / (bytes_per_unit(series.request_bytes) or 1.0)
    estimate = quotient(amount, series.duration_s, series.duration_s)
    seconds = float(series.duration_s.sum())
    evidence: Evidence = {
        "bytes": int(series.bytes.sum()),
        "requests": int(series.requests.sum()),
        "request_bytes": series.request_bytes,
        "seconds": seconds,
        "stalled_s": float(series.duration_s[series.requests == 0].sum()),
    }
    if estimate is None or not estimate.value:
        text = f"Step {step} completed nothing in {format_duration(seconds * NS_PER_S)}."
        return Finding(kind="throughput", step=step, value=0.0, unit=unit, evidence=evidence, text=text)
    evidence |= {
        "iops": float(series.requests.sum()) / seconds,
        "mib_per_s": float(series.bytes.sum()) / seconds / MIB,
    }
    requests = float(evidence["iops"]) / estimate.value
    evidence |= {name: bound * requests for name, bound in estimate.named_spread("iops").items()}
    told = ""
    if located := locate_cliff(series, cliff):
        # Two levels have no mean that more of the same would come to, however evenly the batches scatter.
        estimate = replace(estimate, steady=False)
        evidence |= {"cliff_s": located.at_s, "rate_before": located.before.value, "rate_after": located.after.value}
        when = format_duration(located.at_s * NS_PER_S)
        told = f": {located.before} at first, {located.after} after it collapsed at {when}"
        if came_to := rate_until_end(series, located, cliff):
            evidence[UNTIL_END] = came_to.value
            told += f", but {came_to} from there to its end"
    text = f"Step {step} ran at {Rate(estimate.value, unit)}{estimate.interval_text()}{told}"
    return Finding.of(estimate, "throughput", step, unit, evidence, text + ".")


FELL_AFTER: Final = "fell_after_bytes"
"""In the evidence of a ratio: after how much, in this step or one before, the candidate's rate had collapsed."""


def find_throughput_ratio(
    step: str,
    candidate: Series,
    baseline: Series,
    condition: object,
    most_bytes: Sequence[int],
    fell_after_bytes: int | None = None,
) -> Finding:
    """Candidate over baseline in bytes per second: over the whole step, and over what follows a collapse, if any.

    ``most_bytes``: how much of the target the step goes to, and of the baseline's. What it writes over again tells
    nothing of a cache that holds all of it. ``fell_after_bytes``: that its rate had collapsed in a step before.
    """
    written = [
        min(int(series.bytes.sum()), most) for series, most in zip((candidate, baseline), most_bytes, strict=True)
    ]
    falls = [locate_cliff(series, cliff_of(condition, series)) for series in (candidate, baseline)]
    compared = _ratio(candidate, baseline)
    sustained = _ratio(_after(falls[0], candidate), _after(falls[1], baseline))
    if compared is None or sustained is None:
        text = f"Step {step} cannot be compared: one of the two runs completed nothing in it."
        return Finding(kind="throughput-ratio", step=step, value=None, unit="ratio", text=text)
    if any(falls):
        compared = replace(compared, steady=False)
    both = [
        Rate.of(float(series.bytes.sum()), float(series.duration_s.sum()), baseline.request_bytes)
        for series in (candidate, baseline)
    ]
    if fell_after_bytes is None and falls[0]:
        fell_after_bytes = int(candidate.bytes[: falls[0].index].sum())
    evidence: Evidence = {
        "candidate": both[0].value,
        "baseline": both[1].value,
        "rate_unit": both[1].unit,
        "candidate_bytes": written[0],
        "baseline_bytes": written[1],
        "slowdown": 1 / compared.value,
        "sustained_ratio": sustained.value,
        **sustained.named_spread("sustained_ratio"),
        **({} if fell_after_bytes is None else _fallen(fell_after_bytes, sustained)),
        **({} if compared.steady else compared.named_spread("value")),
    }
    text = (
        f"In step {step} the candidate delivered {figure(compared.value)} times the baseline's rate"
        f"{compared.interval_text()}: {both[0]} against {both[1]}."
    )
    return Finding.of(compared, "throughput-ratio", step, "ratio", evidence, text)


def _fallen(fell_after_bytes: int, sustained: Estimate) -> dict[str, float | int]:
    return {FELL_AFTER: fell_after_bytes, "fell_ratio": sustained.value, **sustained.named_spread("fell_ratio")}


def _ratio(candidate: Series, baseline: Series) -> Estimate | None:
    rates = [quotient(series.bytes, series.duration_s, series.duration_s) for series in (candidate, baseline)]
    return ratio(rates[0], rates[1]) if rates[0] and rates[1] else None


def _after(located: LocatedCliff | None, series: Series) -> Series:
    return series.since(located.index) if located else series
