"""``report`` and ``compare`` take what lies in ``runs/``: runs, folders of runs, and what is neither."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from serving import shakedown

from . import synthetic


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Two runs of a demo, one by itself, a cell of a matrix, a matrix without runs, and a page."""
    synthetic.sequential(tmp_path / "runs" / "demo" / "sequential-32k")
    synthetic.cliff(tmp_path / "runs" / "demo" / "cliff")
    synthetic.sequential(tmp_path / "runs" / "alone")
    synthetic.sequential(tmp_path / "runs" / "lab-matrix" / "cells" / "raidz1-4-10")
    (tmp_path / "runs" / "matrix").mkdir()
    (tmp_path / "runs" / "matrix" / "matrix.csv").touch()
    (tmp_path / "runs" / "page.html").touch()
    cut_off = tmp_path / "runs" / "cut-off"
    cut_off.mkdir()
    shutil.copytree(tmp_path / "runs" / "alone" / "baseline", cut_off / "baseline")
    return tmp_path


ALL = ("alone", "cut-off", "demo", "lab-matrix", "matrix", "page.html")
RUNS = ["runs/alone", "runs/demo/cliff", "runs/demo/sequential-32k", "runs/lab-matrix/cells/raidz1-4-10"]


def test_a_report_is_of_all_runs_that_there_are(here: Path) -> None:
    answer = shakedown("report", *(f"runs/{name}" for name in ALL), "-o", "page.html", "--json", cwd=here)
    assert answer.returncode == 0
    assert json.loads(answer.stdout)["runs"] == RUNS
    assert answer.stderr.splitlines() == [
        f"left out: `runs/{name}` holds no run" for name in ("cut-off", "matrix", "page.html")
    ]


def test_what_was_interrupted_is_left_out_and_how_it_goes_on_is_told(here: Path) -> None:
    stopped = here / "runs" / "stopped"
    (stopped / "parts").mkdir(parents=True)
    (stopped / "parts" / "order.json").touch()
    answer = shakedown("report", "runs/alone", "runs/stopped", "-o", "page.html", "--json", cwd=here)
    assert json.loads(answer.stdout)["runs"] == ["runs/alone"]
    way_on = "go on with it: `shakedown rebuild --resume runs/stopped`"
    assert answer.stderr.splitlines() == [f"left out: `runs/stopped` holds no run yet: {way_on}"]


def test_runs_that_lie_deeper_are_told_of(here: Path) -> None:
    shutil.copytree(here / "runs" / "demo", here / "runs" / "of" / "march" / "demo")
    answer = shakedown("report", "runs", "-o", "page.html", "--json", cwd=here)
    assert json.loads(answer.stdout)["runs"] == ["runs/alone"]
    assert answer.stderr.splitlines() == [
        f"left out: `runs/{name}`, whose runs lie deeper: name it itself" for name in ("demo", "lab-matrix", "of")
    ]


def test_runs_of_a_folder_are_compared(here: Path) -> None:
    answer = shakedown("compare", "runs/demo", "runs/alone", cwd=here)
    assert answer.returncode == 0
    assert "sequential-32k" in answer.stdout


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["runs/matrix"], "`runs/matrix` is not a run"),
        (["runs/matrix", "runs/cut-off"], "`runs/matrix` is not a run"),
        (["runs/alone", "runs/alnoe"], "there is no folder `runs/alnoe`"),
    ],
)
def test_where_no_run_is_it_is_said(here: Path, given: list[str], says: str) -> None:
    answer = shakedown("report", *given, "-o", "page.html", cwd=here)
    assert answer.returncode == 2
    assert says in answer.stderr
