"""When a step collapsed, and after how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shakedown.analysis.condition import Cliff
from shakedown.analysis.finding import Finding
from shakedown.analysis.rate import Rate
from shakedown.analysis.series import Floats, Series
from shakedown.analysis.split import best_step, change_points
from shakedown.analysis.watch.cliff import (
    BURSTS_HOLDS,
    ESTABLISHED_BLOCKS,
    HISTORY_HOLDS,
    HOLD_BLOCKS,
    LOW_BLOCKS,
    SETTLING_BLOCKS,
    low_limit,
)
from shakedown.units import NS_PER_S, format_duration, format_size

_FLOOR: Final = 1e-3
"""A block without a completion counts as this share of the median rate, so that it has a logarithm."""

_SHORTFALL: Final = 0.25
"""The low stretch may fall so much short of ``hold``: the watcher counts whole blocks, and then ends the step."""

_UNWATCHED_HOLD_S: Final = 60.0
_UNWATCHED_SHARE: Final = 20


@dataclass(frozen=True)
class LocatedCliff:
    """When (seconds since the step began), at which interval's start, and the rates on either side."""

    at_s: float
    index: int
    before: Rate
    after: Rate


def cliff_of(condition: object, series: Series) -> Cliff:
    """What counts as a cliff in a step: what it was watched for, else half the rate for a minute or a 20th of it."""
    if isinstance(condition, Cliff):
        return condition
    hold_s = min(_UNWATCHED_HOLD_S, series.span_s / _UNWATCHED_SHARE)
    return Cliff(hold_ns=max(1, round(hold_s * NS_PER_S)))


def find_cliff(step: str, series: Series, cliff: Cliff) -> Finding:
    """The first cliff of a step, or that there was none."""
    located = locate_cliff(series, cliff)
    if located is None:
        return _no_cliff(step, series)
    until, since = slice(None, located.index), slice(located.index, None)
    bytes_before, requests_before = int(series.bytes[until].sum()), int(series.requests[until].sum())
    seconds_after = float(series.duration_s[since].sum())
    iops_before = _per_second(requests_before, located.at_s)
    iops_after = _per_second(float(series.requests[since].sum()), seconds_after)
    resolution_s = float(series.duration_s[located.index])
    worst_after_s = float(series.worst_s[since].max())
    text = (
        f"The rate collapsed {format_duration(located.at_s * NS_PER_S)} after step {step} began, after"
        f" {format_size(bytes_before)} in {requests_before:,} requests: from {located.before} to {located.after};"
        f" the longest request after that took {format_duration(worst_after_s * NS_PER_S)}."
    )
    return Finding(
        kind="cliff",
        step=step,
        value=located.at_s,
        unit="s",
        low=max(0.0, located.at_s - resolution_s),
        high=located.at_s + resolution_s,
        evidence={
            "bytes_before": bytes_before,
            "requests_before": requests_before,
            "rate_before": located.before.value,
            "rate_after": located.after.value,
            "rate_unit": located.before.unit,
            "rate_ratio": _per_second(located.after.value, located.before.value),
            "iops_before": iops_before,
            "iops_after": iops_after,
            "seconds_after": seconds_after,
            "worst_after_ms": worst_after_s * 1000,
        },
        text=text,
    )


def _no_cliff(step: str, series: Series) -> Finding:
    moved_bytes, requests = int(series.bytes.sum()), int(series.requests.sum())
    text = (
        f"No cliff in step {step} within {format_duration(series.span_s * NS_PER_S)},"
        f" {format_size(moved_bytes)} in {requests:,} requests."
    )
    evidence: dict[str, float | int | str] = {
        "watched_s": series.span_s,
        "bytes_total": moved_bytes,
        "requests_total": requests,
    }
    return Finding(kind="cliff", step=step, value=None, unit="s", evidence=evidence, text=text)


def _per_second(amount: float, seconds: float) -> float:
    return amount / seconds if seconds > 0 else 0.0


def locate_cliff(series: Series, cliff: Cliff) -> LocatedCliff | None:
    """Find the first change point after which the rate stays low for ``hold``, then place it among the intervals."""
    if not len(series):
        return None
    hold_s = cliff.hold_ns / NS_PER_S
    block_s = max(hold_s / HOLD_BLOCKS, float(np.median(series.duration_s)))
    rates = series.blocks(series.bytes, block_s) / block_s
    moving = rates[rates > 0]
    if not len(moving):
        return None
    logs = np.log(np.maximum(rates, _FLOOR * float(np.median(moving))))
    for point in change_points(logs):
        history = _history(rates, point, hold_s / block_s)
        if not len(history):
            continue
        limit = low_limit(np.sort(history).tolist(), cliff.drop)
        if limit > 0 and _stays_low(rates[point:], limit, hold_s / block_s):
            return _place(series, point * block_s, 2 * block_s, float(np.median(history)))
    return None


def _history(rates: Floats, point: int, hold_blocks: float) -> Floats:
    """The recent rates before a block; none when they are too few to call a rate established."""
    watched_blocks = hold_blocks / HOLD_BLOCKS
    first = max(round(SETTLING_BLOCKS * watched_blocks), point - round(HISTORY_HOLDS / 2 * hold_blocks))
    history = rates[first:point]
    enough = len(history) >= max(1.0, (1 - _SHORTFALL) * ESTABLISHED_BLOCKS * watched_blocks)
    return history if enough else history[:0]


def _stays_low(rates: Floats, limit: float, hold_blocks: float) -> bool:
    """Either nearly every block of a hold is low, or the mean of each hold is for longer."""
    held = rates[: max(1, round(hold_blocks))]
    if len(held) < (1 - _SHORTFALL) * hold_blocks or held[0] > limit or held.mean() > limit:
        return False
    if np.count_nonzero(held <= limit) >= LOW_BLOCKS / HOLD_BLOCKS * len(held):
        return True
    longer = rates[: round((BURSTS_HOLDS + 1 - _SHORTFALL) * hold_blocks)]
    means = np.convolve(longer, np.full(len(held), 1 / len(held)), mode="valid")
    return len(means) >= (BURSTS_HOLDS - 1) * hold_blocks and bool((means <= limit).all())


def _place(series: Series, near_s: float, reach_s: float, established: float) -> LocatedCliff:
    """Fit the step to the intervals around a block's edge; rates are the recent one before, the mean one after."""
    rates = np.divide(series.bytes, series.duration_s, out=np.zeros(len(series)), where=series.duration_s > 0)
    low = max(float(rates[series.start_s >= near_s].mean()), _FLOOR * established)
    around = np.flatnonzero((series.end_s > near_s - reach_s) & (series.start_s < near_s + reach_s))
    logs = np.log(np.clip(rates[around], low, established))
    step = best_step(logs, float(np.log(established)), float(np.log(low)))
    index = min(int(around[0]) + step, len(series) - 1)
    seconds_after = float(series.duration_s[index:].sum())
    return LocatedCliff(
        at_s=float(series.start_s[index]),
        index=index,
        before=Rate.of(established, 1.0, series.request_bytes),
        after=Rate.of(float(series.bytes[index:].sum()), seconds_after, series.request_bytes),
    )
