"""How long a step will take, as far as anybody can know before it has ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shakedown.analysis.condition import Bytes, Recovered, Time
from shakedown.errors import UsageError
from shakedown.protocol.schema import Step
from shakedown.tools.fio.job import Section, parse_fio_bytes, parse_fio_time_ns, parse_job
from shakedown.units import NS_PER_S


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
    section = _only_section(step)
    runtime_ns = _known(parse_fio_time_ns, section.last("runtime"), NS_PER_S)
    match step.until:
        case Time(duration_ns=duration_ns):
            return Expectation(duration_ns=duration_ns, at_most_ns=runtime_ns)
        case Bytes(size_bytes=size_bytes):
            return Expectation(amount_bytes=size_bytes, at_most_ns=runtime_ns)
        case None if section.flag("time_based"):
            return Expectation(duration_ns=runtime_ns)
        case Recovered(patience_ns=patience_ns):
            runtime_ns = min(patience_ns, runtime_ns or patience_ns)
        case None:
            text = section.last("io_size") or section.last("size")
            return Expectation(amount_bytes=_known(parse_fio_bytes, text, capacity_bytes), at_most_ns=runtime_ns)
    return Expectation(at_most_ns=runtime_ns)


def _only_section(step: Step) -> Section:
    """The one that a job has; one without options where there are several, or none that can be read."""
    try:
        sections = parse_job(step.job or "", step.name)
    except UsageError:
        sections = ()
    return sections[0] if len(sections) == 1 else Section(step.name, ())


def _known(parse: Callable[[str, int], int], text: str, unit: int) -> int | None:
    try:
        return parse(text, unit)
    except UsageError:
        return None
