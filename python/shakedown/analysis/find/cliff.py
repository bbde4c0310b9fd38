"""When a step collapsed, and after how much."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from shakedown.analysis.condition import Cliff
from shakedown.analysis.estimate import quotient
from shakedown.analysis.finding import Finding
from shakedown.analysis.rate import Rate, bytes_per_unit
from shakedown.analysis.series import Series
from shakedown.analysis.split import step_gains
from shakedown.analysis.watch.rate import EARLIEST_BLOCKS, HISTORY_HOLDS, HOLD_BLOCKS, Collapse, RateWatch
from shakedown.units import NS_PER_S, format_duration, format_size

_FLOOR: Final = 1e-3
"""A rate of nothing counts as this share of the established one, so that it has a logarithm."""

_UNWATCHED_HOLD_S: Final = 60.0
_UNWATCHED_SHARE: Final = 20

_REACH_BLOCKS: Final = 2
"""A collapse began so many blocks before or after the place that the detector names, at the most."""

LOADED_AFTER: Final = "loaded_after_s"
"""In the evidence: for how long a drive that had fallen was loaded on, the step that went on with it included."""

HELD_IOPS: Final = "held_iops"
"""In the evidence: the rate in the step that went on with the load; where it collapsed in that, the rate since."""

UNTIL_END: Final = "rate_until_end"
"""In the evidence: the rate from the fall to the end of the step, where that is no fall; in the unit of the others."""

_ENOUGH_STALLS: Final = 3
"""A rate over fewer of the longest requests tells where they happened to fall, rather than what is left."""


@dataclass(frozen=True)
class LocatedCliff:
    """When (seconds since the step began), at which interval's start, and the rates on either side."""

    at_s: float
    index: int
    before: Rate
    after: Rate
    iops_after: float


def cliff_of(condition: object, series: Series) -> Cliff:
    """What counts as a cliff in a step: what it was watched for, else half the rate for a minute or a 20th of it.

    A block is no shorter than the usual interval: a stall within one would look like a collapse.
    """
    if isinstance(condition, Cliff):
        return condition
    usual_s = float(np.median(series.duration_s)) if len(series) else 0.0
    hold_s = max(min(_UNWATCHED_HOLD_S, series.span_s / _UNWATCHED_SHARE), HOLD_BLOCKS * usual_s)
    return Cliff(hold_ns=max(1, round(hold_s * NS_PER_S)))


@dataclass(frozen=True)
class GoingOn:
    """The step that goes on with the load of another, and what it measured."""

    step: str
    series: Series


def find_cliff(
    step: str, series: Series, cliff: Cliff, going_on: GoingOn | None = None, most_bytes: int = sys.maxsize
) -> Finding:
    """The first cliff of a step, or that there was none; and a fall before a rate was established, which may be one.

    A fall that did not last while the load went on is none: the step's own end comes too soon to tell. ``most_bytes``:
    how much of the target the step goes to. What it writes over again tells nothing of a cache that holds all of it.
    """
    loaded = series.loaded
    located = locate_cliff(loaded, cliff)
    early = _early_fall(loaded, cliff, located)
    if located is None:
        found = _no_cliff(step, loaded, early)
    elif going_on and len(going_on.series) and (passed := _passed(step, series, cliff, located, going_on)):
        located, found = None, passed
    else:
        found = _cliff(step, series, located, going_on)
        if going_on is None and (came_to := rate_until_end(loaded, located, cliff)):
            told = f"{found.text} It did not stay so: until the step ended it came to {came_to}."
            found = _with(found, {UNTIL_END: came_to.value}, told)
    found = _with_hold(found, going_on, cliff, fell=located is not None)
    if "bytes_total" in found.evidence:
        found = _with(found, {"bytes_total": min(int(found.evidence["bytes_total"]), most_bytes)})
    if early is None:
        return found
    evidence: dict[str, float | int | str] = {
        "early_fall_s": early.at_s,
        "early_fall_bytes": early.bytes_before,
        "early_fall_iops": early.iops_after,
    }
    told = (
        f"The rate fell from {early.before} to {early.after} within the first"
        f" {format_duration(max(early.at_s, 0.1) * NS_PER_S)} of step {step}, before a rate could be established:"
        f" either a burst into the drive's DRAM cache, or a cliff too early to be seen, since one has to"
        f" last for {format_duration(cliff.hold_ns)} (`confirm` in the protocol `cliff`)."
    )
    advice = ""
    if shorter := _shorter(early.at_s, float(np.median(loaded.duration_s)), cliff):
        evidence["shorter"] = shorter
        advice = f" In the protocol `cliff`, `{shorter}` looks closer."
    is_deeper = located is None or early.ratio < _per_second(located.after.value, located.before.value)
    sentences = (told, found.text) if is_deeper else (found.text, told)
    return _with(found, evidence, " ".join(sentences) + advice)


def _with(found: Finding, evidence: Mapping[str, float | int | str], text: str | None = None) -> Finding:
    told = found.text if text is None else text
    return found.model_copy(update={"evidence": {**found.evidence, **evidence}, "text": told})


def _with_hold(found: Finding, going_on: GoingOn | None, cliff: Cliff, *, fell: bool) -> Finding:
    """The rate while the load went on, and how far it may be off; nothing where it did not.

    Where it collapsed then, again if it ``fell`` before, the rate is what is left, and not a mean of both.
    """
    if going_on is None or not len(held := going_on.series.loaded):
        return found
    evidence: dict[str, float | int | str] = {}
    text = found.text
    if located := locate_cliff(held, cliff):
        before = slice(None, located.index)
        requests = int(held.requests[before].sum())
        evidence = {
            "fell_later_s": located.at_s,
            "fell_later_requests": requests,
            "fell_later_bytes": int(held.bytes[before].sum()),
        }
        text += (
            f" It fell{' again' * fell} {format_duration(located.at_s * NS_PER_S)} after step {going_on.step}, with the"
            f" same load, began, after {requests:,} requests more: from {located.before} to {located.after}."
        )
        held = held.since(located.index)
    iops = _per_second(float(held.requests.sum()), float(held.duration_s.sum()))
    return _with(found, evidence | {HELD_IOPS: iops, **_spread(HELD_IOPS, iops, held)}, text)


@dataclass(frozen=True)
class _Left:
    """What a cliff leaves of the rate, over how long, and what there is to say of that."""

    rate: Rate
    iops: float
    seconds: float
    spread: dict[str, float]
    over: str = ""
    doubt: str = ""


def _left(series: Series, located: LocatedCliff, going_on: GoingOn | None) -> _Left:
    """Over what the step itself saw; with the step that went on where that is too short for some stalls."""
    fallen = series.loaded.since(located.index)
    seconds = float(fallen.duration_s.sum())
    own = _Left(located.after, located.iops_after, seconds, _spread("iops_after", located.iops_after, fallen))
    parts = [series.since(located.index), *([going_on.series] if going_on else [])]
    longest_s = max(float(part.worst_s.max(initial=0.0)) for part in parts)
    if seconds >= _ENOUGH_STALLS * longest_s:
        return own
    if going_on is None or not len(later := going_on.series.loaded):
        span, longest = (format_duration(each * NS_PER_S) for each in (seconds, longest_s))
        return replace(own, doubt=f" What is left is not known from {span}: a single request took {longest}.")
    seconds += float(later.duration_s.sum())
    rate = Rate.of(float(fallen.bytes.sum() + later.bytes.sum()), seconds, series.request_bytes)
    iops = _per_second(float(fallen.requests.sum() + later.requests.sum()), seconds)
    spread = _spread("iops_after", iops, fallen, later)
    return _Left(
        rate, iops, seconds, spread, f" over {format_duration(seconds * NS_PER_S)}, step {going_on.step} included"
    )


def _spread(name: str, iops: float, *parts: Series) -> dict[str, float]:
    """How far the rate over ``parts`` may be off by its scatter, stalls included; empty where that is not known."""
    moved, duration_s = (np.concatenate([getattr(part, each) for part in parts]) for each in ("bytes", "duration_s"))
    found = quotient(moved, duration_s, duration_s)
    if found is None or not found.value:
        return {}
    return {end: iops * bound / found.value for end, bound in found.named_spread(name).items()}


def _cliff(step: str, series: Series, located: LocatedCliff, going_on: GoingOn | None) -> Finding:
    loaded, left = series.loaded, _left(series, located, going_on)
    until, since = slice(None, located.index), slice(located.index, None)
    bytes_before, requests_before = int(loaded.bytes[until].sum()), int(loaded.requests[until].sum())
    resolution_s = float(loaded.duration_s[located.index])
    worst_after_s = float(series.worst_s[since].max())
    longest = format_duration(worst_after_s * NS_PER_S)
    text = (
        f"The rate collapsed {format_duration(located.at_s * NS_PER_S)} after step {step} began, after"
        f" {format_size(bytes_before)} in {requests_before:,} requests: from {located.before} to"
        f" {left.rate}{left.over}; the longest request after that took {longest}.{left.doubt}"
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
            "rate_after": left.rate.value,
            "rate_unit": located.before.unit,
            "rate_ratio": _per_second(left.rate.value, located.before.value),
            "iops_before": _per_second(requests_before, located.at_s),
            "iops_after": left.iops,
            **left.spread,
            "seconds_after": left.seconds,
            LOADED_AFTER: _loaded_after_s(series, located, going_on),
            "worst_after_ms": worst_after_s * 1000,
        },
        text=text,
    )


def rate_until_end(loaded: Series, located: LocatedCliff, cliff: Cliff) -> Rate | None:
    """The rate of all that came behind a fall, where it rises and falls several times; None where that is low, too."""
    later = loaded.since(located.index)
    rate = Rate.of(float(later.bytes.sum()), float(later.duration_s.sum()), loaded.request_bytes)
    return rate if rate.value > cliff.drop * located.before.value else None


def _loaded_after_s(series: Series, located: LocatedCliff, going_on: GoingOn | None) -> float:
    own_s = float(series.loaded.since(located.index).duration_s.sum())
    return own_s + (float(going_on.series.loaded.duration_s.sum()) if going_on else 0.0)


def _passed(step: str, series: Series, cliff: Cliff, located: LocatedCliff, going_on: GoingOn) -> Finding | None:
    """What there is to tell of a fall that did not last, as the step that went on with the load shows; else None."""
    fallen, later = series.loaded.since(located.index), going_on.series.loaded
    parts = (series.loaded, later)
    seconds = float(fallen.duration_s.sum() + later.duration_s.sum())
    came_to = Rate.of(float(fallen.bytes.sum() + later.bytes.sum()), seconds, series.request_bytes)
    if came_to.value <= cliff.drop * located.before.value:
        return None
    longest_s = max(float(each.worst_s.max(initial=0.0)) for each in (series.since(located.index), going_on.series))
    advice = ""
    if longest_s * NS_PER_S >= cliff.hold_ns:
        hold, longest = format_duration(cliff.hold_ns), format_duration(longest_s * NS_PER_S)
        advice = (
            f" A single request lasted {longest}: the {hold} for which a cliff has to last (`confirm` in the protocol"
            " `cliff`) are too short to tell one from it."
        )
    text = (
        f"The rate fell from {located.before} to {located.after} {format_duration(located.at_s * NS_PER_S)} after step"
        f" {step} began, but not for good: over {format_duration(seconds * NS_PER_S)}, step {going_on.step} with the"
        f" same load included, it came to {came_to}.{advice}"
    )
    evidence: dict[str, float | int | str] = {
        "watched_s": sum(each.span_s for each in parts),
        "bytes_total": sum(int(each.bytes.sum()) for each in parts),
        "requests_total": sum(int(each.requests.sum()) for each in parts),
        "iops_after": _per_second(float(fallen.requests.sum() + later.requests.sum()), seconds),
        "passing_fall_s": located.at_s,
        "passing_fall_iops": located.iops_after,
        LOADED_AFTER: seconds,
    }
    return Finding(kind="cliff", step=step, value=None, unit="s", evidence=evidence, text=text)


def _no_cliff(step: str, loaded: Series, early: _EarlyFall | None) -> Finding:
    moved_bytes, requests = int(loaded.bytes.sum()), int(loaded.requests.sum())
    second_half = loaded.start_s >= loaded.span_s / 2
    evidence: dict[str, float | int | str] = {
        "watched_s": loaded.span_s,
        "bytes_total": moved_bytes,
        "requests_total": requests,
        "iops_after": _per_second(
            float(loaded.requests[second_half].sum()), float(loaded.duration_s[second_half].sum())
        ),
    }
    watched = f"within {format_duration(loaded.span_s * NS_PER_S)}, {format_size(moved_bytes)} in {requests:,} requests"
    text = f"No later one {watched}." if early else f"No cliff in step {step} {watched}."
    return Finding(kind="cliff", step=step, value=None, unit="s", evidence=evidence, text=text)


def _shorter(fall_s: float, interval_s: float, cliff: Cliff) -> str:
    """The settings of the protocol `cliff` with which a fall this early would be seen; empty if it was run so."""
    confirm_s = max(1, int(fall_s / 2))
    closer = "" if confirm_s >= HOLD_BLOCKS * interval_s else f" --set interval={max(100, confirm_s * 50)}ms"
    is_set = confirm_s * NS_PER_S >= cliff.hold_ns and not closer
    return "" if is_set else f"--set confirm={confirm_s}s{closer}"


def _per_second(amount: float, seconds: float) -> float:
    return amount / seconds if seconds > 0 else 0.0


def locate_cliff(series: Series, cliff: Cliff) -> LocatedCliff | None:
    """The first collapse that a watcher of the step sees, so that both always agree, placed among the intervals."""
    watch = RateWatch(cliff)
    intervals = zip(
        np.rint(series.start_s * NS_PER_S).astype(np.int64).tolist(),
        np.rint(series.duration_s * NS_PER_S).astype(np.int64).tolist(),
        series.bytes.tolist(),
        strict=True,
    )
    for interval in intervals:
        if collapse := watch.add(*interval):
            return _place(series, collapse, cliff)
    return None


def _place(series: Series, collapse: Collapse, cliff: Cliff) -> LocatedCliff:
    """The interval near the detector's block at which a step fits best *and* after which the rate is low.

    Where none is (an interval may be longer than a block), the detector's own place and rate stand.
    """
    near_s, certain_s = collapse.began_ns / NS_PER_S, collapse.certain_ns / NS_PER_S
    reach_s = _REACH_BLOCKS * cliff.hold_ns / HOLD_BLOCKS / NS_PER_S
    low = max(collapse.after, _FLOOR * collapse.before)
    around = np.flatnonzero((series.end_s > near_s - reach_s) & (series.start_s < near_s + reach_s))
    logs = np.log(np.clip(series.bytes_per_s[around], low, collapse.before))
    gains = step_gains(logs, float(np.log(collapse.before)), float(np.log(low)))[:-1]
    for index in (int(around[best]) for best in np.argsort(-gains, kind="stable")):
        held = (series.start_s >= series.start_s[index]) & (series.start_s < certain_s)
        for since in (slice(index, None), held):
            after = _per_second(float(series.bytes[since].sum()), float(series.duration_s[since].sum()))
            if index and held.any() and after <= cliff.drop * collapse.before:
                return _located(series, index, collapse.before, after)
    index = max(1, int(np.searchsorted(series.start_s, near_s, side="right")) - 1)
    return _located(series, min(index, len(series) - 1), collapse.before, collapse.after)


def _located(series: Series, index: int, before: float, after: float) -> LocatedCliff:
    return LocatedCliff(
        at_s=float(series.start_s[index]),
        index=index,
        before=Rate.of(before, 1.0, series.request_bytes),
        after=Rate.of(after, 1.0, series.request_bytes),
        iops_after=_per_second(after, series.request_bytes),
    )


@dataclass(frozen=True)
class _EarlyFall:
    at_s: float
    bytes_before: int
    before: Rate
    after: Rate
    iops_after: float
    ratio: float


def _early_fall(series: Series, cliff: Cliff, located: LocatedCliff | None) -> _EarlyFall | None:
    """A fall before a rate could be established: a burst into the DRAM cache, or a collapse that came too soon.

    What it fell to is the rate after it, up to a later collapse.
    """
    block_s = cliff.hold_ns / HOLD_BLOCKS / NS_PER_S
    rates = series.blocks(series.bytes, block_s) / block_s
    stop = HISTORY_HOLDS * HOLD_BLOCKS
    if located is not None:
        stop = min(stop, int(located.at_s / block_s))
    first, later = rates[:EARLIEST_BLOCKS], rates[EARLIEST_BLOCKS:stop]
    if len(later) >= HOLD_BLOCKS:
        after = float(later.mean())
    elif located is not None:
        after = located.before.value * bytes_per_unit(series.request_bytes)
    else:
        return None
    before = float(first.max(initial=0.0))
    if not before or after > cliff.drop * before:
        return None
    low = max(after, _FLOOR * before)
    around = np.flatnonzero(series.start_s < (EARLIEST_BLOCKS + 1) * block_s)
    logs = np.log(np.clip(series.bytes_per_s[around], low, before))
    index = min(int(np.argmax(step_gains(logs, float(np.log(before)), float(np.log(low))))), len(series) - 1)
    at_s = float(series.start_s[index])
    bytes_before = int(series.bytes[:index].sum())
    top = _per_second(bytes_before, at_s) or before
    return _EarlyFall(
        at_s=at_s,
        bytes_before=bytes_before,
        before=Rate.of(top, 1.0, series.request_bytes),
        after=Rate.of(after, 1.0, series.request_bytes),
        iops_after=_per_second(after, series.request_bytes),
        ratio=after / top,
    )
