"""What is published about drive models: ``reference/smr_models.csv``."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal

from shakedown.errors import UsageError
from shakedown.model_number import model_number

Technology = Literal["DM-SMR", "CMR", "unknown"]
Confidence = Literal["published", "unverified"]

_COLUMNS: Final = ("vendor", "family", "model", "capacity_tb", "technology", "source", "confidence")
_INQUIRY_CHARACTERS: Final = 16
"""So much of a model number fits a SCSI INQUIRY (SPC-4, 6.4.2); Linux shows no more of it."""
_SHORTEST_PREFIX: Final = 6
_A_SLIP: Final = 0.87
"""Of a number of eight characters one is another, of one of eleven two are missing."""


@dataclass(frozen=True)
class Listed:
    """A row of the list: one model number, what is said of it, by whom, and whether that was checked."""

    vendor: str
    family: str
    model: str
    capacity_tb: float
    technology: Technology
    source: str
    confidence: Confidence


@dataclass(frozen=True)
class Match:
    """Rows that may be the drive's: one for a whole model number, perhaps more where the number was cut off."""

    rows: tuple[Listed, ...]
    is_whole: bool

    @property
    def technology(self) -> Technology:
        """What all rows agree on, else unknown."""
        said = {row.technology for row in self.rows}
        return said.pop() if len(said) == 1 else "unknown"

    @property
    def is_published(self) -> bool:
        """Whether every row has a source that was checked."""
        return all(row.confidence == "published" for row in self.rows)


class ModelList:
    """The list, asked by what a drive calls itself."""

    def __init__(self, rows: Iterable[Listed]) -> None:
        """Take the rows of the list."""
        self._rows = {row.model.upper(): row for row in rows}

    def find(self, model: str) -> Match | None:
        """The row of ``WDC WD40EFAX-68JH4N0`` is that of ``WD40EFAX``; a suffix or a family alone matches nothing."""
        number = model_number(model)
        if number in self._rows:
            return Match((self._rows[number],), is_whole=True)
        given = model.strip()
        is_cut = len(given) == _INQUIRY_CHARACTERS and "-" not in given and len(number) >= _SHORTEST_PREFIX
        rows = tuple(row for key, row in self._rows.items() if is_cut and key.startswith(number))
        return Match(rows, is_whole=False) if rows else None

    def spelt_alike(self, model: str) -> list[str]:
        """The numbers on the list that one with a slip in it may have been meant for, the likeliest first.

        One of the same length with other digits is another drive.
        """
        number = model_number(model)
        known = [each for each in self._rows if not _differ_in_digits(number, each)]
        return get_close_matches(number, known, n=3, cutoff=_A_SLIP)

    def same_suffix(self, model: str) -> tuple[Listed, ...]:
        """Other capacities with the same letters at the end: worth telling, and proof of nothing."""
        suffix = _suffix(model_number(model))
        return tuple(row for row in self._rows.values() if suffix and _suffix(row.model.upper()) == suffix)


def _differ_in_digits(one: str, other: str) -> bool:
    changed = [mine + theirs for mine, theirs in zip(one, other, strict=False) if mine != theirs]
    return len(one) == len(other) and all(each.isdigit() for each in changed)


def _suffix(number: str) -> str:
    found = re.fullmatch(r"WD\d+([A-Z]{4})", number)
    return found[1] if found else ""


def parse_models(text: str) -> ModelList:
    """The list from its CSV. Raises UsageError when it has other columns or values."""
    rows = []
    for number, row in enumerate(csv.DictReader(text.splitlines()), start=2):
        try:
            rows.append(_row(row))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"line {number} of the list of models is wrong: {error}") from error
    return ModelList(rows)


def _row(row: dict[str, str]) -> Listed:
    vendor, family, model, capacity, technology, source, confidence = (row[name].strip() for name in _COLUMNS)
    said: dict[str, Technology] = {"DM-SMR": "DM-SMR", "CMR": "CMR", "unknown": "unknown"}
    sure: dict[str, Confidence] = {"published": "published", "unverified": "unverified"}
    return Listed(vendor, family, model, float(capacity), said[technology], source, sure[confidence])
