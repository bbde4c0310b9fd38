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
        ([90, 100, 95, 85, 80, 91], "from 4 KiB on it is as fast as it can be, to a tenth, but for 32 KiB and 64 KiB."),
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


def in_order(run: Run, **parameters: str) -> Run:
    """The same of sequential writes."""
    steps = tuple(
        step.model_copy(update={"job": step.job and step.job.replace("randwrite", "write")})
        for step in run.record.steps
    )
    changed = run.record.model_copy(update={"steps": steps, "parameters": parameters})
    (run.path / "run.json").write_bytes(changed.to_json())
    return read_run(run.path)


def test_a_span_that_dram_may_hold_is_told(tmp_path: Path) -> None:
    """Beside the answer, in text and report; the parameters that make it longer only of a protocol that has them."""
    few = swept(tmp_path / "few", [1, 2, 4, 9, 9.9, 10])
    short = in_order(few, length="256m")
    _, caution = answers(short)
    assert caution.startswith("CAUTION: a pass goes over 600.0 MiB at most, and hard drives have up to 512.0 MiB")
    assert "`--set length=4g --set longest=2min`" in caution
    for shown in (render([short]), render_page([short])):
        assert "may be above what the medium sustains" in " ".join(shown.split())
    assert "--set" not in list(answers(in_order(few)))[1]
    assert len(list(answers(in_order(swept(tmp_path / "long", [10, 20, 40, 95, 99, 100]))))) == 1


def test_the_wait_after_a_load_is_no_time_under_load(tmp_path: Path) -> None:
    run = swept(tmp_path / "run", [10, 20, 40, 95, 99, 100])
    told = list(answers(run))
    assert list(answers(synthetic.with_a_wait(run))) == told


def test_few_sizes_are_no_sweep(tmp_path: Path) -> None:
    assert not list(answers(swept(tmp_path / "run", [10, 20, 40])))
