"""The clock on the wall on a run's own time."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shakedown.errors import UsageError
from shakedown.result.identity import Identity
from shakedown.result.run_record import ProtocolRecord, RunRecord, StepRecord
from shakedown.result.timeline import Moment, read_timeline

NOON_S = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()
S = 1_000_000_000


def plant(folder: Path, events: list[tuple[float, str, str]], arena: str = "device", junk: str = "") -> Path:
    """A run of two steps of a minute each, with a journal."""
    ended = {"interval_ns": S, "ended_because": "job-ended"}
    steps = tuple(
        StepRecord.model_validate(
            {"name": name, "title": name, "start_ns": start * S, "end_ns": start * S + 60 * S} | ended
        )
        for name, start in (("fill", 0), ("hold", 60))
    )
    record = RunRecord(
        shakedown_version="0",
        protocol=ProtocolRecord(name="p", title="p", question="?", source="", uses=(), text="", sha256=""),
        parameters={},
        target=Identity(kind="file", text="f", name="f", model="", capacity_bytes=1),
        arena=arena,  # type: ignore[arg-type]
        environment={},
        seed=1,
        scale_divisor=1,
        status="complete",
        steps=steps,
    )
    (folder / "run.json").write_bytes(record.to_json())
    lines = [
        json.dumps({"time": datetime.fromtimestamp(NOON_S + s, UTC).isoformat(), "event": event, "step": step})
        for s, event, step in events
    ]
    (folder / "journal").write_text("\n".join([junk, *lines]))
    return folder


DAY = [(0.0, "run-began", ""), (1.0, "step-began", "fill"), (62.0, "step-began", "hold"), (130.0, "run-ended", "")]


def test_a_time_lies_in_the_step_that_had_begun(tmp_path: Path) -> None:
    timeline = read_timeline(plant(tmp_path, DAY))
    assert timeline.at(NOON_S + 11) == Moment(10 * S, "fill")
    assert timeline.at(NOON_S + 72) == Moment(70 * S, "hold")
    assert timeline.at(NOON_S) is None
    assert timeline.at(NOON_S + 131) is None


def test_a_step_that_was_played_again_counts_from_its_last_beginning(tmp_path: Path) -> None:
    timeline = read_timeline(plant(tmp_path, [*DAY[:3], (500.0, "run-resumed", ""), (501.0, "step-began", "hold")]))
    assert timeline.at(NOON_S + 511) == Moment(70 * S, "hold")


def test_a_damaged_journal_gives_what_is_left(tmp_path: Path) -> None:
    junk = '{"time": 3}\n[]\nnull\n{"time": "yesterday", "event": "x"}\n{"time'
    assert read_timeline(plant(tmp_path, DAY, junk=junk)).at(NOON_S + 11) == Moment(10 * S, "fill")
    (tmp_path / "journal").write_bytes(b"\xff\xfe\x00")
    assert read_timeline(tmp_path).at(NOON_S + 11) is None


def test_a_journal_that_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    (plant(tmp_path, DAY) / "journal").unlink()
    with pytest.raises(UsageError, match="is missing"):
        read_timeline(tmp_path)
    os.mkfifo(tmp_path / "journal")
    with pytest.raises(UsageError, match="is not a file") as refused:
        read_timeline(tmp_path)
    assert refused.value.hint


def test_a_modelled_run_has_no_kernel_log(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="model arena"):
        read_timeline(plant(tmp_path, DAY, arena="model"))
