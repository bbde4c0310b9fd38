"""``export`` through the entry point: what is written, and what is never written over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.test_contract import needs_core
from report import synthetic
from serving import shakedown

pytestmark = needs_core


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return synthetic.cliff(tmp_path / "run")


def test_everything_at_once_and_again(run: Path, tmp_path: Path) -> None:
    arguments = ["export", "run", "--csv", "a.csv", "--prometheus", "a.prom", "--card", "card.json", "--json"]
    for _ in range(2):
        answer = shakedown(*arguments, cwd=tmp_path)
        assert answer.returncode == 0, answer.stderr
        assert json.loads(answer.stdout)["files"] == ["a.csv", "a.prom", "card.json", "card.svg"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.prom", "card.json", "card.svg", "run"]


def test_nothing_else_is_written_over(run: Path, tmp_path: Path) -> None:
    (tmp_path / "card.svg").write_text("mine")
    answer = shakedown("export", "run", "--csv", "a.csv", "--card", "card.json", cwd=tmp_path)
    assert answer.returncode == 2
    assert (tmp_path / "card.svg").read_text() == "mine"
    assert not (tmp_path / "a.csv").exists()


def test_samples_go_to_standard_output(run: Path, tmp_path: Path) -> None:
    answer = shakedown("export", "run", "--csv", "-", cwd=tmp_path)
    assert answer.stdout.startswith("step,direction,start_ns,")


@pytest.mark.parametrize(
    "arguments", [[], ["--prometheus", "a.txt"], ["--card", "card"], ["--csv", "-", "--json"], ["--card", "run"]]
)
def test_what_cannot_be_done_is_refused(arguments: list[str], run: Path, tmp_path: Path) -> None:
    assert shakedown("export", "run", *arguments, cwd=tmp_path).returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_the_card_of_a_file_needs_the_drive_beneath(run: Path, tmp_path: Path) -> None:
    record = (run / "run.json").read_text().replace('"kind": "model"', '"kind": "file"', 1)
    (run / "run.json").write_text(record)
    assert "--model" in shakedown("export", "run", "--card", "card.json", cwd=tmp_path).stderr
    answer = shakedown("export", "run", "--card", "card.json", "--model", "X 1", "--firmware", "F", cwd=tmp_path)
    assert answer.returncode == 0
    assert json.loads((tmp_path / "card.json").read_text())["firmware"] == "F"


@pytest.mark.parametrize(
    "arguments", [["--csv", "no/a.csv"], ["--prometheus", "no/a.prom"], ["--card", "no/card.json"]]
)
def test_a_folder_that_is_not_there_is_a_slip_of_the_command_line(
    arguments: list[str], run: Path, tmp_path: Path
) -> None:
    answer = shakedown("export", "run", *arguments, cwd=tmp_path)
    assert answer.returncode == 2
    assert f"there is no folder `no` for `{arguments[1]}`\nhint: make it first" in answer.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
