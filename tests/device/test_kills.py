"""kill -9 at random moments of runs on a file, and on to what an undisturbed run finds.

A few kills by default; ``SHAKEDOWN_KILLS=100`` for a hundred. Figures of such a run: docs/run-folder.md.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from pathlib import Path

import polars as pl
import pytest

from serving import begin, shakedown
from shakedown.result.folder import Run, read_run

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
KILLS = int(os.environ.get("SHAKEDOWN_KILLS", "4"))
PATIENCE_S = 300
PROTOCOL = """
format_version = 1
name = "killed"
title = "Killed"
question = "Does it go on?"
uses = []
[[steps]]
name = "fill"
interval = "50ms"
job = "rw=write\\nbs=64k\\nsize=2m\\nrate_iops=64"
[[steps]]
name = "quiet"
idle = "200ms"
[[steps]]
name = "write"
restart = "fill"
interval = "50ms"
job = "rw=randwrite\\nbs=4k\\nio_size=256k\\nsize=2m\\nrate_iops=128"
[[steps]]
name = "read"
interval = "50ms"
job = "rw=randread\\nbs=4k\\nio_size=256k\\nsize=2m\\nrate_iops=128"
[[findings]]
kind = "throughput"
step = "write"
[[findings]]
kind = "throughput"
step = "read"
"""
NEW = ("run", "./killed.toml", "target", "--size", "2MiB", "--out", "out", "--quiet")
RESUMED = ("run", "--resume", "out", "--quiet")


def found(run: Run) -> dict[str, object]:
    """What must come out the same, to the last request: how each step ended and how many requests count of it."""
    counts = dict(run.samples.group_by("step").agg(pl.col("count").sum()).rows())
    return {
        "steps": [(step.name, step.ended_because, step.error) for step in run.record.steps],
        "requests": counts,
        "findings": [(finding.kind, finding.step, finding.unit) for finding in run.record.findings],
        "status": run.record.status,
    }


def test_killed_at_random_moments_a_run_comes_to_the_same_findings(tmp_path: Path) -> None:
    (tmp_path / "killed.toml").write_text(PROTOCOL)
    began_s = time.monotonic()
    done = shakedown(*NEW, cwd=tmp_path)
    lasts_s = time.monotonic() - began_s
    assert done.returncode == 0, done.stderr
    undisturbed = found(read_run(tmp_path / "out"))
    assert undisturbed["requests"] == {"fill": 32, "write": 64, "read": 64}

    moments, kills, runs = random.Random(7), 0, 0
    while kills < KILLS:
        shutil.rmtree(tmp_path / "out")
        runs += 1
        kills += killed_until_complete(tmp_path, moments, lasts_s, KILLS - kills)
        assert found(read_run(tmp_path / "out")) == undisturbed
    print(f"{kills} kills in {runs} runs")


def killed_until_complete(here: Path, moments: random.Random, lasts_s: float, most: int) -> int:
    """Start, kill, resume and kill again until the run is complete; how many kills that took."""
    kills = 0
    deadline_s = time.monotonic() + PATIENCE_S * max(1, KILLS / 10)
    while True:
        assert time.monotonic() < deadline_s, f"not complete after {kills} kills"
        has_begun = (here / "out" / "run.json").exists()
        if not has_begun and (here / "out").exists():
            shutil.rmtree(here / "out")  # killed before there was a run
        words = RESUMED if has_begun else NEW
        if kills == most:
            done = shakedown(*words, cwd=here)
            assert done.returncode == 0, done.stderr
            return kills
        process = begin(*words, cwd=here)
        time.sleep(moments.uniform(0.0, lasts_s))
        process.kill()
        _, errors = process.communicate()
        if process.returncode == 0:
            return kills
        assert process.returncode == -9, errors
        kills += 1
        if (here / "out" / "run.json").exists():
            read_run(here / "out").samples  # noqa: B018 - whatever the moment, it can be read
