"""What a characterisation will do to a target, and how long it takes, said before it begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shakedown.units import format_size

_PARKING_S: Final = 1800
# What each part took on a drive of 8 GB; what grows with the cache or its entries is added.
_PARTS_S: Final[dict[str, float]] = {
    "rotation": 5,
    "transfer rates": 20,
    "tracks, heads and skews": 20,
    "overhead, link and memory": 2,
    "seeks": 15,
    "read-ahead and write buffer": 100,
    "does what was written lie where it should": 20,
    "where the cache lies": 75,
    "when cleaning begins": 250,
    "bands at 0%": 200,
    "bands at 50%": 200,
    "bands at 100%": 200,
    "time to clean a band": 120,
    "streams": 270,
    "space of a cached write": 60,
    "cost of a cached write": 180,
    "length of the log": 60,
    "journal": 20,
    "what memory writes at once": 40,
    "fill with small writes": 60,
    "passes that are forced": 100,
    "order of cleaning": 60,
    "parking of the heads": _PARKING_S,
}
_LAST_CONVENTIONAL: Final = "does what was written lie where it should"
_RATE_BYTES_S: Final = 120e6
# The drives that were looked into by others: up to 1 % of the capacity, up to 700,000 entries.
_CACHE_SHARE: Final = 0.01
_REGION_SHARE: Final = 1 / 512
# How often the cache is written from end to end: to find its length, and for passes that are forced; and of a lazy
# drive, whenever it is to clean.
_LENGTHS: Final = 4
_FORCED_LENGTHS: Final = 5
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
    parts: dict[str, float]
    """Seconds of each part, in their order, if there is a cache of a usual size that is not cleaned lazily."""

    def left(self, part: str) -> tuple[float, float]:
        """Seconds from the beginning of a part on: at least and at most; from the cache on both are one."""
        names = list(self.parts)
        at = next((number for number, name in enumerate(names) if part.startswith(name)), None)
        # What only a lazy drive has comes once the length of its log is known.
        ahead = names[names.index("length of the log") if at is None else at :]
        most = sum(self.parts[name] for name in ahead)
        decided = at is None or at > names.index(_LAST_CONVENTIONAL)
        return most if decided else sum(self.parts[name] for name in ahead if _conventional(name)), most

    @staticmethod
    def of(capacity_bytes: int, *, with_parking: bool) -> Plan:
        """The plan for a target."""
        cache = _CACHE_SHARE * capacity_bytes
        entries = _ENTRIES_PER_TB * capacity_bytes / 1e12
        regions = 4 * _REGION_SHARE * capacity_bytes + cache
        parts = dict(_PARTS_S)
        parts["streams"] += regions / _RATE_BYTES_S
        parts["length of the log"] += _LENGTHS * cache / _CACHED_RATE_BYTES_S
        parts["passes that are forced"] += _FORCED_LENGTHS * cache / _CACHED_RATE_BYTES_S
        parts["fill with small writes"] += 2 * entries * _DURABLE_WRITE_S
        if not with_parking:
            del parts["parking of the heads"]
        conventional = sum(seconds for name, seconds in parts.items() if _conventional(name))
        shingled = sum(parts.values())
        lazy = shingled + _LAZY_LENGTHS * cache / _CACHED_RATE_BYTES_S
        overwritten = min(int(regions) + _FIXED_BYTES, capacity_bytes)
        return Plan(capacity_bytes, overwritten, conventional, shingled, lazy, parts)

    def lines(self) -> list[str]:
        """The plan for people."""
        return [
            f"characterize overwrites about {format_size(self.overwritten_bytes)} in many places of "
            f"{format_size(self.capacity_bytes)}, and what lies there is lost",
            f"on a real drive it takes about {long(self.seconds_conventional)} if there is no persistent cache, "
            f"{long(self.seconds_shingled)} if there is one of a usual size, "
            f"{long(self.seconds_lazy)} if that is cleaned only when it is nearly full",
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


def _conventional(part: str) -> bool:
    names = list(_PARTS_S)
    return part == names[-1] or names.index(part) <= names.index(_LAST_CONVENTIONAL)


def long(seconds: float) -> str:
    """A duration for people, in minutes or hours."""
    return f"{seconds / 60:.0f} minutes" if seconds < 2 * 3600 else f"{seconds / 3600:.0f} hours"
