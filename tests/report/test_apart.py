"""Runs that stand beside each other are told apart by what was set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from shakedown.report.apart import told_apart
from shakedown.report.compare import compare
from shakedown.report.figures import candidates
from shakedown.report.overview import side_by_side
from shakedown.report.summary import render
from shakedown.result.folder import Run, read_run

from . import synthetic


def _run(folder: Path, **changed: Any) -> Run:
    run = read_run(synthetic.day(folder, None))
    return replace(run, record=run.record.model_copy(update=changed))


def test_only_what_differs_is_told(tmp_path: Path) -> None:
    runs = [_run(tmp_path / depth, parameters={"span": "100%", "depth": depth}) for depth in ("1", "4")]
    assert told_apart([run.record for run in runs]) == ["depth=1", "depth=4"]
    assert told_apart([runs[0].record, runs[0].record]) == ["", ""]
    compared = compare(runs)
    assert [name.rpartition("; ")[2] for name in compared.names] == ["depth=1", "depth=4"]
    shown = render(runs)
    assert "(depth=1)" in shown
    assert "(depth=4)" in shown


def test_drives_of_which_one_was_asked_otherwise_say_so_side_by_side(tmp_path: Path) -> None:
    runs = [_run(tmp_path / depth, parameters={"depth": depth}) for depth in ("1", "4")]
    other = runs[1].record.target.model_copy(update={"name": "other", "text": "model:other"})
    runs[1] = replace(runs[1], record=runs[1].record.model_copy(update={"target": other}))
    (table,) = side_by_side(candidates(runs))
    assert [column.options for column in table.columns] == ["depth=1", "depth=4"]


def test_a_rebuild_is_told_by_the_load_of_its_users(tmp_path: Path) -> None:
    run = _run(tmp_path / "run")
    protocol = run.record.protocol.model_copy(update={"name": "rebuild"})
    records = []
    for job in ("[reader]\n# slowly\nrw=randread\nthinktime=100ms\n", "[a]\nrw=read\n\n[b]\nrw=write\n", None):
        (step, *_) = run.record.steps
        step = step.model_copy(update={"name": "rebuild" if job is None else "rebuild-load", "job": job or "# md"})
        records.append(run.record.model_copy(update={"protocol": protocol, "steps": (step,)}))
    assert told_apart(records) == [
        "load: rw=randread thinktime=100ms",
        "load: [a] rw=read [b] rw=write",
        "no load",
    ]
