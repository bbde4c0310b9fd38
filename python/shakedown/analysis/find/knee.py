"""The knee of a load that is raised slowly: from where on more outstanding requests buy waiting and hardly more work.

It is where the rate, drawn over the requests in flight, bends most: farthest above the straight line from its beginning
to the most that it reaches. Before it a request more buys more work than one does on average, behind it less.

Other choices do not suit drives. The crossing of the asymptotic bounds (requests in flight = latency when alone x the
most) comes too early: a drive is faster the more it has to choose from. Nine tenths of the most come too late where the
rate creeps up for ever: each drive of an array has but its share of the load to choose from, and chance leaves some
with little to do, so that the array gains with each doubling long after its users get mostly waiting.
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
"""What is left to gain from there on is less than a tenth: hardly more than waiting."""

LIGHTEST: Final = 1.25
"""Blocks with up to so many times the fewest requests in flight tell the latency when alone, those near the most how
many that is."""

RAISED: Final = 4
"""Between the least and the most in flight, for a bend to show."""

BENT: Final = 0.2
"""How far above that line, as a share of all that was gained, a knee stands at the least: a rate that grows with the
square root of the load, whose every step buys as much work as waiting, has none and stands there by as much."""


UNSURE: Final = 0.05
"""Of two places that stand as far above the line but for so much the earlier is the knee: which is higher is chance."""


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
    at = _bend(smooth, levels)
    if at is None:
        text = f"The rate of step {step} still grew at its end, at {figure(heaviest)} in flight: no knee."
        return Finding(kind="knee", step=step, value=None, unit="requests", evidence=evidence, text=text)
    knee, rate = float(levels[at]), float(smooth[at])
    text = (
        f"From {figure(knee)} requests in flight on, step {step} gains hardly more than waiting: {figure(most)} IOPS is"
        f" the most, and a request alone takes {format_duration(alone_s * NS_PER_S)}."
    )
    if rate < NEAR * most:
        text = (
            f"From {figure(knee)} requests in flight on, step {step} gains more waiting than work: its {figure(rate)} "
            f"IOPS rise to {figure(most)}, and a request, which takes {format_duration(alone_s * NS_PER_S)} alone and "
            f"{format_duration(knee / rate * NS_PER_S)} there, comes to wait "
            f"{format_duration(heaviest / float(smooth[-1]) * NS_PER_S)}."
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


def _bend(rates: Floats, levels: Floats) -> int | None:
    """Where the rate bends most on its way to the most; None if it hardly does. What gains nothing bends at once."""
    to = int(np.argmax(rates))
    if rates[0] >= NEAR * rates[to]:
        return 0
    gained = (rates[: to + 1] - rates[0]) / (rates[to] - rates[0])
    raised = (levels[: to + 1] - levels[0]) / (levels[-1] - levels[0])
    above = gained - raised
    most = float(above.max())
    return int(np.argmax(above >= most - UNSURE)) if most >= BENT else None
