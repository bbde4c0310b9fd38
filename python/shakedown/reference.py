"""``reference/published.csv``: what others measured, a row each."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path


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
