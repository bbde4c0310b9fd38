"""What a published row is to a profile, as the profile's own origins say."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Literal

from shakedown.data import list_profiles, profile_path
from shakedown.reference import origins, rows_in
from shakedown.toml import parse_toml

Role = Literal["fit", "input", "check", "advice"]
"""``fit``: a value was chosen so that the model meets the row; ``input``: one was taken from it; ``check``: neither;
``advice``: nor here, but nobody measured it: a maker tells it."""


def role_of(row: str, profile: str) -> Role:
    """The role of a row for one profile; being mentioned by any origin is enough not to be a check."""
    if row in _mentioned(profile, fitted=True):
        return "fit"
    return "input" if row in _mentioned(profile, fitted=False) else "check"


def role_by(row: str, origins: Iterable[str]) -> Role:
    """The role of a row for what has these origins, as those of a profile are written."""
    naming = [text for text in origins if row in rows_in(text)]
    if any(_is_fitted(text) for text in naming):
        return "fit"
    return "input" if naming else "check"


def takers(row: str) -> list[str]:
    """The profiles that take a value from a row or are fitted to it."""
    return [name for name in list_profiles() if role_of(row, name) != "check"]


@cache
def _mentioned(profile: str, *, fitted: bool) -> frozenset[str]:
    table = parse_toml(profile_path(profile).read_text(encoding="utf-8"))
    texts = (text for _, text in origins(table) if _is_fitted(text) == fitted)
    return frozenset(row for text in texts for row in rows_in(text))


def _is_fitted(origin: str) -> bool:
    return origin.startswith("fitted")
