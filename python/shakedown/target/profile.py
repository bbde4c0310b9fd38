"""A profile's file to its text, the rows that its origins name looked up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from shakedown.data import reference_path
from shakedown.errors import UsageError
from shakedown.named_file import read_named_text
from shakedown.reference import origins, read_rows, rows_in
from shakedown.toml import TomlError, parse_toml

WHAT_IT_MAY_SAY: Final = "docs/profiles.md tells what a profile may say"


def read_profile(path: Path) -> str:
    """The text of a profile, its origins looked up; whether it is a drive is for the core to say. Raises UsageError."""
    text = read_named_text(path, hint=f"give the file of a profile, which you may read; {WHAT_IT_MAY_SAY}")
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
        if row not in read_rows(reference_path("published.csv")):
            raise UsageError(
                f"`{key}` has no usable origin: reference/published.csv has no row {row:.40}",
                hint=f"name a row that is there, or say `assumed: why`; {WHAT_IT_MAY_SAY}",
            )


def _cited(text: str) -> Iterator[tuple[str, str]]:
    """Every value's key with each row that its origin names."""
    try:
        found = list(origins(parse_toml(text)))
    except TomlError:  # the core will say so
        return
    for key, origin in found:
        if origin.startswith(("published ", "fitted ")):
            yield from ((key, row) for row in rows_in(origin))
