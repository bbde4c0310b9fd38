"""A profile's file to its text, and what is wrong with it."""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from shakedown import _core
from shakedown.data import reference_path
from shakedown.errors import UsageError

_WHAT_IT_MAY_SAY: Final = "docs/profiles.md tells what a profile may say"


def read_profile(path: Path) -> str:
    """The text of a profile, its origins looked up; whether it is a drive is for the core to say. Raises UsageError."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text", hint=_WHAT_IT_MAY_SAY) from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", hint=_WHAT_IT_MAY_SAY) from error
    try:
        refuse_unknown_rows(text)
    except UsageError as error:
        raise UsageError(f"{path}: {error}", hint=error.hint) from error
    return text


def refuse_unknown_rows(profile: str) -> None:
    """Raise UsageError for a value whose origin names a row that is not among the published measurements.

    The core knows no files, so what it leaves open is looked up here.
    """
    for key, row in _cited(profile):
        if row not in _published():
            raise UsageError(
                f"`{key}` has no usable origin: reference/published.csv has no row {row}", hint=_WHAT_IT_MAY_SAY
            )


def profile_refusal(path: Path, profile: str, scale_divisor: int, error: _core.ProfileError) -> UsageError:
    """The error for the profile in ``path``, refused by the core: it is wrong, or scaled too far."""
    largest = _largest_divisor(profile, scale_divisor)
    if largest == 0:
        return UsageError(f"{path}: {error}", hint=_WHAT_IT_MAY_SAY)
    return UsageError(
        f"`--scale 1/{scale_divisor}` makes {path.stem} too small to be a drive: {error}",
        hint=f"the smallest it can be: `--scale 1/{largest}`",
    )


def _largest_divisor(profile: str, refused: int) -> int:
    """The largest divisor below a refused one with which the profile is a drive; 0 if it is none even as it stands."""
    works, fails = 0, refused
    while fails - works > 1:
        # The first guess is the whole drive: most profiles that are refused are wrong as they stand.
        guess = (works + fails) // 2 if works else 1
        if _is_drive(profile, guess):
            works = guess
        elif works:
            fails = guess
        else:
            break
    return works


def _is_drive(profile: str, divisor: int) -> bool:
    try:
        _core.Machine(profile, seed=1, scale_divisor=divisor)
    except _core.ProfileError:
        return False
    return True


def _cited(text: str) -> Iterator[tuple[str, str]]:
    """Every value's key with each row that its origin names."""
    try:
        yield from _cited_in(tomllib.loads(text), "")
    except (ValueError, RecursionError):  # not TOML: the core will say so
        return


def _cited_in(table: dict[str, Any], name: str) -> Iterator[tuple[str, str]]:
    origin = table.get("origin")
    if isinstance(origin, str) and origin.startswith(("published ", "fitted ")):
        yield from ((name, row) for row in re.findall(r"\bR\d+\b", origin))
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _cited_in(value, f"{name}.{key}" if name else key)


@cache
def _published() -> frozenset[str]:
    with reference_path("published.csv").open(encoding="utf-8", newline="") as file:
        return frozenset(row["id"] for row in csv.DictReader(file))
