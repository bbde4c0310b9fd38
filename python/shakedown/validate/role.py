"""What a published row is to a profile, as the profile's own origins say."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, Literal

from shakedown.data import list_profiles, profile_path

Role = Literal["fit", "input", "check"]
"""``fit``: a value was chosen so that the model meets the row; ``input``: one was taken from it; ``check``: neither."""

_ROWS: Final = re.compile(r"\bR(\d{3})(?: to R(\d{3}))?\b")


def role_of(row: str, profile: str) -> Role:
    """The role of a row for one profile; being mentioned by any origin is enough not to be a check."""
    if row in _mentioned(profile, fitted=True):
        return "fit"
    return "input" if row in _mentioned(profile, fitted=False) else "check"


def takers(row: str) -> list[str]:
    """The profiles that take a value from a row or are fitted to it."""
    return [name for name in list_profiles() if role_of(row, name) != "check"]


@cache
def _mentioned(profile: str, *, fitted: bool) -> frozenset[str]:
    table = tomllib.loads(profile_path(profile).read_text(encoding="utf-8"))
    texts = (text for text in _origins(table) if text.startswith("fitted") == fitted)
    return frozenset(row for text in texts for row in rows_in(text))


def rows_in(text: str) -> Iterator[str]:
    """The rows that an origin names: ``R012``, and every row of ``R109 to R149``."""
    for first, last in _ROWS.findall(text):
        yield from (f"R{number:03}" for number in range(int(first), int(last or first) + 1))


def _origins(table: dict[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _origins(value)
        elif key == "origin":
            yield value
