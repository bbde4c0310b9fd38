"""A run that was gone on with says so: its target is no longer what the protocol takes it for."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Literal

import pytest

from shakedown.device.disk.facts import Consent
from shakedown.errors import EnvironmentFailure, Interrupted
from shakedown.protocol.play import Listener
from shakedown.protocol.run import Order, resume, run
from shakedown.report.compare import compare
from shakedown.report.html import render_page
from shakedown.report.summary import render
from shakedown.result.folder import Run, read_run

from .fake_arena import FIO_CRASHED, FakeArena
from .test_run import STEPS, Opened, loaded, opens

__all__ = ["opens"]

PASS_BYTES = 10 * 1000 * 4096


class Killed(BaseException):
    """As kill -9 would."""


def stopped_at(step: str, number: int, by: type[BaseException] = Killed) -> FakeArena:
    """An arena on which the run ends so many samples after a step's beginning."""
    arena = FakeArena()

    def when(now: str, at: int) -> None:
        if (now, at) == (step, number):
            if by is Interrupted:
                os.kill(os.getpid(), signal.SIGINT)
            else:
                raise by

    arena.when_measured = when
    return arena


def cautions(run: Run) -> list[str]:
    return [note for note in run.record.notes if note.startswith("CAUTION: ")]


def test_what_three_attempts_have_written_is_told_wherever_the_run_is(tmp_path: Path, opens: Opened) -> None:
    """By Ctrl-C, killed, killed before anything was measured, and on to the end."""
    out = tmp_path / "run"
    opens(stopped_at("first", 3, Interrupted), stopped_at("first", 5), stopped_at("first", 0), FakeArena(), FakeArena())
    with pytest.raises(Interrupted):
        run(loaded(), Order("fake"), out, Listener())
    for _ in range(2):
        with pytest.raises(Killed):
            resume(out, Consent(), Listener())
    done = resume(out, Consent(), Listener())
    assert done.record.status == "complete"
    (told,) = cautions(done)
    assert "was interrupted 3 times, and gone on with" in told
    # 4, 6 and 1 of the ten seconds of a pass.
    assert f"had written {11 * PASS_BYTES / 10 / 2**20:.1f} MiB or more" in told
    assert "Step first began anew" in told

    other = run(loaded(), Order("fake"), tmp_path / "other", Listener())
    assert not cautions(other)
    says = "The run was interrupted 3 times"
    figures, _, where = render([done]).partition("WHAT WAS RUN WHERE")
    assert (says in figures, says in where) == (True, False)
    verdict = render_page([done]).partition(">Verdict<")[2].partition(">Findings<")[0]
    assert says in verdict
    assert f"[2] CAUTION: {says}" in compare([other, done]).to_text()
    assert any(says in note for note in json.loads((out / "run.json").read_text())["notes"])


def test_a_rest_between_steps_is_told_even_if_nothing_begins_anew(tmp_path: Path, opens: Opened) -> None:
    class DiesBetween(Listener):
        def step_began(self, step: object) -> None:
            if getattr(step, "name", "") == "pause":
                raise Killed

    opens(FakeArena(), FakeArena())
    with pytest.raises(Killed):
        run(loaded(), Order("fake"), tmp_path / "run", DiesBetween())
    (told,) = cautions(resume(tmp_path / "run", Consent(), Listener()))
    assert "interrupted once, and gone on with: its target rested meanwhile" in told
    assert "began anew" not in told


def test_a_step_that_failed_and_is_played_again_is_told(tmp_path: Path, opens: Opened) -> None:
    broken = FakeArena()
    broken.faults["third"] = FIO_CRASHED
    opens(broken, FakeArena())
    with pytest.raises(EnvironmentFailure):
        run(loaded(), Order("fake"), tmp_path / "run", Listener())
    (told,) = cautions(resume(tmp_path / "run", Consent(), Listener()))
    assert "Step third began anew" in told


def test_before_anything_was_written_an_interruption_changes_nothing(tmp_path: Path, opens: Opened) -> None:
    class DiesAtOnce(Listener):
        def run_began(self, record: object, protocol: object) -> None:
            raise Killed

    opens(FakeArena(), FakeArena())
    with pytest.raises(Killed):
        run(loaded(), Order("fake"), tmp_path / "run", DiesAtOnce())
    assert not cautions(resume(tmp_path / "run", Consent(), Listener()))


@pytest.mark.parametrize(("arena", "move"), [("model", "write"), ("device", "read")])
def test_what_is_played_anew_or_only_read_is_as_it_was(
    arena: Literal["model", "device"], move: str, tmp_path: Path, opens: Opened
) -> None:
    first, second = FakeArena(arena), FakeArena(arena)
    first.when_measured = stopped_at("first", 3).when_measured
    opens(first, second)
    with pytest.raises(Killed):
        run(loaded(STEPS.replace("rw=write", f"rw={move}")), Order("fake"), tmp_path / "run", Listener())
    assert not cautions(resume(tmp_path / "run", Consent(), Listener()))


def test_of_a_baseline_the_caution_is_told_as_its_own(tmp_path: Path, opens: Opened) -> None:
    candidate, baseline = FakeArena(), stopped_at("first", 2)
    opens(candidate, baseline, FakeArena(), FakeArena())
    with pytest.raises(Killed):
        run(loaded(), Order("fake", "other"), tmp_path / "run", Listener())
    opens(FakeArena(), FakeArena())
    done = resume(tmp_path / "run", Consent(), Listener())
    assert not cautions(done), "its turn had not come"
    assert len(cautions(read_run(tmp_path / "run" / "baseline"))) == 1
    assert "CAUTION: Of the baseline: The run was interrupted once" in " ".join(render([done]).split())
