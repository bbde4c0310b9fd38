"""Every published row is accounted for, and no question lies about its row."""

from __future__ import annotations

import re

import pytest

from shakedown.data import list_profiles, profile_path, reference_path
from shakedown.protocol.load import load_protocol
from shakedown.reference import read_rows, rows_in
from shakedown.target.storage_box import drives_of
from shakedown.validate.answer import published
from shakedown.validate.measure import UNITS
from shakedown.validate.question import Question, RebuildQuestion, all_questions
from shakedown.validate.rebuild import rebuild_order
from shakedown.validate.role import role_by, role_of
from shakedown.validate.run import procedure_name, unanswered

ROWS = read_rows(reference_path("published.csv"))
QUESTIONS = all_questions()


def test_every_row_has_a_question_or_a_reason() -> None:
    answered = QUESTIONS.answered()
    reasons = unanswered(QUESTIONS, ROWS)
    assert answered | reasons.keys() == ROWS.keys()
    assert not answered & reasons.keys()
    assert all(len(why) > 10 for why in reasons.values())


def test_no_reason_is_given_for_a_row_that_is_not_there_or_is_answered() -> None:
    named = [row for group in QUESTIONS.unanswered for row in group.ids()]
    assert set(named) <= ROWS.keys()
    assert len(named) == len(set(named))
    assert not set(named) & QUESTIONS.answered()


def test_a_row_without_either_is_an_error_of_the_table() -> None:
    fewer = QUESTIONS.model_copy(update={"unanswered": QUESTIONS.unanswered[1:]})
    with pytest.raises(AssertionError, match="R001 has neither"):
        unanswered(fewer, ROWS)


@pytest.mark.parametrize("question", QUESTIONS.questions, ids=lambda each: f"{each.row}{each.part}")
def test_a_question_can_be_put(question: Question) -> None:
    experiment = QUESTIONS.experiment(question.experiment)
    assert set(drives_of(experiment.profile)) <= set(list_profiles())
    if isinstance(experiment.procedure, str):
        loaded = load_protocol(procedure_name(experiment.procedure), experiment.settings)
        steps = {step.name for step in loaded.protocol.steps}
        assert question.step in steps
        assert question.over in {None, "baseline"} | steps
    assert (question.over != "baseline" and question.of != "baseline") or experiment.baseline is not None
    assert (question.unit or ROWS[question.row].unit) in UNITS
    low, high = published(question, ROWS[question.row])
    assert low <= high


@pytest.mark.parametrize("question", QUESTIONS.rebuild_questions, ids=lambda each: each.row)
def test_a_rebuild_can_be_ordered(question: RebuildQuestion) -> None:
    for name in question.rebuilds:
        rebuild_order(QUESTIONS.rebuild(name)).to_core()
    row = ROWS[question.row]
    assert row.unit == "ratio" if question.over else row.unit in UNITS
    low, high = published(question, row)
    assert low <= high


@pytest.mark.parametrize(
    "question", (*QUESTIONS.questions, *QUESTIONS.rebuild_questions), ids=lambda each: f"{each.row}{each.part}"
)
def test_a_reading_of_a_row_stands_in_the_row(question: Question | RebuildQuestion) -> None:
    """A value that a question reads out of a row's text must be there, or follow from its conditions."""
    row = ROWS[question.row]
    text = f"{row.value} {row.quantity} {row.conditions}"
    for value in (question.value, question.low, question.high):
        assert value is None or f"{abs(value):g}" in re.findall(r"\d+(?:\.\d+)?", text)


def test_origins_decide_the_role() -> None:
    assert role_of("R011", "wd40efax") == "fit"
    assert role_of("R217", "wd40efax") == "input"
    assert role_of("R009", "st12000vn0007") == "check"
    assert role_by("R051", ["published R051: long reads"]) == "input"
    assert role_by("R051", ["published R051", "fitted R050 to R052"]) == "fit"
    assert role_by("R051", ["assumed"]) == "check"
    assert list(rows_in("published R109 to R111, R020: both")) == ["R109", "R110", "R111", "R020"]


def test_profiles_name_only_rows_that_are_there() -> None:
    texts = (profile_path(name).read_text() for name in list_profiles())
    assert {row for text in texts for row in rows_in(text)} <= ROWS.keys()
