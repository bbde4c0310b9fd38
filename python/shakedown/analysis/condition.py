"""The conditions that end a step: what a protocol's ``until`` may say, and what a watcher watches for.

The attribute carries the unit (``hold_ns``), the protocol file the plain word (``hold = "60s"``); either is accepted,
and durations and sizes may be given as text or as whole numbers of nanoseconds and bytes. A wrong value is pydantic's
``ValidationError`` with the key and the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter
from pydantic.dataclasses import dataclass

from shakedown.errors import UsageError
from shakedown.units import NS_PER_S, parse_duration_ns, parse_size_bytes


def _from_text(parse: Callable[[str], int]) -> BeforeValidator:
    def convert(value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return parse(value)
        except UsageError as error:
            raise ValueError(f"{error}; {error.hint}") from error

    return BeforeValidator(convert)


_DurationNs = Annotated[int, _from_text(parse_duration_ns), Field(strict=True, gt=0)]
_SizeBytes = Annotated[int, _from_text(parse_size_bytes), Field(strict=True, gt=0)]
_STRICT: Final = ConfigDict(extra="forbid", validate_by_name=True, validate_by_alias=True, allow_inf_nan=False)


@dataclass(frozen=True, config=_STRICT, kw_only=True)
class Cliff:
    """The rate falls to ``drop`` of the established one or below, abruptly, and stays there for ``hold``."""

    condition: Literal["cliff"] = "cliff"
    drop: Annotated[float, Field(gt=0, lt=1)] = 0.5
    hold_ns: Annotated[_DurationNs, Field(validation_alias="hold")] = 60 * NS_PER_S


@dataclass(frozen=True, config=_STRICT, kw_only=True)
class Steady:
    """Each tenth of the last ``window`` lies within a share of ``within`` of the window's mean rate."""

    condition: Literal["steady"] = "steady"
    within: Annotated[float, Field(gt=0, lt=1)] = 0.1
    window_ns: Annotated[_DurationNs, Field(validation_alias="window")] = 600 * NS_PER_S


@dataclass(frozen=True, config=_STRICT, kw_only=True)
class Recovered:
    """The latency level has changed, up or down, and then held.

    A change by ``factor`` must hold for ``window``, a smaller one, if it is beyond what the level has wandered before,
    for two. Without such a change the step ends after ``patience``; its default is a day and a half, since modelled
    drives of 4 and 8 TB need up to a day.
    """

    condition: Literal["recovered"] = "recovered"
    window_ns: Annotated[_DurationNs, Field(validation_alias="window")] = 1800 * NS_PER_S
    factor: Annotated[float, Field(gt=1)] = 1.5
    patience_ns: Annotated[_DurationNs, Field(validation_alias="patience")] = 36 * 3600 * NS_PER_S


@dataclass(frozen=True, config=_STRICT, kw_only=True)
class Bytes:
    """So many bytes have been read, written and trimmed together."""

    condition: Literal["bytes"] = "bytes"
    size_bytes: Annotated[_SizeBytes, Field(validation_alias="bytes")]


@dataclass(frozen=True, config=_STRICT, kw_only=True)
class Time:
    """So much time has passed since the step began."""

    condition: Literal["time"] = "time"
    duration_ns: Annotated[_DurationNs, Field(validation_alias="duration")]


Condition = Annotated[Cliff | Steady | Recovered | Bytes | Time, Field(discriminator="condition")]
"""Usable as the type of a field of a pydantic model."""

_CONDITION: Final[TypeAdapter[Cliff | Steady | Recovered | Bytes | Time]] = TypeAdapter(Condition)


def parse_condition(table: object) -> Cliff | Steady | Recovered | Bytes | Time:
    """``{"condition": "cliff", "hold": "60s"}`` as a condition. Raises pydantic's ValidationError."""
    return _CONDITION.validate_python(table)
