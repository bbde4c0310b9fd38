"""docs/validation.md and its table say what the model does now. Where this fails: ``make validation``."""

from __future__ import annotations

import pytest

import validation_table
from made_part import END
from shakedown.validate.run import validate
from shakedown.validate.table import cells

TEXT = validation_table.TABLE.read_text(encoding="utf-8")


def test_the_tables_are_made_from_the_data_as_it_is() -> None:
    made = f"{validation_table.BEGIN}{validation_table.digest()} -->\n"
    for text in (TEXT, validation_table.DOCUMENT.read_text(encoding="utf-8")):
        assert made in text


def test_both_documents_say_the_same_of_the_goals() -> None:
    told = validation_table.DOCUMENT.read_text(encoding="utf-8").partition(validation_table.BEGIN)[2]
    goals = told.partition("-->\n")[2].partition(END)[0]
    assert goals.count("- ") >= 4
    assert goals in TEXT


@pytest.mark.parametrize("rows", [("R006", "R008"), ("R021", "R023", "R028"), ("R033",), ("R065", "R066")])
def test_the_model_still_answers_as_the_table_says(rows: tuple[str, ...]) -> None:
    """The rows that take least time, for all of them."""
    lines = ["| " + " | ".join(cells(answer)) + " |" for answer in validate(rows).answers]
    assert [line for line in lines if line not in TEXT] == []
