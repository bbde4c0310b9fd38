"""Matrices of drives that are not modelled: which are refused, how they go on, and a tiny one in the lab."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shakedown.array import cells as cells_module
from shakedown.array.cells import Place
from shakedown.array.in_lab import InGuest, is_cut_off_in_lab
from shakedown.array.matrix import CSV_NAME, MatrixOrder, run_matrix, to_csv
from shakedown.array.run import Tell, run_rebuild
from shakedown.cli.matrix import MatrixOptions
from shakedown.cli.matrix import matrix as verb
from shakedown.errors import EnvironmentFailure, Interrupted, UsageError
from shakedown.lab.image import find_image
from shakedown.lab.kernel import find_kernel
from shakedown.result.folder import Run

TINY = MatrixOrder(
    layouts=("raid1", "raidz1"), widths=(3,), fills=(0.05, 0.1), targets=("lab:wd40efrx",), scale_divisor=4000
)


def silent(_: str) -> None:
    """Tell nobody."""


class FakeLab:
    """Answers as the lab does, out of the model; the cells whose numbers are in ``trouble`` end otherwise."""

    def __init__(self, trouble: dict[int, type[Exception]]) -> None:
        self.trouble = trouble
        self.asked: list[str] = []

    def begin(self, ordered: InGuest, out: Path, tell: Tell) -> Run:
        ordered.write(out)
        return self.play(out, tell)

    def play(self, out: Path, tell: Tell) -> Run:
        ordered = InGuest.read(out)
        self.asked.append(out.name)
        wrong = self.trouble.pop(len(self.asked), None)
        if wrong is Interrupted:
            raise wrong("stopped")
        (out / "lab-rebuild.json").unlink()
        if wrong is not None:
            (out / "left").write_text("something")
            raise wrong("no")
        return run_rebuild(ordered.order.as_modelled(), None, 1, out, tell)


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> FakeLab:
    fake = FakeLab({})
    monkeypatch.setattr(cells_module, "run_rebuild_in_lab", fake.begin)
    monkeypatch.setattr(cells_module, "resume_in_lab", fake.play)
    return fake


def test_a_cell_is_a_run_in_a_folder_of_its_own(lab: FakeLab, tmp_path: Path) -> None:
    out = tmp_path / "m"
    cells = run_matrix(TINY, out, silent)
    assert lab.asked == ["raid1-3-5", "raid1-3-10", "raidz1-3-5", "raidz1-3-10"]
    assert [(cell.layout, cell.fill, cell.ended) for cell in cells] == [
        (layout, fill, "complete") for layout in TINY.layouts for fill in TINY.fills
    ]
    assert (out / CSV_NAME).read_text() == to_csv(cells)
    assert (out / "cells" / "raid1-3-5" / "run.json").is_file()
    assert run_matrix(TINY, out, silent) == cells
    assert len(lab.asked) == 4


def test_what_was_interrupted_goes_on_first_and_what_failed_is_made_anew(lab: FakeLab, tmp_path: Path) -> None:
    out = tmp_path / "m"
    lab.trouble = {2: Interrupted, 4: EnvironmentFailure}
    with pytest.raises(Interrupted):
        run_matrix(TINY, out, silent)
    assert is_cut_off_in_lab(out / "cells" / "raid1-3-10")
    with pytest.raises(EnvironmentFailure):
        run_matrix(TINY, out, silent)
    again = run_matrix(TINY, out, silent)
    assert lab.asked[1:] == ["raid1-3-10", "raid1-3-10", "raidz1-3-5", "raidz1-3-5-2", "raidz1-3-10"]
    assert again == run_matrix(TINY, tmp_path / "whole", silent)


def test_a_cell_that_is_done_but_not_in_the_table_yet_is_read(lab: FakeLab, tmp_path: Path) -> None:
    out = tmp_path / "m"
    cells = run_matrix(TINY, out, silent)
    (out / CSV_NAME).write_text(to_csv(cells[:1]))
    assert run_matrix(TINY, out, silent) == cells
    assert len(lab.asked) == 4


def test_a_mirror_is_a_pair_and_drives_are_taken_in_turn() -> None:
    order = MatrixOrder(("mirror", "raidz1"), (3,), (0.5,), ("lab:wd40efrx", "lab:st12000vn0007"), scale_divisor=4000)
    cells = order.cells()
    assert len(cells[Place("mirror", 3, 0.5)].members) == 2
    assert cells[Place("raidz1", 3, 0.5)].members == ("lab:wd40efrx", "lab:st12000vn0007", "lab:wd40efrx")


@pytest.mark.parametrize(
    ("targets", "options", "message"),
    [
        ("/dev/null /dev/zero", {"widths": "2-3"}, "a pool of 3 drives needs as many, and 2 are given"),
        ("/dev/null model:wd40efrx", {}, "all alike"),
        ("/dev/null /dev/null", {}, "named twice"),
        ("/dev/null /dev/zero", {}, "no block device"),
        ("model:wd40efrx", {"plan": True}, "nothing to plan"),
        ("/dev/null /dev/zero", {"scale": "1/100"}, "`--scale` makes modelled drives smaller"),
        ("lab:wd40efrx", {"layouts": "raid5", "settings": ("hz=100",)}, "`--set hz=` is of modelled arrays"),
        (
            "lab:wd40efrx",
            {"layouts": "raid5", "settings": ("hz=100",), "plan": True},
            "`--set hz=` is of modelled arrays",
        ),
        ("lab:wd40efx", {}, "no profile named `wd40efx`"),
        ("lab:wd40efrx", {"layouts": "raid0"}, "raid0 has no redundancy"),
        ("lab:wd40efrx", {"layouts": "raid1", "settings": ("recordsize=1MiB",)}, "recordsize"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_made(
    targets: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"widths": "2", "out": tmp_path / "m"} | options
    with pytest.raises(UsageError, match=message):
        verb(*targets.split(), options=MatrixOptions(**given))
    assert not (tmp_path / "m").exists()


@pytest.mark.skipif(find_kernel() is None or find_image() is None, reason="the lab is not built: `shakedown lab build`")
def test_a_tiny_one_in_the_lab(tmp_path: Path) -> None:
    order = MatrixOrder(("raid1",), (2,), (0.02,), ("lab:wd40efrx",), scale_divisor=4000)
    [cell] = run_matrix(order, tmp_path / "m", silent)
    assert (cell.ended, cell.layout, cell.width) == ("complete", "raid1", 2)
    [modelled] = run_matrix(
        MatrixOrder(("raid1",), (2,), (0.02,), ("model:wd40efrx",), scale_divisor=4000), tmp_path / "model", silent
    )
    assert cell.written_bytes == pytest.approx(modelled.written_bytes, rel=0.03)
    assert cell.time_s == pytest.approx(modelled.time_s, rel=0.25)  # another kernel's timer and host adapter
