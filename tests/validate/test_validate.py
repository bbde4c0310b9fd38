"""The verb, on the rows that take least time."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import Future
from pathlib import Path

import pytest

import serving
from shakedown.data import reference_path
from shakedown.reference import read_rows
from shakedown.validate import waiting
from shakedown.validate.question import all_questions


def shakedown(*arguments: str) -> subprocess.CompletedProcess[str]:
    return serving.shakedown(*arguments, cwd=Path(__file__).parent)


def test_one_row_is_one_and_of_several_one_answer_is_enough() -> None:
    done = shakedown("validate", "--row", "R011", "--row", "R301", "--profile", "wd40efax")
    assert done.returncode != 3
    assert "1 row was used to make the profiles (fit, input) and checks nothing." in done.stdout


def test_a_row_that_is_met_passes_and_one_that_is_not_fails() -> None:
    met = shakedown("validate", "--row", "R065", "--quiet")
    assert (met.returncode, met.stderr) == (0, "")
    assert "held: 1 of 1 checks within 25%" in met.stdout
    missed = shakedown("validate", "--row", "R009", "--json")
    assert missed.returncode == 1
    document = json.loads(missed.stdout)
    assert (document["format_version"], document["command"], document["exit_status"]) == (1, "validate", 1)
    (answer,) = document["rows"]
    assert (answer["row"], answer["role"], answer["low"]) == ("R009", "check", 108.0)
    assert abs(answer["error"] - (answer["predicted"] / 108.0 - 1)) < 1e-9
    assert [goal["held"] for goal in document["goals"]] == [False, False, False]


def test_a_row_that_cannot_be_answered_says_why() -> None:
    done = shakedown("validate", "--row", "R301")
    assert done.returncode == 3
    assert "R301 is not answered: a rule of thumb" in done.stdout


@pytest.mark.parametrize(
    ("row", "hint"),
    [("R012", "drives that do: st12000vn0007, wd40efax"), ("R301", "docs/validation-table.md says why")],
)
def test_a_row_that_this_profile_does_not_answer_is_refused(row: str, hint: str) -> None:
    done = shakedown("validate", "--row", row, "--profile", "hd103uj")
    assert done.returncode == 2
    assert f"`hd103uj` does not answer {row}" in done.stderr
    assert hint in done.stderr


def test_a_row_that_a_rebuild_answers_is_asked_alone() -> None:
    done = shakedown("validate", "--row", "R238")
    assert done.returncode == 0
    assert "R238  draid1 of 90: cmr-16tb" in done.stdout
    assert "held: 1 of 1 rows that arrays answer within 15%" in done.stdout


@pytest.mark.parametrize(("row", "status", "sentence"), [("R056", 0, "held: 1 of 1"), ("R059", 1, "MISSED: 0 of 1")])
def test_a_row_that_a_storage_box_answers_is_asked_of_its_drives(row: str, status: int, sentence: str) -> None:
    done = shakedown("validate", "--row", row, "--profile", "st31000520as")
    assert done.returncode == status
    assert f"{row}  raid5:4xst31000520as" in done.stdout
    assert f"{sentence} rows that arrays answer" in done.stdout


@pytest.mark.parametrize("row", ["r9", "R9", "9", "r009"])
def test_a_row_s_number_is_padded_for_the_hint(row: str) -> None:
    assert "did you mean `R009`?" in shakedown("validate", "--row", row).stderr


def test_of_a_row_that_is_not_there_the_range_is_told_and_nothing_guessed() -> None:
    done = shakedown("validate", "--row", "R999")
    rows = sorted(read_rows(reference_path("published.csv")))
    assert f"from `{rows[0]}` to `{rows[-1]}`" in done.stderr
    assert "did you mean" not in done.stderr


def test_what_is_played_is_told_before_it_ends() -> None:
    lines = shakedown("validate", "--row", "R065").stderr.splitlines()
    assert lines[0] == "playing spinpoint-reads (random-reads on hd103uj); 0 of 1 done"
    assert lines[-1].startswith("1 of 1: spinpoint-reads, ")
    assert lines[-1].endswith(" s")


def test_experiments_and_rebuilds_are_counted_together() -> None:
    lines = shakedown("validate", "--row", "R065", "--row", "R238").stderr.splitlines()
    assert [line.partition(":")[0] for line in lines if " of 2: " in line] == ["1 of 2", "2 of 2"]
    assert any(line.endswith("; 1 of 2 done") for line in lines)


def test_what_takes_long_is_told_again_and_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cores, a piece that takes sixteen times as long as the others: they wait for it, and not for all by turns."""
    monkeypatch.setattr(waiting, "_EVERY_S", 0.01)
    monkeypatch.setattr(waiting, "cores", lambda: 2)
    clock_s = [0.0]
    pieces = [waiting.Piece(name, name, Future[tuple[int, float]]()) for name in ("raid6-new", "a", "b", "c")]
    lines: list[str] = []

    def told(line: str) -> None:
        lines.append(line)
        if line.startswith("still"):
            clock_s[0] += 60
            next(each.future for each in (*pieces[1:], pieces[0]) if not each.future.done()).set_result((1, 60.0))

    played = waiting.Waiting([*(each.name for each in pieces), "later"], told, lambda: clock_s[0])
    assert [name for name, _ in played.as_ended(pieces)] == ["a", "b", "c", "raid6-new"]
    assert lines == [
        "playing raid6-new, a; 0 of 5 done",
        "still playing raid6-new, a; 0 of 5 done, 0 ms gone",
        "1 of 5: a, 60.0 s, about 15 min left",
        "still playing raid6-new, b; 1 of 5 done, about 15 min left, 60 s gone",
        "2 of 5: b, 60.0 s, about 14 min left",
        "still playing raid6-new, c; 2 of 5 done, about 14 min left, 2 min gone",
        "3 of 5: c, 60.0 s, about 13 min left",
        "still playing raid6-new; 3 of 5 done, about 13 min left, 3 min gone",
        "4 of 5: raid6-new, 60.0 s, about 12.6 s left",
    ]
    assert list(played.as_ended([])) == []


def test_what_is_known_to_take_long_is_still_asked_for() -> None:
    questions = all_questions()
    asked = {each.experiment for each in questions.questions}
    asked |= {name for each in questions.rebuild_questions for name in each.rebuilds}
    assert waiting.EFFORTS.keys() <= asked


@pytest.mark.parametrize(("option", "value"), [("--row", "R999"), ("--profile", "wd40efay")])
def test_what_is_not_there_is_refused(option: str, value: str) -> None:
    done = shakedown("validate", option, value)
    assert done.returncode == 2
    assert value in done.stderr
    assert "hint:" in done.stderr
