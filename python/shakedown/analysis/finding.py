"""What was found: a figure with its unit, its interval, its evidence and a plain sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

if TYPE_CHECKING:
    from shakedown.analysis.estimate import Estimate

WantedKind = Literal["throughput", "latency", "worst-latency", "cliff", "recovery", "knee"]
"""What a protocol may ask for."""

FindingKind = Literal[
    WantedKind,
    "throughput-ratio",
    "latency-ratio",
    "worst-latency-ratio",
    "rebuild-time",
    "rebuild-time-ratio",
    "bottleneck",
    "estimate-error",
]
"""What a run may hold: the ratios are added whenever there is a baseline."""

Evidence = dict[str, float | int | str]


class FindingSpec(BaseModel):
    """A finding that a protocol asks for: an entry of its ``[[findings]]``.

    ``goes_on`` names the step that goes on with the load of a step with a cliff: only there it shows whether it lasts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: WantedKind
    step: str
    goes_on: str | None = None

    @model_validator(mode="after")
    def _only_a_cliff_lasts(self) -> Self:
        if self.goes_on is not None and self.kind != "cliff":
            raise PydanticCustomError("finding", "has `goes_on`, which is for a `cliff` only")
        return self


class Finding(BaseModel):
    """One finding of one step.

    ``value`` is None when there is nothing to state (no cliff was seen, the step delivered nothing); ``text`` then says
    why. ``low`` and ``high`` are a 95 % confidence interval or, for a time, the resolution. Units: ``MiB/s`` or
    ``IOPS``, ``ms``, ``s``, ``requests``, and ``ratio`` (candidate / baseline).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    kind: FindingKind
    step: str
    value: float | None
    unit: str
    low: float | None = None
    high: float | None = None
    evidence: Evidence = {}
    text: str

    @classmethod
    def of(cls, estimate: Estimate, kind: FindingKind, step: str, unit: str, evidence: Evidence, text: str) -> Self:
        """A figure of which it is known how far it may be off."""
        low, high = estimate.interval()
        return cls(
            kind=kind, step=step, value=estimate.value, unit=unit, low=low, high=high, evidence=evidence, text=text
        )
