"""How long a modelled rebuild computes, told while it does."""

from __future__ import annotations

import pytest

from shakedown.array import run
from shakedown.array.order import RebuildOrder

RED = "model:wd40efrx"


@pytest.mark.parametrize(("pace", "is_long"), [(1e-5, True), (0.02, False)])
def test_what_takes_long_to_compute_comes_with_a_way_out(
    monkeypatch: pytest.MonkeyPatch, pace: float, is_long: bool
) -> None:
    """Once. What passes before anything is done is of no rebuild's pace: an hour of that changes nothing."""
    lines: list[str] = []
    looks = run._Pace(RebuildOrder("raid1", (RED, RED), RED, scale_divisor=4), 3, lines.append)
    for now_s in (0, 3600, 3610, 3620, 3630):
        monkeypatch.setattr(run, "monotonic", lambda now_s=now_s: float(now_s))
        looks.look(pace * (now_s - 3590) if now_s else 0.0)
    hints = [line for line in lines if line.startswith("hint: ")]
    assert len(hints) == is_long
    assert all("`--seeds 1`" in each and "`--scale 1/40`" in each for each in hints)
    left = "about 27 h 46 min left" if is_long else "about 30 s left"
    assert left in lines[0], lines


def test_what_slows_down_is_told_to_take_at_least_what_its_later_half_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth in ten seconds at first, then a tenth of that."""
    lines: list[str] = []
    looks = run._Pace(RebuildOrder("raid1", (RED, RED), RED, load="[a]"), 1, lines.append)
    done = 0.0
    for number in range(13):
        done += 0.01 if number < 7 else 0.001
        monkeypatch.setattr(run, "monotonic", lambda now_s=10.0 * number: now_s)
        looks.look(done)
    paces = [line for line in lines if "left" in line]
    assert paces[0] == "model:wd40efrx (new): 2% done, about 16 min 20 s left"
    assert paces[-1] == "model:wd40efrx (new): 8% done, at least 2 h 34 min left"
