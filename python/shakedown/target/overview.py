"""What a profile is, in the few figures by which people choose one, and how sure they are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from shakedown.reference import origins
from shakedown.target.data_sheet import ADVISED, LIKE, sustained_bytes_per_s
from shakedown.toml import parse_toml

RateFrom = Literal["measured", "self-test", "data sheet", "remembered", "assumed"]

_BORROWED: Final = re.compile(rf"{LIKE}([a-z0-9-]+), ")
_MEASURED: Final = ("published", "fitted", "measured")


@dataclass(frozen=True)
class Overview:
    """``outer_bytes_per_s`` is what it sustains at the edge, skews included, not what passes under a head in a turn;
    ``rate_from`` says who tells that rate, which is what rebuilds hang on most.

    ``shingles_like`` is the drive whose translation layer was taken for want of this one's; ``shingles_told`` the share
    of its values that anybody has measured or published. Both are None of a conventional drive.
    """

    name: str
    title: str
    capacity_bytes: int
    rpm: float
    outer_bytes_per_s: float
    rate_from: RateFrom
    shingled: bool
    shingles_like: str | None
    shingles_told: float | None

    @property
    def shingles(self) -> str:
        """How much is known of how it shingles, in a few words; nothing of a conventional drive."""
        if self.shingles_like is not None:
            return f"ASSUMED as {self.shingles_like}"
        return "" if self.shingles_told is None else f"{self.shingles_told:.0%} measured"


def overview(profile: str) -> Overview:
    """Of a profile's text that the core takes."""
    table = parse_toml(profile)
    geometry = {key: each["value"] for key, each in table["geometry"].items()}
    skews = geometry["track_skew_degrees"], geometry["cylinder_skew_degrees"]
    shingled = table["translation"]["kind"]["value"] == "shingled"
    like = shingles_like(profile)
    return Overview(
        name=table["name"],
        title=table["title"],
        capacity_bytes=geometry["capacity_bytes"],
        rpm=geometry["rpm"],
        outer_bytes_per_s=sustained_bytes_per_s(
            geometry["outer_track_bytes"], geometry["rpm"], geometry["heads"], *skews
        ),
        rate_from=_rate_from(table["geometry"]["outer_track_bytes"]["origin"]),
        shingled=shingled,
        shingles_like=like,
        shingles_told=_told(_of_translation(table)) if shingled and like is None else None,
    )


def shingles_like(profile: str) -> str | None:
    """The drive that this one's translation layer was taken from, as the origins say. None: it has its own."""
    found = (_BORROWED.match(origin) for origin in _of_translation(parse_toml(profile)))
    return next((match[1] for match in found if match), None)


def _of_translation(table: dict[str, Any]) -> list[str]:
    return [origin for _, origin in origins(table.get("translation", {}))]


def _told(found: Iterable[str]) -> float:
    told = [origin.startswith(_MEASURED) for origin in found]
    return sum(told) / len(told)


def _rate_from(origin: str) -> RateFrom:
    if ADVISED in origin:
        return "self-test"
    if origin.startswith(_MEASURED):
        return "measured"
    if origin.startswith("data sheet"):
        return "data sheet"
    return "remembered" if "remembered of the data sheet" in origin else "assumed"
