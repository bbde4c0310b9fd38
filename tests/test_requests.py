"""The request log: what was asked when, and when it was answered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shakedown import _core
from shakedown.requests import REQUEST_SCHEMA, requests_frame

PROFILE = (Path(__file__).parent.parent / "drives" / "st12000vn0007.toml").read_text()
SECOND_NS = 1_000_000_000


def machine() -> _core.Machine:
    return _core.Machine(PROFILE, seed=1, scale_divisor=1000)


def play(job: str, *, take_each: bool = False) -> tuple[pl.DataFrame, list[_core.Row]]:
    load = machine().start(job, SECOND_NS // 10, 1, log_requests=True)
    rows: list[_core.Row] = []
    frames = []
    while batch := load.advance(1):
        rows += batch
        if take_each:
            frames.append(requests_frame(load.take_requests()))
    frames.append(requests_frame(load.take_requests()))
    return pl.concat(frames), rows


MIXED = """
[reader]
rw=randread
bs=8k
iodepth=40
number_ios=3000
[writer]
rw=write
bs=64k
number_ios=200
fsync=50
"""


def test_the_log_and_the_rows_tell_the_same() -> None:
    log, rows = play(MIXED)
    assert log.schema == REQUEST_SCHEMA
    assert log["completed_ns"].is_sorted()
    for direction in ("read", "write"):
        logged = log.filter(verb=direction)
        counted = [row for row in rows if row[0] == direction]
        assert logged.height == sum(row[3] for row in counted) > 0
        assert logged["bytes"].sum() == sum(row[4] for row in counted)
        assert logged["latency_ns"].max() == max(row[9] or 0 for row in counted)
    assert (log["completed_ns"] - log["submitted_ns"] == log["latency_ns"]).all()
    assert set(log["status"]) == {"good"}


def test_each_job_has_its_number_its_sizes_and_its_flushes() -> None:
    log, _ = play(MIXED)
    assert dict(log.group_by("verb").agg(pl.col("job").unique().first()).iter_rows()) == {
        "read": 0,
        "write": 1,
        "flush": 1,
    }
    writes = log.filter(verb="write").sort("submitted_ns")
    assert writes["offset_bytes"].to_list() == [64 * 1024 * at for at in range(200)]
    assert set(log.filter(verb="read")["bytes"]) == {8192}
    # One after each 50 writes; the last of them ends the job first.
    assert log.filter(verb="flush").height == 3


def test_at_most_the_jobs_depth_is_in_flight() -> None:
    log, _ = play("rw=randread\nbs=4k\niodepth=40\nnumber_ios=2000")
    submitted = log.select(at="submitted_ns", change=pl.lit(1))
    completed = log.select(at="completed_ns", change=pl.lit(-1))
    in_flight = pl.concat([completed, submitted]).sort("at", maintain_order=True)["change"].cum_sum()
    assert in_flight.max() == 40


def test_taking_often_or_once_makes_no_difference() -> None:
    assert play(MIXED, take_each=True)[0].equals(play(MIXED)[0])


def test_what_completes_in_the_ramp_is_not_logged() -> None:
    log, rows = play("rw=randread\nramp_time=2\ntime_based\nruntime=1")
    assert log.height == sum(row[3] for row in rows) > 0
    assert log["completed_ns"][0] >= 2 * SECOND_NS


def test_without_a_log_there_is_nothing_to_take() -> None:
    load = machine().start("rw=read\nnumber_ios=3", SECOND_NS, 1)
    with pytest.raises(RuntimeError, match="log_requests=True"):
        load.take_requests()


def test_a_stopped_load_keeps_what_was_logged() -> None:
    load = machine().start("rw=randread\ntime_based\nruntime=1h", SECOND_NS, 1, log_requests=True)
    count = load.advance(1)[0][3]
    load.stop()
    assert requests_frame(load.take_requests()).height == count > 0
    assert requests_frame(load.take_requests()).height == 0


def test_times_and_sizes_are_not_copied() -> None:
    load = machine().start("rw=read\nnumber_ios=100", SECOND_NS, 1, log_requests=True)
    load.advance(1000)
    columns = load.take_requests()
    frame = requests_frame(columns)
    for name in ("submitted_ns", "completed_ns", "offset_bytes", "bytes"):
        written = np.frombuffer(getattr(columns, name), "<i8")
        assert np.shares_memory(frame[name].to_numpy(), written), name
