"""Targets `lab:NAME`: the device arena's own code in a guest. Skipped where the lab is not built."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from lab.test_run import ENTRY, built
from lab.test_run import allowed as allowed  # noqa: PLC0414 - a fixture
from shakedown.errors import RefusedError, UsageError
from shakedown.protocol.in_lab import is_of_lab
from shakedown.protocol.load import parse_protocol
from shakedown.protocol.play import Listener
from shakedown.protocol.run import Order, run
from shakedown.protocol.schema import Protocol, Step
from shakedown.result.folder import read_run
from shakedown.result.run_record import RunRecord, StepRecord
from shakedown.sample import Sample
from shakedown.target.open import open_target

PROTOCOL = b"""
format_version = 1
name = "short"
title = "Short"
question = "Does it run?"
uses = ["mdraid"]
[parameters]
runtime = "5s"
[[steps]]
name = "write"
job = "[w]\\nrw=randwrite\\nbs=64k\\niodepth=4\\ntime_based=1\\nruntime=${runtime}"
"""


class Notes(Listener):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.samples: list[Sample] = []

    def run_began(self, record: RunRecord, protocol: Protocol) -> None:
        self.events.append(f"{record.arena} {protocol.name} {record.target.text}")

    def step_began(self, step: Step) -> None:
        self.events.append(step.name)

    def measured(self, samples: Sequence[Sample]) -> None:
        self.samples += samples

    def noted(self, text: str) -> None:
        self.events.append(text)

    def step_ended(self, record: StepRecord) -> None:
        self.events.append(record.ended_because)


def lab_run(
    out: Path,
    target: str = "lab:wd40efax",
    listener: Listener | None = None,
    settings: Mapping[str, str] | None = None,
    **order: object,
) -> dict[str, bytes]:
    loaded = parse_protocol(PROTOCOL, "short.toml", settings)
    ordered = Order(target=target, scale_divisor=1000, **order)  # type: ignore[arg-type]
    run(loaded, ordered, out, listener or Listener())
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


@built
def test_a_run_comes_out_marked_as_the_labs_and_is_the_same_again(tmp_path: Path) -> None:
    notes = Notes()
    # Whatever the folder is called.
    folders = (tmp_path / "a", tmp_path / "elsewhere" / "a-folder-of-another-name")
    first, second = (lab_run(folder, listener=notes) for folder in folders)
    assert first == second
    assert b'"arena": "lab"' in first["run.json"]
    assert b'"kind": "lab"' in first["run.json"]
    assert b"WD40EFAX" in first["run.json"]
    assert {"samples.parquet", "raw/write/final.json"} <= set(first)
    # What came out while it ran is what is in the folder.
    assert notes.events == 2 * ["lab short lab:wd40efax", "write", "job-ended"]
    kept = read_run(tmp_path / "a").samples
    assert [tuple(sample) for sample in notes.samples] == 2 * kept.rows()


@built
def test_what_the_guest_refuses_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no profile named"):
        lab_run(tmp_path / "run", "lab:nothing")
    assert not (tmp_path / "run").exists()


@built
def test_faults_befall_the_disk_and_are_recorded(tmp_path: Path) -> None:
    stall = 'kind="stall", from_s=10, for_s=15'
    files = lab_run(tmp_path / "run", settings={"runtime": "20s"}, faults=(stall, 'kind="gone", from_s=900, for_s=1'))
    assert b"for_s = 15" in files["run.json"]
    run = read_run(tmp_path / "run")
    assert run.samples["latency_max_ns"].max() > 14e9  # type: ignore[operator]
    assert any("Faults were ordered" in note for note in run.record.notes)
    [vain] = [note for note in run.record.notes if "WITHOUT EFFECT" in note]
    assert vain.startswith("WITHOUT EFFECT: the fault `gone` of sda, from 15 min on: the guest was at its end after ")


def test_faults_are_for_the_lab_only(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="in the lab"):
        lab_run(tmp_path / "run", "model:wd40efax", faults=('kind="stall", from_s=10, for_s=15',))


@built
def test_what_was_stopped_is_played_again_and_comes_out_as_if_it_had_not_been(tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_bytes(PROTOCOL)

    def started(*words: str) -> subprocess.Popen[str]:
        program = [sys.executable, "-c", ENTRY, "run", *words]
        return subprocess.Popen(program, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)

    with started("./short.toml", "lab:wd40efax", "--scale", "1/1000", "--out", "run") as front:
        assert front.stderr is not None
        assert "short on wd40efax" in front.stderr.readline()
        front.send_signal(signal.SIGINT)
        assert front.wait(30) == 130
        assert "--resume run" in front.stderr.read()
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["lab-order.json"]
    with started("--resume", "run") as front:
        assert front.stderr is not None
        assert "played again from its beginning" in front.stderr.read()
    whole = lab_run(tmp_path / "whole" / "run")
    again = {str(path.relative_to(tmp_path / "run")): path.read_bytes() for path in (tmp_path / "run").rglob("*.*")}
    assert again.items() <= whole.items()
    assert "run.json" in again


def test_a_folder_that_exists_is_not_written_to(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="exists already"):
        lab_run(tmp_path)


def test_both_targets_are_in_the_lab_or_none() -> None:
    assert is_of_lab("lab:a", None)
    assert is_of_lab("lab:a", "lab:b")
    assert not is_of_lab("model:a", None)
    for baseline in ("model:b", "lab:a"):
        with pytest.raises(UsageError):
            is_of_lab("lab:a", baseline)


def test_outside_of_a_guest_there_is_no_such_disk(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a disk of the lab"):
        open_target("lab:wd40efax", seed=1, raw=tmp_path / "run" / "raw")
