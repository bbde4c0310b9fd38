"""docs/validation.md says what the model does now. Where this fails: ``make validation``."""

from __future__ import annotations

from pathlib import Path

import pytest

import validation_table
from shakedown.validate.run import validate
from shakedown.validate.table import cells

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")


def test_the_tables_are_made_from_the_data_as_it_is() -> None:
    assert f"{validation_table.BEGIN}{validation_table.digest()} -->" in TEXT


@pytest.mark.parametrize("rows", [("R006", "R008"), ("R021", "R023", "R028"), ("R033",), ("R065", "R066")])
def test_the_model_still_answers_as_the_table_says(rows: tuple[str, ...]) -> None:
    """The rows that take least time, for all of them."""
    lines = ["| " + " | ".join(cells(answer)) + " |" for answer in validate(rows).answers]
    assert [line for line in lines if line not in TEXT] == []
