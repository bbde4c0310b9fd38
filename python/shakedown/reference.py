"""``reference/published.csv``: what others measured, a row each; and the origins in profiles, which name rows."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from shakedown.data import reference_path

_NAMED: Final = re.compile(r"\b(R\d+)(?: to (R\d+))?\b")


@dataclass(frozen=True)
class Row:
    """A row of ``reference/published.csv``: ``value`` is as it was published, which may be a range."""

    id: str
    quantity: str
    value: str
    unit: str
    source: str
    subject: str
    conditions: str
    confidence: str = "published"


@cache
def read_rows(path: Path) -> dict[str, Row]:
    """All rows of a table of published figures by their id, in the table's order."""
    columns = ("id", "quantity", "value", "unit", "source", "subject", "conditions", "confidence")
    with path.open(encoding="utf-8", newline="") as file:
        return {row["id"]: Row(*(row[name] for name in columns)) for row in csv.DictReader(file)}


def rows_in(text: str) -> Iterator[str]:
    """The rows that an origin names: ``R012``; of ``R109 to R149`` both ends, and every row that is between them."""
    for first, last in _NAMED.findall(text):
        yield first
        if last:
            yield from (row for row in read_rows(reference_path("published.csv")) if first < row < last)
            yield last


def origins(profile: dict[str, Any], name: str = "") -> Iterator[tuple[str, str]]:
    """The full key of every value of a profile's table, with its origin."""
    for key, value in profile.items():
        if isinstance(value, dict):
            yield from origins(value, f"{name}.{key}" if name else key)
        elif key == "origin" and isinstance(value, str):
            yield name, value
