"""What a person in front of a real drive is told: what comes next, and how long it will take."""

from __future__ import annotations

import pytest

from shakedown.characterize.plan import Plan
from shakedown.characterize.progress import Progress


def test_the_time_left_falls_from_part_to_part_and_ends_with_the_last() -> None:
    plan = Plan.of(8_000_000_000_000, with_parking=True)
    left = [plan.left(part)[1] for part in plan.parts]
    assert left == sorted(left, reverse=True)
    assert left[0] == plan.seconds_shingled
    assert plan.left("rotation")[0] == plan.seconds_conventional
    assert left[-1] == plan.parts["parking of the heads"]
    assert plan.left("when cleaning begins")[0] == plan.left("when cleaning begins")[1]


def test_without_parking_it_is_over_sooner_and_larger_drives_take_longer() -> None:
    with_it, without = (Plan.of(8_000_000_000, with_parking=parking) for parking in (True, False))
    assert with_it.seconds_shingled - without.seconds_shingled == pytest.approx(1800)
    assert Plan.of(8_000_000_000_000, with_parking=False).seconds_shingled > 2 * without.seconds_shingled


def test_each_part_is_told_with_the_time_left_and_parts_that_only_some_drives_have_too() -> None:
    told: list[str] = []
    progress = Progress(Plan.of(8_000_000_000, with_parking=False), told.append)
    for part in ("rotation", "streams", "marks of lazy cleaning", "fill with small writes, each durable"):
        progress(part)
    assert "if there is no persistent cache" in told[0]
    assert all(line.startswith("00:00 ") and " left)" in line for line in told[1:]), told
