"""Intervals over seeds that are so wide that their middle says little: a caution, and how many seeds narrow them."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, log, sqrt
from typing import Final

from shakedown.analysis.estimate import student
from shakedown.analysis.finding import Finding, FindingKind
from shakedown.array.felt import ALONE, LOAD
from shakedown.array.find import REBUILD
from shakedown.array.interval import TWO_SIDED, sampled_off
from shakedown.array.rebuild import Rebuild

_WIDE: Final = 2.0
_MOST_SEEDS: Final = 100
_MOST_SPAN: Final = 1000
_NAMES: Final[dict[tuple[FindingKind, str], str]] = {
    ("rebuild-time", REBUILD): "the time to rebuild",
    ("throughput", LOAD): "what users get",
    ("latency", LOAD): "users' mean latency",
    ("throughput", ALONE): "what they get alone",
    ("latency", ALONE): "their mean latency alone",
}
"""Of which it is told. The speed at which a drive is filled is as wide as the time."""


def wide(found: Sequence[Finding], rebuilds: Sequence[Rebuild], theirs: Sequence[Finding] = ()) -> tuple[str, ...]:
    """A caution, if an interval of these spans more than a factor of two, or that of the baseline's time does."""
    spans = [(_NAMES[each.kind, each.step], _span(each)) for each in found if (each.kind, each.step) in _NAMES]
    spans += [("the baseline's time", _span(each)) for each in theirs if each.kind == "rebuild-time"]
    told = [(name, span) for name, span in spans if span > _WIDE]
    if not told:
        return ()
    listed = ", ".join(f"{_figure(span)} of {name}" for name, span in told)
    return (
        f"CAUTION: the seeds differ much. The interval spans a factor of {listed}: do not use the figure in its middle "
        f"alone. {_narrowed_by(max(span for _, span in told), rebuilds)}",
    )


def _span(found: Finding) -> float:
    return found.high / found.low if found.low and found.high else 1.0


def _figure(span: float) -> str:
    if span > _MOST_SPAN:
        return f"more than {_MOST_SPAN}"
    return f"{span:.2g}" if span < 99.5 else f"{span:.0f}"


def _narrowed_by(span: float, rebuilds: Sequence[Rebuild]) -> str:
    """How many seeds make it a factor of two, if they differ as these do; how far a sample is off stays."""
    off = TWO_SIDED * sampled_off(rebuilds)
    seeds = len(rebuilds)
    of_seeds = sqrt(max((log(span) / 2) ** 2 - off**2, 0.0))
    deviation = of_seeds * sqrt(seeds) / student(seeds - 1) if seeds > 1 else of_seeds
    for many in range(max(seeds + 1, 3), _MOST_SEEDS + 1):
        if hypot(student(many - 1) * deviation / sqrt(many), off) <= log(_WIDE) / 2:
            return f"If others differ as these do, `--seeds {many}` narrows it to a factor of two."
    return f"If others differ as these do, even `--seeds {_MOST_SEEDS}` does not narrow it to a factor of two."
