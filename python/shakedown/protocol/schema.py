"""What a protocol file may say: see docs/protocols/writing-your-own.md for the same in words."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from shakedown.analysis.condition import Condition
from shakedown.analysis.finding import FindingSpec
from shakedown.analysis.rules import USES, Use
from shakedown.errors import UsageError
from shakedown.result.run_record import Published
from shakedown.sample import SHORTEST_INTERVAL_NS
from shakedown.units import NS_PER_S, format_duration, parse_duration_ns


def _duration_ns(value: object) -> int:
    if not isinstance(value, str):
        raise PydanticCustomError("duration", 'must be a duration in quotes, like "30min", "90s" or "9h"')
    try:
        duration_ns = parse_duration_ns(value)
    except UsageError as error:
        raise PydanticCustomError("duration", 'must be a duration like "30min", "90s" or "9h"') from error
    if not 0 < duration_ns <= _LONGEST_NS:
        raise PydanticCustomError("duration", "must be longer than nothing and at most a year")
    return duration_ns


def _whole(value: object) -> object:
    """To Python, and so to a literal 1, ``true`` and ``1.0`` are the same."""
    if type(value) is not int:
        raise PydanticCustomError("version", "must be 1")
    return value


def _in_plain_words(table: object) -> object:
    """In a file a condition is written with units in its values (``hold = "60s"``), never in nanoseconds."""
    if isinstance(table, dict):
        for key, value in table.items():
            if str(key).endswith(("_ns", "_bytes")):
                raise PydanticCustomError("until", "is not known", {"key": key})
            if key in _DURATION_KEYS:
                try:
                    _duration_ns(value)
                except PydanticCustomError as error:
                    reason = f"is {value!r}: {error.message_template}"
                    raise PydanticCustomError("until", reason, {"key": key}) from error
    return table


_DURATION_KEYS: Final = frozenset({"hold", "window", "duration", "patience"})
_LONGEST_NS: Final = 366 * 86_400 * NS_PER_S

DurationNs = Annotated[int, BeforeValidator(_duration_ns)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$")]
Line = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=r"^[^\x00-\x1f]*$")]


class Table(BaseModel):
    """Every table of a protocol: no unknown key, no silent conversion."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Step(Table):
    """One step: a load (``job``) or a pause (``idle``)."""

    name: Name
    title: Line = ""
    interval_ns: DurationNs = Field(NS_PER_S, alias="interval")
    job: Annotated[str, StringConstraints(min_length=1, max_length=65_536)] | None = None
    idle_ns: DurationNs | None = Field(None, alias="idle")
    until: Annotated[Condition | None, BeforeValidator(_in_plain_words)] = None
    required: bool = False
    restart: Name | None = None

    @model_validator(mode="after")
    def _load_or_pause(self) -> Self:
        if (self.job is None) == (self.idle_ns is None):
            raise PydanticCustomError("step", "must have either `job` or `idle`, not both and not neither")
        if self.until is not None and self.job is None:
            raise PydanticCustomError("step", "has `until` without a `job`: a pause ends by itself")
        if self.required and self.until is None:
            raise PydanticCustomError("step", "is `required` but has no `until` that could be missed")
        if self.interval_ns < SHORTEST_INTERVAL_NS:
            raise PydanticCustomError("step", f"has an `interval` below {format_duration(SHORTEST_INTERVAL_NS)}")
        return self


class Protocol(Table):
    """A whole protocol, its parameters filled in."""

    format_version: Annotated[Literal[1], BeforeValidator(_whole)]
    name: Name
    title: Line
    question: Line
    source: Line = "a protocol of one's own"
    uses: Annotated[tuple[Use, ...], Field(strict=False)] = USES
    parameters: dict[Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")], str] = Field(default_factory=dict)
    steps: Annotated[tuple[Step, ...], Field(strict=False, min_length=1, max_length=1000)]
    findings: Annotated[tuple[FindingSpec, ...], Field(strict=False)] = ()
    published: Annotated[tuple[Published, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        names: list[str] = [step.name for step in self.steps]
        for name in names:
            if names.count(name) > 1:
                raise PydanticCustomError("names", "`steps`: two steps are named `{name}`", {"name": name})
        for position, restart in enumerate(each.restart for each in self.steps):
            if restart is not None and restart not in names[:position]:
                raise PydanticCustomError(
                    "names",
                    "`steps[{position}].restart` is '{step}': there is no step of that name before it",
                    {"position": position, "step": restart},
                )
        return self

    @model_validator(mode="after")
    def _findings_are_of_steps(self) -> Self:
        names: list[str] = [step.name for step in self.steps]
        named: list[tuple[str, int, str, str | None]] = []
        named += [("findings", position, "step", found.step) for position, found in enumerate(self.findings)]
        named += [("findings", position, "goes_on", found.goes_on) for position, found in enumerate(self.findings)]
        named += [("published", position, "step", row.step) for position, row in enumerate(self.published)]
        for key, position, field, step in named:
            if step is not None and step not in names:
                facts: dict[str, Any] = {"key": key, "position": position, "field": field, "step": step}
                message = "`{key}[{position}].{field}` is '{step}': there is no step of that name"
                raise PydanticCustomError("names", message, facts)
        for position, found in enumerate(self.findings):
            if found.goes_on is not None and names.index(found.goes_on) <= names.index(found.step):
                raise PydanticCustomError(
                    "names",
                    "`findings[{position}].goes_on` is '{step}': that step does not come after `{before}`",
                    {"position": position, "step": found.goes_on, "before": found.step},
                )
        return self
