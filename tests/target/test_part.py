"""The twin of a drive that was scaled down is a part of a drive, also where nobody says `--scale` any more."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shakedown.array.order import RebuildOrder
from shakedown.array.unsure import of_parts
from shakedown.data import profile_path
from shakedown.result.part import part_divisor, part_model
from shakedown.target.model import ModelArena


def test_a_model_says_of_which_part_it_is() -> None:
    assert part_model("WD40EFRX-68N32N0", 1) == "WD40EFRX-68N32N0"
    named = part_model("WD40EFRX-68N32N0", 100)
    assert named == "WD40EFRX-68N32N0 at 1/100 of its size"
    assert [part_divisor(model) for model in ("WD40EFRX-68N32N0", named, "at 1/0 of its size")] == [1, 100, 1]
    assert part_model(named, 1000) == "WD40EFRX-68N32N0 at 1/1000 of its size"
    assert part_model(named, 100) == named


@pytest.mark.parametrize("target", ["model:{}", "model:raid5:3x{}"])
def test_a_twin_of_a_part_is_as_many_times_smaller(target: str, tmp_path: Path) -> None:
    text = target.format(_twin(tmp_path))
    assert ModelArena(text, seed=1).identity.scale_divisor == 100
    assert ModelArena(text, seed=1, scale_divisor=10).identity.scale_divisor == 1000


def test_a_rebuild_of_such_twins_is_told_with_a_caution(tmp_path: Path) -> None:
    twin = f"model:{_twin(tmp_path)}"
    cautions = of_parts(RebuildOrder("raid5", (twin, twin, "model:wd40efrx"), twin))
    assert len(cautions) == 1
    assert cautions[0].startswith("CAUTION: twin is the twin of 1/100 of a drive: ")
    assert of_parts(RebuildOrder("raid5", ("model:wd40efrx",) * 3, "model:wd40efax")) == ()


def _twin(folder: Path) -> Path:
    whole = profile_path("wd40efrx").read_text(encoding="utf-8")
    model = part_model("WD40EFRX-68N32N0", 100)
    twin = folder / "twin.toml"
    twin.write_text(re.sub(r'(?m)^model = \{ value = "[^"]*"', f'model = {{ value = "{model}"', whole))
    return twin
