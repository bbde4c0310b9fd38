"""A machine from Python: jobs follow each other on one clock, and the same seed gives the same rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown import _core

PROFILE = (Path(__file__).parent.parent / "drives" / "st12000vn0007.toml").read_text()
SECOND_NS = 1_000_000_000


def play(machine: _core.Machine, job: str) -> list[_core.Row]:
    load = machine.start(job, SECOND_NS, 1)
    rows: list[_core.Row] = []
    while batch := load.advance(3):
        rows += batch
    return rows


def test_jobs_follow_each_other_on_one_clock() -> None:
    machine = _core.Machine(PROFILE, seed=1)
    first = play(machine, "rw=randread\ntime_based\nruntime=5")
    assert sum(row[3] for row in first) > 100
    end_ns = first[-1][1] + first[-1][2]
    assert machine.now_ns == end_ns >= 5 * SECOND_NS
    machine.idle(SECOND_NS)
    second = play(machine, "rw=write\nbs=1m\nnumber_ios=10")
    assert second[0][1] == end_ns + SECOND_NS
    assert [row[0] for row in second] == ["write"] * len(second)
    assert machine.truth()["completed"] == sum(row[3] for row in first + second)


def test_same_seed_same_rows() -> None:
    job = "rw=randrw\niodepth=8\ntime_based\nruntime=3"
    assert play(_core.Machine(PROFILE, seed=7), job) == play(_core.Machine(PROFILE, seed=7), job)


def test_one_job_at_a_time_and_stop_makes_room() -> None:
    machine = _core.Machine(PROFILE, seed=1, scale_divisor=100)
    load = machine.start("rw=randwrite\niodepth=4\ntime_based\nruntime=1d", SECOND_NS, 1)
    assert len(load.advance(2)) == 2
    with pytest.raises(RuntimeError):
        machine.start("rw=read", SECOND_NS, 1)
    with pytest.raises(RuntimeError):
        machine.idle(1)
    load.stop()
    assert load.advance(1) == []
    assert play(machine, "rw=read\nnumber_ios=5")[0][3] == 5
