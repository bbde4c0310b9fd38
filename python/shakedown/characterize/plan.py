"""What a characterisation will do to a target, and how long it takes, said before it begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shakedown.units import format_size

_CONVENTIONAL_S: Final = 300
_PARKING_S: Final = 1800
_BANDS_S: Final = 1500
_STREAMS_S: Final = 600
_RATE_BYTES_S: Final = 120e6
# The drives that were looked into by others: up to 1 % of the capacity, up to 700,000 entries.
_CACHE_SHARE: Final = 0.01
_REGION_SHARE: Final = 1 / 512
# How often the cache is written from end to end: to find its length; and of a lazy drive, whenever it is to clean.
_LENGTHS: Final = 4
_LAZY_LENGTHS: Final = 24
_ENTRIES_PER_TB: Final = 220_000
_DURABLE_WRITE_S: Final = 0.012
_CACHED_RATE_BYTES_S: Final = 40e6
_FIXED_BYTES: Final = 8 << 30


@dataclass(frozen=True)
class Plan:
    """Estimates for a target of this size."""

    capacity_bytes: int
    overwritten_bytes: int
    """If there is a persistent cache of a usual size."""
    seconds_conventional: float
    seconds_shingled: float
    seconds_lazy: float
    """If it cleans only when its cache is nearly full."""

    @staticmethod
    def of(capacity_bytes: int, *, with_parking: bool) -> Plan:
        """The plan for a target."""
        parking_s = _PARKING_S if with_parking else 0
        cache = _CACHE_SHARE * capacity_bytes
        entries = _ENTRIES_PER_TB * capacity_bytes / 1e12
        regions = 4 * _REGION_SHARE * capacity_bytes + cache
        shingled = _CONVENTIONAL_S + _BANDS_S + _STREAMS_S + 2 * entries * _DURABLE_WRITE_S
        shingled += _LENGTHS * cache / _CACHED_RATE_BYTES_S + regions / _RATE_BYTES_S + parking_s
        lazy = shingled + _LAZY_LENGTHS * cache / _CACHED_RATE_BYTES_S
        overwritten = min(int(regions) + _FIXED_BYTES, capacity_bytes)
        return Plan(capacity_bytes, overwritten, _CONVENTIONAL_S + parking_s, shingled, lazy)

    def lines(self) -> list[str]:
        """The plan for people."""
        return [
            f"characterize overwrites about {format_size(self.overwritten_bytes)} in many places of "
            f"{format_size(self.capacity_bytes)}, and what lies there is lost",
            f"on a real drive it takes about {_long(self.seconds_conventional)} if there is no persistent cache, "
            f"{_long(self.seconds_shingled)} if there is one of a usual size, "
            f"{_long(self.seconds_lazy)} if that is cleaned only when it is nearly full",
            "interrupt it at any time: `--resume` goes on with what was measured",
        ]

    def document(self) -> dict[str, float]:
        """The plan for programs."""
        return {
            "capacity_bytes": self.capacity_bytes,
            "overwritten_bytes": self.overwritten_bytes,
            "seconds_conventional": round(self.seconds_conventional),
            "seconds_shingled": round(self.seconds_shingled),
            "seconds_lazy": round(self.seconds_lazy),
        }


def _long(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds < 2 * 3600 else f"{seconds / 3600:.0f} hours"
