"""Rates in the unit that fits the load: MiB/s for large requests, IOPS for small ones."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

LARGE_REQUEST_BYTES: Final = 32 * 1024
"""From this mean request size on, people speak of MiB/s (field notes A gives 32 KiB writes so), below it of IOPS."""

MIB: Final = 1024 * 1024

RateUnit = Literal["MiB/s", "IOPS"]


def rate_unit(request_bytes: float) -> RateUnit:
    """Which unit fits requests of this mean size."""
    return "MiB/s" if request_bytes >= LARGE_REQUEST_BYTES else "IOPS"


def bytes_per_unit(request_bytes: float) -> float:
    """Bytes in one unit of `rate_unit`, so that bytes per second become MiB/s or IOPS."""
    return float(MIB) if rate_unit(request_bytes) == "MiB/s" else request_bytes


class Rate(NamedTuple):
    """A figure with its unit, printed with three digits."""

    value: float
    unit: RateUnit

    @classmethod
    def of(cls, amount_bytes: float, seconds: float, request_bytes: float) -> Rate:
        """Bytes in some seconds as a rate; zero where either is zero."""
        per_unit = bytes_per_unit(request_bytes)
        value = amount_bytes / seconds / per_unit if seconds > 0 and per_unit > 0 else 0.0
        return cls(value, rate_unit(request_bytes))

    def __str__(self) -> str:
        """``13.2 MiB/s``, ``1.46 IOPS``, ``12300 IOPS``."""
        return f"{figure(self.value)} {self.unit}"


def figure(value: float) -> str:
    """Three digits, never in powers of ten for the sizes that occur here."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
