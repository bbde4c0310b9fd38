"""The tables of docs/profiles.md about drives made of data sheets. Where this fails: ``make borrowed``."""

from __future__ import annotations

import re
from pathlib import Path

import borrowed_parts
from made_part import END
from shakedown.array.unsure import BORROWED_OFF_BY

TEXT = borrowed_parts.DOCUMENT.read_text(encoding="utf-8")
ROWS = [
    [cell.strip("` ") for cell in line.strip("|\n").split("|")]
    for line in TEXT.partition(borrowed_parts.BEGIN_SHINGLED)[2].partition(END)[0].splitlines()[2:]
]
OWN, LENT = "its own", "those of `"


def test_every_pair_is_in_the_table() -> None:
    lent = [(name, lender) for name, lenders in borrowed_parts.LENDERS.items() for lender in (None, *lenders)]
    assert [(row[0], None if row[1] == OWN else row[1].removeprefix(LENT)) for row in ROWS] == lent


def test_the_caution_says_what_the_table_says() -> None:
    """How much longer a rebuild took at the most, where it got through with its own shingles and with the others."""
    own = {row[0]: [_hours(cell) for cell in row[2:]] for row in ROWS if row[1] == OWN}
    longer: dict[str, list[float]] = {"raid6": [], "raidz1": []}
    decided: set[str] = set()
    for row in ROWS:
        for (layout, _), mine, theirs in zip(borrowed_parts.COLUMNS, own[row[0]], map(_hours, row[2:]), strict=True):
            if mine is not None and theirs is not None:
                longer[layout].append(theirs / mine)
            elif (mine is None) != (theirs is None):
                decided.add(layout)
    assert decided == set(longer), "that shingles decide whether a rebuild fails is said of both"
    of_md, of_zfs = max(longer["raid6"]), max(longer["raidz1"])
    assert {"md": f"{of_md - 1:.0%} longer", "OpenZFS": f"{of_zfs:.0f} times as long"} == BORROWED_OFF_BY
    told = TEXT.partition(borrowed_parts.BEGIN_SHINGLED)[2].partition(END)[2].partition("\n## ")[0]
    assert f"to {of_md - 1:.0%}".replace("%", " %") + " longer" in told
    assert f"up to {of_zfs:.0f} times as long" in told


def test_the_model_still_takes_as_long_as_the_table_says(tmp_path: Path) -> None:
    """The cells that take least to compute, of each kind of row."""
    for name, lender in (("wd40efax", None), ("st8000as0002", "wd40efax")):
        row = next(row for row in ROWS if row[0] == name and (lender or OWN) in row[1])
        onto = name if lender is None else str(borrowed_parts.made_of_sheet(name, lender, tmp_path))
        assert borrowed_parts.onto_shingled("raid6", "new", onto).cell == row[2]


def _hours(cell: str) -> float | None:
    found = re.match(r"\d+\.\d+|\d+", cell)
    return float(found[0]) if found else None
