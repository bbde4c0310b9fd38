"""What a person in front of a real drive is told: what comes next, and how long it will take."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from shakedown.characterize.plan import Plan
from shakedown.characterize.progress import Progress
from shakedown.errors import UsageError

SMALL = 8_000_000_000


def _told(plan: Plan, parts: Sequence[str]) -> list[str]:
    told: list[str] = []
    progress = Progress(plan, told.append)
    for part in parts:
        progress(part)
    return told


def _minutes(line: str) -> list[int]:
    """The minutes left; from 90 s on they are told."""
    return [int(found) for found in re.findall(r"(\d+) (?:minutes|to)", line)]


@pytest.mark.parametrize("kind", ["conventional", "aggressive", "lazy"])
def test_the_time_left_falls_from_part_to_part_and_ends_with_the_last(kind: str) -> None:
    plan = Plan.of(SMALL, with_parking=True)
    course: dict[str, float] = getattr(plan, kind)
    told = _told(plan, list(course))
    left = [max(_minutes(line)) for line in told]
    assert left == sorted(left, reverse=True)
    assert left[0] == round(sum(plan.lazy.values()) / 60)
    # Which course it is has shown by then, unless what is left is parking in any case.
    assert _minutes(told[-1]) == [30]


def test_what_shows_on_the_way_is_no_longer_told_as_open() -> None:
    plan = Plan.of(SMALL, with_parking=False)
    told = _told(plan, ["rotation", "where the cache lies", "bands at 0%", "streams"])
    assert "if there is no persistent cache" in told[0]
    assert len(_minutes(told[0])) == 3
    assert "no persistent cache" not in told[1]
    assert len(_minutes(told[1])) == 2
    # Bands come first where the drive cleans by itself.
    assert len(_minutes(told[3])) == 1


def test_one_that_turns_out_to_be_lazy_late_has_more_ahead() -> None:
    plan = Plan.of(SMALL, with_parking=False)
    told = _told(plan, ["bands at 0%", "streams", "length of the log", "does cleaning wait for silence"])
    assert _minutes(told[-1])[0] > _minutes(told[-2])[0]


def test_without_parking_it_is_over_sooner_and_larger_drives_take_longer() -> None:
    with_it, without = (Plan.of(SMALL, with_parking=parking) for parking in (True, False))
    for longer, shorter in zip(with_it.courses, without.courses, strict=True):
        assert sum(longer.values()) - sum(shorter.values()) == pytest.approx(1800)
    large = Plan.of(8_000_000_000_000, with_parking=False)
    assert sum(large.aggressive.values()) > 2 * sum(without.aggressive.values())


def test_a_part_that_comes_twice_or_that_only_some_drives_have_changes_nothing() -> None:
    plan = Plan.of(SMALL, with_parking=False)
    parts = ["marks of lazy cleaning", "fill with small writes, each durable", "journal", "bands at 0%", "low mark"]
    told = _told(plan, parts)
    assert all(line.startswith("00:00 ") and line.endswith(" left)") for line in told), told
    assert len({_minutes(line)[0] for line in told[1:]}) == 1


def test_a_target_in_which_places_would_overlap_is_refused() -> None:
    with pytest.raises(UsageError, match="too small"):
        Plan.of(2_000_000_000, with_parking=False).refuse_small()
    Plan.of(4_000_000_000, with_parking=False).refuse_small()
