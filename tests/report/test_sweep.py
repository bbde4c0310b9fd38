"""A run over several sizes answers from which on it is as fast as it can be."""

from __future__ import annotations

from pathlib import Path

import pytest

from report import synthetic
from shakedown.report.html import render_page
from shakedown.report.summary import render
from shakedown.report.sweep import answers
from shakedown.result.folder import Run, read_run

SIZES = [4096 * 2**power for power in range(6)]


def swept(folder: Path, mib_per_s: list[float]) -> Run:
    """Random writes of 4 KiB, 8 KiB, ... at the given rates."""
    steps = [
        synthetic.Step(f"write-{size}", "", synthetic.noisy(1, 60, rate * 2**20 / size, 0), size)
        for size, rate in zip(SIZES, mib_per_s, strict=False)
    ]
    run = read_run(synthetic.write(folder, synthetic.Recipe("day", *synthetic.EFAX, steps)))
    named = [step.model_copy(update={"job": f"[{step.name}]\n{step.job}"}) for step in run.record.steps]
    (folder / "run.json").write_bytes(run.record.model_copy(update={"steps": tuple(named)}).to_json())
    return read_run(folder)


@pytest.mark.parametrize(
    ("mib_per_s", "says"),
    [
        ([10, 20, 40, 95, 99, 100], "from 32 KiB on it is as fast as it can be"),
        ([100, 99, 100, 101, 100, 98], "from 4 KiB on it is as fast"),
        ([10, 20, 40, 80, 160, 320], "still gains with the size of requests at 128 KiB"),
        ([10, 20, 40, 80, 100, 50], "fastest at 64 KiB, and larger requests are slower again"),
    ],
)
def test_the_size_is_named(tmp_path: Path, mib_per_s: list[float], says: str) -> None:
    run = swept(tmp_path / "run", mib_per_s)
    (text,) = answers(run)
    assert text.startswith("Writing: ")
    assert says in text
    assert f"{mib_per_s[0]:.3g}" in text
    assert says in " ".join(render([run]).split())
    assert says in " ".join(render_page([run]).split())


def test_the_wait_after_a_load_is_no_time_under_load(tmp_path: Path) -> None:
    run = swept(tmp_path / "run", [10, 20, 40, 95, 99, 100])
    told = list(answers(run))
    assert list(answers(synthetic.with_a_wait(run))) == told


def test_few_sizes_are_no_sweep(tmp_path: Path) -> None:
    assert not list(answers(swept(tmp_path / "run", [10, 20, 40])))
