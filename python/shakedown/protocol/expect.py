"""How long a step will take, as far as anybody can know before it has ended."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from shakedown.analysis.condition import Bytes, Time
from shakedown.protocol.schema import Step
from shakedown.units import NS_PER_S

_SIZE: Final = re.compile(r"(\d+)\s*([kmgtp]?)(i?b)?", re.IGNORECASE)
_TIME: Final = re.compile(r"(\d+)\s*(us|ms|s|m|h|d)?", re.IGNORECASE)
_TIME_UNITS_NS: Final = {"us": 1000, "ms": 10**6, "s": NS_PER_S, "m": 60 * NS_PER_S, "h": 3600 * NS_PER_S}


@dataclass(frozen=True)
class Expectation:
    """A step ends after ``duration_ns`` or ``amount_bytes`` where these are known; ``at_most_ns`` is an upper bound."""

    duration_ns: int | None = None
    amount_bytes: int | None = None
    at_most_ns: int | None = None


def expect(step: Step, capacity_bytes: int) -> Expectation:
    """Read the end of a step off its condition and its job. A job of several sections is not looked into."""
    if step.idle_ns is not None:
        return Expectation(duration_ns=step.idle_ns)
    options = _options(step.job or "")
    runtime_ns = _time_ns(options.get("runtime", ""))
    match step.until:
        case Time(duration_ns=duration_ns):
            return Expectation(duration_ns=duration_ns, at_most_ns=runtime_ns)
        case Bytes(size_bytes=size_bytes):
            return Expectation(amount_bytes=size_bytes, at_most_ns=runtime_ns)
        case None if "time_based" in options:
            return Expectation(duration_ns=runtime_ns)
        case None:
            amount = _size_bytes(options.get("io_size") or options.get("size", ""), capacity_bytes)
            return Expectation(amount_bytes=amount, at_most_ns=runtime_ns)
    return Expectation(at_most_ns=runtime_ns)


def _options(job: str) -> dict[str, str]:
    if len(re.findall(r"^\s*\[", job, re.MULTILINE)) != 1:
        return {}
    lines = (line.strip().partition("=") for line in job.splitlines())
    return {name.strip(): value.strip() for name, _, value in lines}


def _size_bytes(text: str, capacity_bytes: int) -> int | None:
    if percent := re.fullmatch(r"(\d+)%", text):
        return capacity_bytes * int(percent[1]) // 100
    match = _SIZE.fullmatch(text)
    return int(match[1]) << (10 * " kmgtp".index(match[2].lower() or " ")) if match else None


def _time_ns(text: str) -> int | None:
    match = _TIME.fullmatch(text)
    unit = (match[2] or "s").lower() if match else ""
    return int(match[1]) * (_TIME_UNITS_NS | {"d": 24 * _TIME_UNITS_NS["h"]})[unit] if match else None
