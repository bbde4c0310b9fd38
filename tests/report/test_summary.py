from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from shakedown.report.summary import render
from shakedown.result.folder import Run, read_run

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
