"""The rate that a job orders (``rate_iops``, ``rate``), of which its users may get less beside a rebuild."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

from shakedown.errors import UsageError
from shakedown.sample import Direction
from shakedown.tools.fio.job import Section, of_direction, parse_fio_bytes, parse_job
from shakedown.units import format_size

Unit = Literal["requests", "bytes"]
_UNITS: Final[dict[str, Unit]] = {"rate_iops": "requests", "rate": "bytes"}


@dataclass(frozen=True)
class OrderedRate:
    """So much a second of all users together, reads and writes."""

    per_s: float
    unit: Unit

    @property
    def words(self) -> str:
        """``40``, of requests; ``1.0 MiB``, of bytes."""
        return f"{self.per_s:.0f}" if self.unit == "requests" else format_size(self.per_s)


def ordered_rate(job: str | None) -> OrderedRate | None:
    """What the sections order together; None where one of them goes as fast as it can, or counts something else."""
    if job is None:
        return None
    rates: list[tuple[Unit, int]] = []
    for section in parse_job(job, "load"):
        each = rate_of(section)
        if each is None:
            return None
        unit, by_direction = each
        rates.append((unit, sum(by_direction.values())))
    units = {unit for unit, _ in rates}
    return OrderedRate(sum(per_s for _, per_s in rates), units.pop()) if len(units) == 1 else None


def rate_of(section: Section) -> tuple[Unit, dict[Direction, int]] | None:
    """What all copies of a section order of each direction; None where one of its directions has no rate.

    Each direction has its own: a mixed job turns to the other one while the first is ahead of its rate.
    """
    if section.last("verify") not in ("", "0"):  # what is read back goes at its own rate
        return None
    for name, unit in _UNITS.items():
        # A size that only the arena reads is no rate that could be told.
        with suppress(UsageError):
            rates = dict(_each(section, section.last(name)))
            if rates and all(rates.values()):
                return unit, rates
    return None


def _each(section: Section, value: str) -> Iterator[tuple[Direction, int]]:
    copies = section.count("numjobs", 1)
    for direction in section.directions if value else ():
        yield direction, copies * parse_fio_bytes(of_direction(value, direction) or "0", 0)
