"""What a characterisation will do to a target, and how long it takes, said before it begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shakedown.errors import UsageError
from shakedown.units import format_size

PARKING: Final = "parking of the heads"
# What each part takes in seconds, mostly turns and rests, which are alike on drives of 8 GB and of 8 TB; and what each
# GB of the cache adds. Medians of modelled drives of all sizes, with the start of a fio for each log.
_CONVENTIONAL_S: Final[dict[str, float]] = {
    "rotation": 12,
    "transfer rates": 15,
    "overhead, link and memory": 2,
    "tracks, heads and skews": 20,
    "seeks": 18,
    "read-ahead and write buffer": 190,
    "does what was written lie where it should": 80,
}
# What only a drive without a cache shows.
_ALL_OVER_S: Final = {"writes all over the surface": 150.0}
# It is looked at four times where nothing lies elsewhere.
_MOVED_S: Final = {"does what was written lie where it should": 33.0}
_AGGRESSIVE_S: Final[dict[str, tuple[float, float]]] = {
    "where the cache lies": (9, 0),
    "when cleaning begins": (160, 0),
    "bands at 0%": (440, 0),
    "bands at 50%": (480, 0),
    "bands at 100%": (510, 0),
    "time to clean a band": (290, 0),
    "streams": (510, 0),
    "space of a cached write": (160, 0),
    "cost of a cached write": (550, 0),
    "length of the log": (500, 65),
    "what memory writes at once": (45, 0),
    "fill with small writes": (130, 110),
    "passes that are forced": (220, 75),
    "order of cleaning": (40, 0),
}
_LAZY_S: Final[dict[str, tuple[float, float]]] = {
    "where the cache lies": (9, 0),
    "when cleaning begins": (280, 0),
    "streams": (600, 0),
    "space of a cached write": (160, 0),
    "cost of a cached write": (350, 0),
    "length of the log": (400, 70),
    "what memory writes at once": (40, 0),
    "does cleaning wait for silence": (60, 36),
    "when cleaning of a full cache begins": (190, 33),
    "marks of lazy cleaning": (700, 70),
    "bands at 0%": (500, 66),
    "bands at 50%": (560, 66),
    "bands at 100%": (600, 66),
    "time to clean a band": (420, 110),
    "fill with small writes": (120, 125),
    "passes that are forced": (150, 70),
    "order of cleaning": (70, 35),
}
ONLY_LAZY: Final = "does cleaning wait for silence"
# That nothing rests within ten minutes shows in 20; heads that are parked within one, in up to 35 with the platters.
_PARKING_S: Final = (1200, 3900)
# The drives that were looked into by others have 10 to 40 GB.
_CACHE_SHARE: Final = 0.01
_MOST_CACHE_BYTES: Final = 40e9
# How far the 23 drives with a cache lay from this: below what needs no cache, and above what one of that size makes.
_AT_LEAST: Final = 0.85
_AT_MOST: Final = 1.35
_FIXED_BYTES: Final = 24e9
_SMALLEST_BYTES: Final = 3_000_000_000

Course = dict[str, float]
"""Seconds of each part, in their order."""


@dataclass(frozen=True)
class Plan:
    """Estimates for a target of this size."""

    capacity_bytes: int
    cache_bytes: int
    """What is taken for usual."""
    conventional: Course
    aggressive: Course
    """If there is a cache that is cleaned whenever there is time."""
    lazy: Course
    """If it is cleaned only when it is nearly full."""
    parking_s: tuple[int, int] | None
    """From when to when it is over, behind any of these, until it is known when heads are parked; None: it is not."""

    @staticmethod
    def of(capacity_bytes: int, *, with_parking: bool, cache_bytes: float | None = None) -> Plan:
        """The plan for a target, with a cache of a usual size where none is known."""
        cache = min(_CACHE_SHARE * capacity_bytes, _MOST_CACHE_BYTES) if cache_bytes is None else cache_bytes

        def course(of_cache: dict[str, tuple[float, float]]) -> Course:
            grown = {name: fixed + each_gb * cache / 1e9 for name, (fixed, each_gb) in of_cache.items()}
            return _CONVENTIONAL_S | (_MOVED_S | grown if grown else {})

        parking_s = _PARKING_S if with_parking else None
        conventional = course({}) | _ALL_OVER_S
        return Plan(capacity_bytes, int(cache), conventional, course(_AGGRESSIVE_S), course(_LAZY_S), parking_s)

    def refuse_small(self) -> None:
        """Raise UsageError if places that must lie apart would not."""
        if self.capacity_bytes < _SMALLEST_BYTES:
            raise UsageError(
                f"the target is too small: {format_size(self.capacity_bytes)}, where at least "
                f"{format_size(_SMALLEST_BYTES)} are needed",
                hint="of a modelled drive that is scaled down, take a larger part",
            )

    @property
    def overwritten_bytes(self) -> int:
        """If there is a persistent cache."""
        return min(int(_FIXED_BYTES + 2 * self.cache_bytes), self.capacity_bytes)

    @property
    def courses(self) -> tuple[Course, Course, Course]:
        """All that it may become, the shortest first."""
        return (self.conventional, self.aggressive, self.lazy)

    @property
    def _usual_s(self) -> tuple[float, ...]:
        return tuple(sum(course.values()) for course in self.courses)

    @property
    def _least_s(self) -> tuple[float, ...]:
        """With a cache of hardly any size."""
        return Plan.of(self.capacity_bytes, with_parking=False, cache_bytes=0.0)._usual_s

    def lines(self) -> list[str]:
        """The plan for people."""
        conventional, aggressive, lazy = (_range(*sums) for sums in zip(self._least_s, self._usual_s, strict=True))
        return [
            f"characterize overwrites about {format_size(self.overwritten_bytes)} in many places of "
            f"{format_size(self.capacity_bytes)}, and what lies there is lost",
            f"on a real drive it takes {conventional} if there is no persistent cache, {aggressive} if there is one "
            f"of a usual size, here up to {format_size(self.cache_bytes)}, {lazy} if that is cleaned only when it is "
            f"nearly full: how large and how fast it is shows on the way{self._parking()}",
            "interrupt it at any time: `--resume` goes on with what was measured",
        ]

    def _parking(self) -> str:
        if self.parking_s is None:
            return ""
        return (
            "; and at the end 20 to 35 minutes until it is known whether heads are parked and platters stopped within "
            f"ten, {long(self.parking_s[1])} at most"
        )

    def document(self) -> dict[str, float]:
        """The plan for programs."""
        conventional, aggressive, lazy = (round(sum(course.values())) for course in self.courses)
        return {
            "capacity_bytes": self.capacity_bytes,
            "overwritten_bytes": self.overwritten_bytes,
            "seconds_conventional": conventional,
            "seconds_shingled": aggressive,
            "seconds_lazy": lazy,
            "seconds_parking_at_most": self.parking_s[1] if self.parking_s else 0,
        }


def _range(least_s: float, usual_s: float) -> str:
    """From what it takes at least to what it may take, where neither is known better."""
    least, most = long(_AT_LEAST * least_s), long(_AT_MOST * usual_s)
    return least if least == most else f"{least} to {most}"


def long(seconds: float) -> str:
    """A duration for people, in minutes or hours."""
    if seconds < 90:
        return "a minute"
    return f"{seconds / 60:.0f} minutes" if seconds < 2 * 3600 else f"{seconds / 3600:.0f} hours"
