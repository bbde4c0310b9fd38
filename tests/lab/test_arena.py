"""Targets `lab:NAME`: the device arena's own code in a guest. Skipped where the lab is not built."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.test_run import allowed as allowed  # noqa: PLC0414 - a fixture
from lab.test_run import built
from shakedown.errors import RefusedError, UsageError
from shakedown.protocol.in_lab import is_of_lab
from shakedown.protocol.load import parse_protocol
from shakedown.protocol.play import Silence
from shakedown.protocol.run import Order, run
from shakedown.target.open import open_target

PROTOCOL = b"""
format_version = 1
name = "short"
title = "Short"
question = "Does it run?"
uses = ["mdraid"]
[[steps]]
name = "write"
job = "[w]\\nrw=randwrite\\nbs=64k\\niodepth=4\\ntime_based=1\\nruntime=20"
"""


def lab_run(out: Path, target: str = "lab:wd40efax") -> dict[str, bytes]:
    loaded = parse_protocol(PROTOCOL, "short.toml", {})
    run(loaded, Order(target=target, scale_divisor=1000), out, Silence())
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


@built
def test_a_run_comes_out_marked_as_the_labs_and_is_the_same_again(tmp_path: Path) -> None:
    first, second = (lab_run(tmp_path / name / "run") for name in "ab")
    assert first == second
    assert b'"arena": "lab"' in first["run.json"]
    assert b'"kind": "lab"' in first["run.json"]
    assert b"WD40EFAX" in first["run.json"]
    assert {"samples.parquet", "raw/write/final.json"} <= set(first)


@built
def test_what_the_guest_refuses_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no profile named"):
        lab_run(tmp_path / "run", "lab:nothing")
    assert not (tmp_path / "run").exists()


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
