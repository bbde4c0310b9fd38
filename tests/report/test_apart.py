"""Runs that stand beside each other are told apart by what was set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shakedown.report.apart import told_apart
from shakedown.report.compare import compare
from shakedown.report.figures import candidates
from shakedown.report.overview import side_by_side
from shakedown.report.summary import render
from shakedown.result.folder import Run, read_run
from shakedown.result.run_record import RunRecord

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


def _loaded(run: Run, *jobs: str | None) -> list[RunRecord]:
    """Rebuilds beside these jobs."""
    protocol = run.record.protocol.model_copy(update={"name": "rebuild"})
    records = []
    for job in jobs:
        (step, *_) = run.record.steps
        step = step.model_copy(update={"name": "rebuild" if job is None else "rebuild-load", "job": job or "# md"})
        records.append(run.record.model_copy(update={"protocol": protocol, "steps": (step,)}))
    return records


def test_a_rebuild_is_told_by_the_load_of_its_users(tmp_path: Path) -> None:
    jobs = ("[reader]\n# slowly\nrw=randread\nthinktime=100ms\n", "[a]\nrw=read\n\n[b]\nrw=write\n", None)
    assert told_apart(_loaded(_run(tmp_path / "run"), *jobs)) == [
        "load: rw=randread thinktime=100ms",
        "load: [a] rw=read [b] rw=write",
        "no load",
    ]


LONG = "[global]\nioengine=libaio\nrw=randrw\nrwmixread=70\nbs=16k\nrandom_distribution=zipf:1.1\nnorandommap\n"


@pytest.mark.parametrize(
    ("jobs", "told"),
    [
        # Of what all have in common nobody need read.
        (
            (f"{LONG}[a]\nrate_iops=5\n", f"{LONG}[a]\nrate_iops=40\n"),
            ["load: rate_iops=5", "load: rate_iops=40"],
        ),
        (
            (f"{LONG}[a]\niodepth=1\n[b]\niodepth=4\n", f"{LONG}[a]\niodepth=1\n[b]\niodepth=8\n", None),
            ["load: [b] iodepth=4", "load: [b] iodepth=8", "no load"],
        ),
        (
            (f"{LONG}[a]\nnumjobs=2\n", f"{LONG}[a]\nnumjobs=2\nrate_iops=5\n"),
            ["load: without rate_iops=5", "load: rate_iops=5"],
        ),
        # Nor of a wall of them.
        (
            (f"{LONG}[a]\nrate_iops=5\n", None),
            ["load: ioengine=libaio rw=randrw rwmixread=70 bs=16k …", "no load"],
        ),
        # Where that would be the same, or nothing, all is told.
        (
            (f"[a]\nrw=read\n[b]\nrw=write\n{LONG}", f"[a]\nrw=write\n[b]\nrw=read\n{LONG}"),
            [
                f"load: [a] rw=read [b] rw=write {' '.join(LONG.splitlines())}",
                f"load: [a] rw=write [b] rw=read {' '.join(LONG.splitlines())}",
            ],
        ),
    ],
)
def test_of_a_load_no_more_is_told_than_tells_it_from_others(
    jobs: tuple[str | None, ...], told: list[str], tmp_path: Path
) -> None:
    assert told_apart(_loaded(_run(tmp_path / "run"), *jobs)) == told
