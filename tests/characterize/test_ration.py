"""Rationed writes: how many visits a full drive gives the host between passes, and until when."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from characterize.blind import changed
from characterize.measured import measured
from shakedown.fit.cache import Cache
from shakedown.fit.cleaning import ration
from shakedown.fit.cleaning.band_time import Pass
from shakedown.fit.drafting import passes
from shakedown.fit.estimate import Estimate
from shakedown.fit.facts import Facts
from shakedown.fit.log.append import Journal
from shakedown.fit.log.length import _are_uneven
from shakedown.fit.trace import Ints
from shakedown.fit.twin import Twin


def _stalls(visits: int, wanted: int, rooms: list[int]) -> Ints:
    """Before which writes a drive cleans whose passes make so much room, if it wants so much before a ration ends."""
    stalls, at, free, pressed, left = [], 0, 0, True, 0
    for room in rooms:
        free += room
        stalls.append(at)
        left = visits
        while free and not (pressed and left == 0):
            at, free, left = at + 1, free - 1, left - 1
            pressed = pressed and free < wanted
        pressed = pressed or not free
    return np.array(stalls)


@pytest.mark.parametrize("seed", range(8))
def test_a_ration_and_the_room_that_ends_it_are_told_from_when_writes_wait(seed: int) -> None:
    rng = np.random.default_rng(seed)
    visits, wanted = int(rng.integers(2, 30)), int(rng.integers(300, 4000))
    rooms = np.diff(np.floor(np.cumsum(3 * 1.25 ** np.arange(34))), prepend=0).astype(int).tolist()
    stalls = _stalls(visits, wanted, rooms)
    found = ration.from_stalls(stalls, int(stalls[-1]) + 1, 1000.0)
    assert found, f"seed {seed}"
    assert abs(found.visits - visits) <= 1, f"seed {seed}"
    assert found.room.low * 0.98 <= wanted * 1000 <= found.room.high * 1.02, f"seed {seed}"
    # About as well as passes make more room each.
    assert found.room.high < 1.5 * found.room.low, f"seed {seed}"


def test_where_each_pass_makes_more_room_and_all_of_it_is_used_nothing_is_rationed() -> None:
    rooms = np.diff(np.floor(np.cumsum(3 * 1.25 ** np.arange(30))), prepend=0).astype(int)
    assert ration.from_stalls(np.cumsum(rooms), int(rooms.sum()) + 1, 1000.0) is None
    assert ration.from_stalls(np.zeros(0, int), 200, 1000.0) is None


def test_where_it_does_not_end_only_so_much_is_told() -> None:
    found = ration.from_stalls(np.arange(12) * 12, 11 * 12 + 100, 1000.0)
    assert found
    assert (found.visits, found.room.low, found.room.high) == (12, 100_000.0, np.inf)


@pytest.mark.parametrize(("every", "told"), [(300, False), (240, True)])
def test_as_many_visits_as_there_are_between_two_journals_are_no_ration(
    every: int, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "pass_of", lambda _: Pass(Estimate.around(2.0, 0.0), 0))
    cache = Cache("outer", journal=Journal(every, 700.0), ration=ration.Ration(300, Estimate(1e7, 1e7, np.inf)))
    twin = Twin("mine", "mine")
    passes.put_pass(twin, cast(Facts, SimpleNamespace(cache=cache)))
    assert ("ration_appends" in twin.sections["translation.cleaning"]) is told


def test_passes_that_take_as_long_and_come_unlike_far_apart_are_uneven() -> None:
    """After the first pass twelve writes came, after the next 119, as long as either took: rations were not seen."""
    stalls, took = np.array([9436, 9448, 9567]), np.array([7069.0, 7251.0, 7263.0])
    assert _are_uneven(stalls, took)
    assert not _are_uneven(np.array([9436, 9520, 9604]), took)
    assert not _are_uneven(stalls, np.array([1000.0, 7251.0, 7263.0]))
    assert not _are_uneven(stalls[:2], took[:2])


@pytest.mark.parametrize(("log_bytes", "until"), [(9_700_003_840, 0.99), (21_700_005_888, 0.9)])
def test_until_when_writes_are_rationed_is_told(log_bytes: int, until: float, tmp_path: Path) -> None:
    """Of the short log nothing was told, and 0.99 was put for any: 1.5 writes a second or 1.8 on a full cache."""
    truth = changed("canvio-3tb", translation__cache__bytes=log_bytes, translation__cleaning__ration_until=until)
    twin = measured(truth, tmp_path).twin
    _, origin = twin.sections["translation.cleaning"]["ration_until"]
    low, high = (float(end) for end in origin.split()[1].split(".."))
    assert low <= until <= high
    assert 1 - twin.number("translation.cleaning", "ration_until") == pytest.approx(1 - until, rel=0.2)
    assert twin.value("translation.cleaning", "ration_appends") == 12
