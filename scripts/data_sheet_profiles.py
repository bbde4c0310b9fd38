"""Writes the profiles in ``drives/`` that are made of ``reference/data_sheets.csv``: ``make profiles``.

``tests/target/test_data_sheet.py`` says when one of them is another.
"""

from __future__ import annotations

from pathlib import Path

from shakedown.target.data_sheet import listed_sheets, profile_of

DRIVES = Path(__file__).resolve().parent.parent / "drives"


def main() -> None:
    """One file a row."""
    for name, sheet in listed_sheets().items():
        (DRIVES / f"{name}.toml").write_text(profile_of(sheet), encoding="utf-8")


if __name__ == "__main__":
    main()
