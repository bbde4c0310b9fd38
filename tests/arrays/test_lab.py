"""Rebuilds of the real md in the lab beyond their time, on drives so small that each takes seconds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shakedown.array.capacity import Capacity
from shakedown.array.in_lab import InGuest, run_rebuild_in_lab
from shakedown.array.order import RebuildOrder
from shakedown.array.settings import parse_options
from shakedown.lab.image import find_image
from shakedown.lab.kernel import find_kernel
from shakedown.report.rebuild import render_rebuild

pytestmark = pytest.mark.skipif(
    find_kernel() is None or find_image() is None, reason="the lab is not built: `shakedown lab build`"
)
RED = "lab:wd40efrx"
USERS = "[users]\nrw=randrw\nrwmixread=70\nbs=16k\niodepth=4\n"


def test_users_feel_the_rebuild_and_the_used_drive_is_told_from_the_new_one(tmp_path: Path) -> None:
    # Beside users md does by itself so little that it takes three times as long.
    settings = ("speed-min=10MiB",)
    order = RebuildOrder("raid1", (RED,) * 2, RED, fill=0.1, state="used", load=USERS, scale_divisor=16_000)
    order = replace(order, options=parse_options("raid1", settings))
    told: list[str] = []
    run = run_rebuild_in_lab(InGuest(order, settings, "none"), tmp_path / "r", told.append)
    assert "will pass through the lab's drives" in told[0]
    found = {(each.kind, each.step): each.value for each in run.record.findings}
    during, alone = (found["latency", step] for step in ("rebuild-load", "load-alone"))
    assert during is not None
    assert alone is not None
    assert 1 < alone < during < 1000  # ms: arms move, and a rebuild moves them more
    assert {"rebuild-load", "load-alone"} <= set(run.samples["step"].unique())
    for folder in (tmp_path / "r", tmp_path / "r" / "new"):
        assert (folder / "progress.csv").read_text().startswith("seed,time_s,done_bytes")


def test_the_faults_that_the_lab_made_happen_are_told(tmp_path: Path) -> None:
    stall = 'format_version = 1\n[[faults]]\nkind = "stall"\nfrom_s = 30\nfor_s = 0.5\n'
    late = '[[faults]]\nkind = "gone"\nfrom_s = 9000\nfor_s = 1\n'
    large = "lab:wd60efpx"
    order = RebuildOrder("raid1", (large, RED), large, fill=0.1, scale_divisor=16_000, faults={0: stall + late})
    told: list[str] = []
    run = run_rebuild_in_lab(InGuest(order, (), None), tmp_path / "r", told.append)
    # One like it, which comes first, would have met the stall.
    assert run.baseline is None
    assert any("No baseline: in the lab faults count from the boot" in line for line in told)
    assert any("No baseline: in the lab faults count from the boot" in note for note in run.record.notes)
    assert InGuest(order, (), None).effort == InGuest(order, (), "none").effort
    # The array has no more of any drive than that one had which failed.
    modelled = Capacity.of(order.as_modelled(), order.as_modelled().modelled_capacities)
    assert modelled.words.replace("model:", "lab:") in run.record.notes
    assert "Unused: 119.2 MiB of each lab:wd60efpx." in " ".join(render_rebuild(run).split())
    words = "drive 0 stall from 30 s on for 500 ms, gone from 2 h 30 min on for 1 s"
    assert run.record.parameters["faults"] == words
    assert f"Faults that were ordered, not predicted: {words}." in " ".join(render_rebuild(run).split())
    vain = [note for note in run.record.notes if "WITHOUT EFFECT" in note]
    assert vain[-1].startswith(
        "WITHOUT EFFECT: the fault `gone` of drive 0, from 2 h 30 min on: the guest was at its end after "
    )
    assert set(vain) <= set(told)
