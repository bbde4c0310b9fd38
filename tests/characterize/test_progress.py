"""What a person in front of a real drive is told: what comes next, and how long it will take."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from characterize.test_parking import SLOW_MS, TURN_MS, Drive
from shakedown.characterize import progress
from shakedown.characterize.plan import PARKING, Plan, long
from shakedown.characterize.progress import Progress
from shakedown.errors import UsageError
from shakedown.fit.drive import parking

SMALL = 8_000_000_000


def _told(plan: Plan, parts: Sequence[str]) -> list[str]:
    told: list[str] = []
    progress = Progress(plan, told.append, lambda: False)
    for part in parts:
        progress(part)
    return told


def _minutes(line: str) -> list[int]:
    """The minutes left; from 90 s on they are told."""
    return [int(found) for found in re.findall(r"(\d+) (?:minutes|to)", line)]


@pytest.mark.parametrize("kind", ["conventional", "aggressive", "lazy"])
def test_the_time_left_falls_from_part_to_part_and_ends_with_the_last(kind: str) -> None:
    plan = Plan.of(SMALL, with_parking=False)
    course: dict[str, float] = getattr(plan, kind)
    told = _told(plan, list(course))
    left = [max(_minutes(line), default=1) for line in told]
    assert left == sorted(left, reverse=True)
    assert left[0] == round(sum(plan.lazy.values()) / 60)


@pytest.mark.parametrize("parks_after_s", [3, 55, 300, 1000])
def test_parking_takes_as_long_as_is_said_and_is_told_apart(parks_after_s: float) -> None:
    plan = Plan.of(SMALL, with_parking=True)
    assert plan.parking_s
    drive = Drive(cleans_s=0, parks_after_s=parks_after_s)
    parking.measure(drive, SLOW_MS, TURN_MS, None)
    least, most = plan.parking_s
    # What it waits for where a drive cleans, that it does so no more, comes first.
    assert least <= 60 + drive.now_ns / 1e9 <= most
    assert ("within ten" in plan.lines()[1]) and plan.lines()[1].endswith("65 minutes at most")
    told = _told(plan, ["rotation", PARKING])
    assert told[0].endswith(", then 20 to 65 minutes for parking)")
    assert told[1].endswith("(20 to 65 minutes left)")


@pytest.mark.parametrize(
    ("least_s", "most_s", "told"),
    [(60, 2400, "a minute to 40 minutes"), (600, 3000, "10 to 50 minutes"), (6000, 18_000, "1.7 to 5 hours")],
)
def test_both_ends_of_what_is_left_have_one_unit(least_s: float, most_s: float, told: str) -> None:
    assert progress._span([least_s, most_s]) == told


def test_what_shows_on_the_way_is_no_longer_told_as_open() -> None:
    plan = Plan.of(SMALL, with_parking=False)
    told = _told(plan, ["rotation", "where the cache lies", "bands at 0%", "streams"])
    assert "if there is no persistent cache" in told[0]
    assert len(_minutes(told[0])) == 3
    assert "no persistent cache" not in told[1]
    assert len(_minutes(told[1])) == 2
    # Bands come first where the drive cleans by itself.
    assert len(_minutes(told[3])) == 1


def test_what_was_measured_before_is_not_said_to_take_time() -> None:
    told: list[str] = []
    held = iter([True, True, False])
    progress = Progress(Plan.of(SMALL, with_parking=False), told.append, lambda: next(held))
    for part in ("rotation", "transfer rates", "seeks"):
        progress(part)
    assert ["measured before" in line for line in told] == [True, True, False]
    assert "minutes left" in told[2]


def test_one_that_turns_out_to_be_lazy_late_has_more_ahead() -> None:
    plan = Plan.of(SMALL, with_parking=False)
    told = _told(plan, ["bands at 0%", "streams", "length of the log", "does cleaning wait for silence"])
    assert _minutes(told[-1])[0] > _minutes(told[-2])[0]


def test_larger_drives_take_longer() -> None:
    small, large = (Plan.of(size, with_parking=False) for size in (SMALL, 8_000_000_000_000))
    assert sum(large.aggressive.values()) > 2 * sum(small.aggressive.values())


def test_before_the_start_an_interval_is_said_from_a_cache_of_hardly_any_size_to_one_of_the_usual() -> None:
    said = Plan.of(3_900_000_000_000, with_parking=False).lines()[1]
    # `skylight-2`, whose log is a quarter as long as usual and fast, takes 102 minutes, and `skylight-1` 610.
    assert "78 minutes to 13 hours if that is cleaned only when it is nearly full" in said


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


@pytest.mark.parametrize("gb", [0.7, 26, 39])
def test_what_is_left_goes_by_the_log_once_that_is_known(gb: float) -> None:
    told: list[str] = []
    progress = Progress(Plan.of(2_400_000_000_000, with_parking=False), told.append, lambda: False)
    for part in ("bands at 0%", "streams", "length of the log"):
        progress(part)
    progress.hear_log(gb * 1e9)
    progress("fill with small writes")
    plan = Plan.of(2_400_000_000_000, with_parking=False, cache_bytes=gb * 1e9)
    course = plan.aggressive
    behind = list(course)[list(course).index("fill with small writes") :]
    assert told[-1].endswith(f"about {long(sum(course[part] for part in behind))} left)")
