"""Of intervals that span more than a factor of two it is told, and how many seeds narrow them."""

from __future__ import annotations

import re
from dataclasses import replace
from math import exp
from pathlib import Path

import pytest

from arrays.test_rebuild import order
from shakedown.array import run
from shakedown.array.find import findings
from shakedown.array.rebuild import Rebuild, simulate
from shakedown.array.wide import wide
from shakedown.report.rebuild import render_rebuild

NAMES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def done() -> Rebuild:
    return simulate(order())


def lasting(done: Rebuild, *hours: float) -> list[Rebuild]:
    return [replace(done, duration_ns=round(each * 3600e9)) for each in hours]


def test_two_seeds_that_are_a_fifth_apart_say_next_to_nothing_and_the_row_is_in_hours(
    done: Rebuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: exp(12.706 · ln(24/19.4) / 2) is 3.9 to either side, 15 in all. It was told without a word."""
    ends = dict(enumerate(lasting(done, 19.4, 24.0), start=1))
    monkeypatch.setattr(run, "simulate", lambda _order, _share, seed: ends[seed])
    told = render_rebuild(run.run_rebuild(order(), None, 2, tmp_path / "run", lambda _: None))
    assert re.search(r"time to rebuild +21 h 42 min +5 h 35 min to 83 h 23 min\n", told)
    whole = " ".join(told.split())
    assert "CAUTION: the seeds differ much. The interval spans a factor of 15 of the time to rebuild: do not" in whole
    assert "`--seeds 4` narrows it to a factor of two." in whole


@pytest.mark.parametrize(
    ("ratio", "seeds", "narrows"),
    [
        # By hand: half of ln 2 is Student's quantile times the deviation of logarithms over the root of how many.
        (1.05, 2, None),
        (1.1, 2, 3),
        (1.5, 2, 6),
        (1.5, 3, 4),
        (2.0, 3, 7),
        (1e6, 2, 0),
    ],
)
def test_as_many_seeds_as_narrow_it_are_told(done: Rebuild, ratio: float, seeds: int, narrows: int | None) -> None:
    rebuilds = lasting(done, *(1.0, ratio, ratio**0.5)[:seeds])
    told = wide(findings(rebuilds, NAMES), rebuilds)
    if narrows is None:
        assert told == ()
    else:
        says = f"`--seeds {narrows}` narrows it" if narrows else "even `--seeds 100` does not narrow it"
        assert says in told[0]


def test_so_many_seeds_do_narrow_it(done: Rebuild) -> None:
    """Those that are told, of the deviation of the first: no interval of them spans more than a factor of two."""
    deviation = 0.2
    three = lasting(done, *(exp(deviation * each) for each in (-1.0, 0.0, 1.0)))
    [told] = wide(findings(three, NAMES), three)
    found = re.search(r"`--seeds (\d+)`", told)
    assert found
    many = int(found[1])
    unit = ((many - 1) / many) ** 0.5 if many % 2 == 0 else 1.0
    spread = [deviation * unit * (1 if place % 2 else -1) for place in range(many - many % 2)] + [0.0] * (many % 2)
    more = lasting(done, *map(exp, spread))
    assert wide(findings(more, NAMES), more) == ()


def test_the_users_and_the_baselines_intervals_count_too(done: Rebuild) -> None:
    rebuilds, alike = lasting(done, 1.0, 1.1), lasting(done, 1.0, 1.0)
    [told] = wide(findings(alike, NAMES), alike, findings(rebuilds, NAMES))
    assert "spans a factor of 3.4 of the baseline's time: do not" in told
    [told] = wide(findings(alike, NAMES), alike, findings(lasting(done, 1.0, 2.0), NAMES))
    assert "spans a factor of more than 1000 of the baseline's time" in told
    load = simulate(order(load="[users]\nrw=randread\nbs=16k\n", fill=0.5))
    slower = load.felt_during.with_columns(mean_ns=load.felt_during["mean_ns"] * 2)
    both = [load, replace(load, felt_during=slower)]
    [told] = wide(findings(both, NAMES), both)
    assert "of users' mean latency: do not" in told
