"""The knee of a load that is raised slowly: from where on more outstanding requests buy waiting and hardly more work.

It is where the rate first comes near the most that it ever reaches. The crossing of the asymptotic bounds (requests in
flight = latency when alone x the most) would be another choice, but a drive is faster the more it has to choose from:
it gains long after the bounds have crossed.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from shakedown.analysis.finding import Finding
from shakedown.analysis.rate import figure
from shakedown.analysis.series import Floats, Series
from shakedown.units import NS_PER_S, format_duration

BLOCKS: Final = 64
NEAR: Final = 0.9
"""What is left to gain from there on is less than a tenth."""

LIGHTEST: Final = 1.25
"""Blocks with up to so many times the fewest requests in flight tell the latency when alone, those near the most how
many that is."""

RAISED: Final = 4
"""Between the least and the most in flight, for a bend to show."""

GROWING: Final = 1.05
"""If the last eighth of the step is faster by so much than all before, the most was not reached."""


def find_knee(step: str, series: Series) -> Finding:
    """Requests in flight at the knee, with the rate there and the latency of a target that is alone with a request."""
    rates, in_flight = _levels(series)
    if len(series) < BLOCKS // 2 or len(rates) < BLOCKS // 2:
        text = f"Step {step} is too short, or completed too little, to see a knee."
        return Finding(kind="knee", step=step, value=None, unit="requests", text=text)
    if in_flight.max() < RAISED * in_flight.min():
        text = f"The load of step {step} was not raised: a knee is not to be seen."
        return Finding(kind="knee", step=step, value=None, unit="requests", text=text)
    light = in_flight <= LIGHTEST * in_flight.min()
    alone_s = float(np.median(in_flight[light] / rates[light]))
    # The block in which a level ends has more than its share: the last requests are waited for, and none follow.
    heaviest = float(np.median(in_flight[in_flight * LIGHTEST >= in_flight.max()]))
    smooth = np.convolve(rates, np.full(BLOCKS // 16, 16 / BLOCKS), mode="valid")
    most = float(smooth.max())
    evidence: dict[str, float | int | str] = {
        "most_iops": most,
        "alone_ms": alone_s * 1000,
        "most_in_flight": heaviest,
    }
    window = len(rates) - len(smooth) + 1
    levels = np.convolve(in_flight, np.full(window, 1 / window), mode="valid")
    knee = float(levels[int(np.argmax(smooth >= NEAR * most))])
    if _still_grows(smooth):
        text = f"The rate of step {step} still grew at its end, at {figure(heaviest)} in flight: no knee."
        return Finding(kind="knee", step=step, value=None, unit="requests", evidence=evidence, text=text)
    text = (
        f"From {figure(knee)} requests in flight on, step {step} gains hardly more than waiting: {figure(most)} IOPS is"
        f" the most, and a request alone takes {format_duration(alone_s * NS_PER_S)}."
    )
    return Finding(kind="knee", step=step, value=knee, unit="requests", evidence=evidence, text=text)


def _levels(series: Series) -> tuple[Floats, Floats]:
    """Requests per second and in flight (their waiting per second, Little's law) of equal blocks that completed any."""
    block_s = series.span_s / BLOCKS
    if not len(series) or not block_s:
        return np.zeros(0), np.zeros(0)
    requests, waited = series.blocks(series.timed, block_s), series.blocks(series.waited_s, block_s)
    some = requests > 0
    return requests[some] / block_s, waited[some] / block_s


def _still_grows(smooth: Floats) -> bool:
    last = len(smooth) - len(smooth) // 8
    return float(smooth[last:].max()) > GROWING * float(smooth[:last].max())
