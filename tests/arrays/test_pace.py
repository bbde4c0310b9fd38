"""How long a modelled rebuild computes, told while it does."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from shakedown.array import run
from shakedown.array.order import RebuildOrder
from shakedown.errors import UsageError
from shakedown.units import parse_size_bytes

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


@pytest.mark.parametrize("member_bytes", [3500 << 30, 4_000_787_030_016])
def test_the_way_out_is_one_that_is_taken(monkeypatch: pytest.MonkeyPatch, member_bytes: int) -> None:
    """A member size is of the drives as they are scaled: a smaller scale alone would be refused."""
    lines: list[str] = []
    order = RebuildOrder("raid1", (RED, RED), RED, member_bytes=member_bytes)
    looks = run._Pace(order, 1, lines.append)
    for now_s in (10.0, 20.0, 30.0):
        monkeypatch.setattr(run, "monotonic", lambda now_s=now_s: now_s)
        looks.look(now_s * 1e-5)
    [hint] = [line for line in lines if line.startswith("hint: ")]
    [(divisor, size)] = re.findall(r"`--scale 1/(\d+) --member-size (\w+)`", hint)
    assert int(divisor) == 10
    assert size == "350GiB" or member_bytes != 3500 << 30
    assert member_bytes / 10 - (1 << 30) < parse_size_bytes(size) <= member_bytes / 10
    replace(order, scale_divisor=10, member_bytes=parse_size_bytes(size)).to_core()
    with pytest.raises(UsageError, match="was to use"):
        replace(order, scale_divisor=10).to_core()


def test_a_moment_before_the_end_no_time_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    looks = run._Pace(RebuildOrder("raid1", (RED, RED), RED), 1, lines.append)
    for now_s in (10.0, 20.0, 30.0):
        monkeypatch.setattr(run, "monotonic", lambda now_s=now_s: now_s)
        looks.look(now_s / 30)
    assert lines[-1] == "model:wd40efrx (new): 100% done"
