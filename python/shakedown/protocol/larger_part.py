"""Of a cliff that came too soon on a part of a drive: on which larger part it comes late enough to be seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from shakedown.analysis.condition import Cliff
from shakedown.analysis.finding import Finding
from shakedown.units import NS_PER_S

_LATE_ENOUGH: Final = 1.5
"""So many times as long as it has to last: before that no rate is established from which it could fall."""

_ROUND: Final = tuple(digit * 10**power for power in range(9, -1, -1) for digit in (5, 2, 1))


def told_of_larger_part(found: Sequence[Finding], hold_ns: Mapping[str, int], scale_divisor: int) -> list[Finding]:
    """The findings, those of an early fall with the scale at which to look; ``hold_ns`` has a cliff's by its step.

    A cache that is so many times smaller is full so many times sooner. Nothing is told of whole drives.
    """
    return [_told(each, hold_ns.get(each.step, 0), scale_divisor) for each in found]


def hold_of(conditions: Mapping[str, object]) -> dict[str, int]:
    """For how long a cliff has to last in each step that is watched for one."""
    return {step: each.hold_ns for step, each in conditions.items() if isinstance(each, Cliff)}


def _told(found: Finding, hold_ns: int, scale_divisor: int) -> Finding:
    early_s = float(found.evidence.get("early_fall_s", 0.0))
    if found.kind != "cliff" or found.value is not None or scale_divisor == 1 or not early_s or not hold_ns:
        return found
    most = scale_divisor * early_s / (_LATE_ENOUGH * hold_ns / NS_PER_S)
    larger = next((each for each in _ROUND if each <= most and each < scale_divisor), 1)
    which = f"`--scale 1/{larger}`" if larger > 1 else "without `--scale`"
    advice = f" If that was the cliff, it comes late enough to be seen on a larger part of the drive: {which}."
    return found.model_copy(update={"text": found.text + advice})
