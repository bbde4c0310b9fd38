"""Figures are read, converted and judged as the documents say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from shakedown.analysis.finding import Finding
from shakedown.reference import Row
from shakedown.result.folder import Run
from shakedown.result.run_record import StepRecord
from shakedown.sample import SAMPLE_SCHEMA
from shakedown.validate.answer import Answer, answer, answer_rebuild
from shakedown.validate.goal import advice, goals
from shakedown.validate.measure import MEASURES
from shakedown.validate.question import Experiment, Question, Rebuild, RebuildQuestion
from shakedown.validate.run import Validation
from shakedown.validate.table import to_markdown, to_text

S = 10**9


class Record:
    """As much of a run's record as measures look at."""

    def __init__(self, *findings: Finding) -> None:
        self.findings = findings
        self.baseline = None
        self.steps: tuple[StepRecord, ...] = ()


def played(rows: list[tuple[int, int, float | None]], *findings: Finding) -> Run:
    """A run of one step with a second an interval: (count, bytes, mean latency in s)."""
    frame = pl.DataFrame(
        [
            ("new", "write", index * S, S, count, size, mean and mean * S, None, None, None, mean and int(mean * 2 * S))
            for index, (count, size, mean) in enumerate(rows)
        ],
        schema=SAMPLE_SCHEMA,
        orient="row",
    )
    run = Run(Path("nowhere"), Record(*findings))  # type: ignore[arg-type]
    run.__dict__["samples"] = frame
    return run


def test_a_mixed_load_has_one_time_for_both_its_directions() -> None:
    run = played([(10, 1000, 0.1), (30, 3000, 0.2)])
    reads = run.samples.with_columns(direction=pl.lit("read"))
    run.__dict__["samples"] = pl.concat([run.samples, reads])
    assert [MEASURES[name](run, "new") for name in ("duration", "throughput", "rate")] == [2.0, 8000 / 2, 80 / 2]


def test_what_completes_after_a_load_has_ended_is_in_no_rate() -> None:
    run = played([(10, 1000, 0.1), (30, 3000, 0.2), (1, 100, 9.0)])
    run.record.steps = (
        StepRecord(name="new", title="", start_ns=0, end_ns=2 * S, interval_ns=S, ended_because="condition"),
    )
    assert [MEASURES[name](run, "new") for name in ("duration", "throughput", "rate")] == [2.0, 4000 / 2, 40 / 2]
    assert MEASURES["worst-latency"](run, "new") == 18.0


RUN = played([(10, 1000, 0.1), (30, 3000, 0.2), (0, 0, None)])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("throughput", 4000 / 3),
        # Three quarters of what is read come at 3000 a second, the rest at 1000.
        ("throughput-by-place", 0.75 * 3000 + 0.25 * 1000),
        ("rate", 40 / 3),
        ("duration", 3.0),
        ("mean-latency", (10 * 0.1 + 30 * 0.2) / 40),
        ("worst-latency", 0.4),
        ("request-rate", (10 * 1000 + 30 * 500) / 40),
        ("cliff-time", None),
        ("recovery-time", None),
        ("request-rate-before-cliff", None),
        ("worst-latency-before-cliff", None),
    ],
)
def test_a_measure_reads_samples(name: str, expected: float | None) -> None:
    found = MEASURES[name](RUN, "new")
    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_a_step_that_is_not_there_has_no_figure(name: str) -> None:
    assert MEASURES[name](RUN, "other") is None


def test_a_cliff_divides_a_step() -> None:
    cliff = Finding(
        kind="cliff",
        step="new",
        value=1.0,
        unit="s",
        evidence={"bytes_before": 1000, "requests_before": 10, "iops_before": 10.0},
        text="",
    )
    run = played([(10, 1000, 0.1), (30, 3000, 0.2)], cliff)
    figures = ("cliff-bytes", "cliff-writes", "rate-before-cliff", "request-rate-before-cliff")
    assert [MEASURES[name](run, "new") for name in figures] == pytest.approx([1000, 10, 10, 1000])
    assert MEASURES["worst-latency-before-cliff"](run, "new") == pytest.approx(0.2)


def row(value: str, unit: str, name: str = "R009", source: str = "a blog") -> Row:
    return Row(name, "a rate", value, unit, source, "a drive", "")


EXPERIMENT = Experiment(name="e", profile="st12000vn0007", procedure="random-1m")


def asked(measure: str, **more: object) -> Question:
    return Question.model_validate({"row": "R009", "experiment": "e", "step": "new", "measure": measure} | more)


@pytest.mark.parametrize(
    ("question", "told", "predicted", "error"),
    [
        (asked("rate"), row("10", "IOPS"), 40 / 3, 1 / 3),
        (asked("rate"), row("10-20", "IOPS"), 40 / 3, 0.0),
        (asked("rate"), row("20-40", "IOPS"), 40 / 3, -1 / 3),
        (asked("duration"), row("0.1", "min"), 0.05, -0.5),
        (asked("duration", over="new"), row("-50", "percent"), 0.0, 1.0),
        (asked("duration", inverse=True), row("1", "ratio"), 1 / 3, -2 / 3),
        (asked("cliff-time"), row("92", "min"), None, None),
    ],
)
def test_units_and_ranges(question: Question, told: Row, predicted: float | None, error: float | None) -> None:
    found = answer(question, EXPERIMENT, told, RUN)
    assert found.predicted == (None if predicted is None else pytest.approx(predicted))
    assert found.error == (None if error is None else pytest.approx(error))
    assert found.role == "check"


@pytest.mark.parametrize(
    ("origins", "role"), [({}, "check"), ({"run": "fitted R009"}, "fit"), ({"run": "R009"}, "input")]
)
def test_a_rebuild_has_settings_with_origins_of_its_own(origins: dict[str, str], role: str) -> None:
    rebuild = Rebuild(name="r", layout="raidz1", drive="wd40efrx", width=4, settings=("run=24",), origins=origins)
    found = answer_rebuild(RebuildQuestion(row="R009", rebuild="r"), rebuild, row("2", "h"), {"r": 3600.0})
    assert found.role == role
    assert found.error == pytest.approx(-0.5)


def test_what_follows_from_fitted_rows_is_no_check() -> None:
    experiment = Experiment(name="e", profile="wd40efax", baseline="st12000vn0007", procedure="random-1m")
    question = asked("rate", row="R012", over="baseline", follows_from=["R010", "R011"])
    assert answer(question, experiment, row("15.9", "ratio", "R012"), RUN).role == "fit"
    assert answer(asked("rate", row="R012"), experiment, row("15.9", "ratio", "R012"), RUN).role == "check"


def test_what_a_maker_tells_is_no_check_unless_the_profile_was_made_with_it() -> None:
    told = replace(row("0.05", "min", "R009"), confidence="advised")
    assert answer(asked("duration"), EXPERIMENT, told, RUN).role == "advice"
    made = EXPERIMENT.model_copy(update={"origins": {"run": "R009"}})
    assert answer(asked("duration"), made, told, RUN).role == "input"


def test_what_makers_tell_is_held_to_no_goal() -> None:
    told = [given(0.05, "advice"), given(0.2, "advice"), given(None, "advice")]
    assert goals(told) == []
    assert advice(told) == "1 of 3 rows that makers tell and nobody measured within 10%, 2 within 25%"
    assert advice([given(0.5)]) == ""


def given(
    error: float | None, role: str = "check", *, seed: bool = False, name: str = "R001", array: bool = False
) -> Answer:
    predicted = None if error is None else 1 + error
    return Answer(name, "", "a", "b", "c", 1.0, 1.0, "s", predicted, error, role, seed, array, "d")  # type: ignore[arg-type]


def test_rows_of_arrays_have_a_goal_of_their_own_whatever_their_role() -> None:
    (goal,) = goals([given(0.15, array=True), given(-0.15, "fit", array=True, seed=True)])
    assert goal.held
    assert "2 of 2 rows that arrays answer" in goal.text
    (goal,) = goals([given(0.16, array=True, seed=True, name="R237")])
    assert not goal.held
    assert "not R237" in goal.text


def test_goals_hold_at_their_limits_and_not_beyond() -> None:
    held = [given(0.1) for _ in range(9)] + [given(-0.25)]
    assert [goal.held for goal in goals(held)] == [True, True]
    assert [goal.held for goal in goals([*held[1:], given(0.11)])] == [False, True]
    assert [goal.held for goal in goals([*held[:9], given(0.26)])] == [True, False]
    assert [goal.held for goal in goals([*held[:9], given(None)])] == [True, False]


def test_fits_bear_on_seed_rows_only() -> None:
    (goal,) = goals([given(0.2, "fit", seed=True, name="R021"), given(0.5, "fit")])
    assert not goal.held
    assert "0 of 1 seed rows of single drives (accounts A, B, C) within 10%; not R021" in goal.text
    assert goals([given(0.5, "fit")]) == []


def test_a_long_target_and_a_long_figure_go_on_below() -> None:
    target = "raid5:4xst31000520as:chunk=64KiB,link=1Gb/s,read-ceiling=57.7MB/s,outstanding=1"
    figure = "1 MiB write throughput at the every-240th dip (as the time of that write)"
    long = replace(given(0.5), profile=target, quantity=figure)
    text = to_text(Validation([given(-0.2), long], {"R001": "a reason of many words " * 20}))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    at = lines[0].index("drive"), lines[0].index("figure"), lines[0].index("published")
    cells = lines[2 : lines.index("")]
    assert "".join(line[at[0] : at[1]].strip() for line in cells) == target
    assert " ".join(line[at[1] : at[2]].strip() for line in cells).strip() == figure


def test_tables_show_all_there_is() -> None:
    done = Validation([given(0.5, name="R021"), given(None)], {"R001": "an array's", "R002": "an array's"})
    text, markdown = to_text(done), to_markdown(done)
    assert "+50.0 %" in text
    assert "none seen" in text
    assert "R001 is not answered: an array's" in text
    assert "| R001..R002 | an array's |" in markdown
    assert "**missed**" in markdown
