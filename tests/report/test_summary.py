from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from shakedown.report.summary import render
from shakedown.result.folder import Run, read_run
from shakedown.result.under_way import with_step_under_way

from . import synthetic


def test_three_protocols(runs: list[Run], snapshot: Callable[[str, str], None]) -> None:
    snapshot("summary.txt", render(runs))


def test_one_run_without_baseline(tmp_path: Path, snapshot: Callable[[str, str], None]) -> None:
    snapshot("summary-day.txt", render([read_run(synthetic.day(tmp_path / "day", 50_000))]))


def test_it_can_be_pasted(runs: list[Run]) -> None:
    text = render(runs)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert text.endswith("\n")


def test_control_characters_in_a_serial_do_not_reach_the_terminal(tmp_path: Path) -> None:
    folder = synthetic.day(tmp_path / "day", None, model="EVIL\x1b[2J\nVERDICT: fine")
    text = render([read_run(folder)])
    assert "\x1b" not in text
    assert "\nVERDICT: fine" not in text


def test_a_run_that_was_stopped_at_once_has_a_summary_too(tmp_path: Path) -> None:
    folder = synthetic.day(tmp_path / "day", None, steps=[], wanted=[], status="interrupted")
    text = render([read_run(folder)])
    assert "not complete (interrupted; `shakedown run --resume` goes on with it)" in " ".join(text.split())
    assert "Nothing was measured." in text
    shown = {status: render([read_run(_stopped(tmp_path, status))]) for status in _STOPPED}
    told = {status: " ".join(text.split()) for status, text in shown.items()}
    assert "not complete (cut off, or still going on; `shakedown run --resume` goes on with it)" in told["running"]
    assert "not complete (failed); this" in told["failed"]


_STOPPED: Final[tuple[Literal["running", "failed"], ...]] = ("running", "failed")


def _stopped(folder: Path, status: Literal["running", "failed"]) -> Path:
    return synthetic.day(folder / status, None, steps=[], wanted=[], status=status)


def test_a_run_that_was_cut_off_shows_what_it_has(tmp_path: Path) -> None:
    folder = synthetic.day(tmp_path / "day", None, wanted=[], status="interrupted")
    text = render([read_run(folder)])
    assert "Nothing was measured." not in text
    assert "write: IOPS over 24 h 0 min of virtual time" in text


def test_a_step_that_a_kill_cut_off_is_there_as_after_an_interruption(tmp_path: Path) -> None:
    run = read_run(synthetic.day(tmp_path / "day", None))
    last = run.record.steps[-1]
    killed = replace(run, record=run.record.model_copy(update={"status": "running", "steps": run.record.steps[:-1]}))
    shown = with_step_under_way(killed).record.steps
    assert (shown[-1].name, shown[-1].ended_because, shown[:-1]) == (last.name, "interrupted", run.record.steps[:-1])
    assert (shown[-1].start_ns, shown[-1].end_ns) == (last.start_ns, last.end_ns)
    assert with_step_under_way(run) is run


def test_an_error_is_told_also_where_nothing_is_judged(tmp_path: Path) -> None:
    run = read_run(synthetic.day(tmp_path / "day", None))
    step = run.record.steps[0].model_copy(update={"error": "Input/output error (errno 5)"})
    failed = replace(
        run, record=run.record.model_copy(update={"steps": (step, *run.record.steps[1:]), "verdict": None})
    )
    told = f"CAUTION: The target answered a request of step {step.name} with an error: Input/output error (errno 5)"
    assert told in " ".join(render([failed]).split())
