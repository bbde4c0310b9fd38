"""Bands through a host that is late too often."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from shakedown.fit.cleaning import bands
from shakedown.fit.cleaning.bands import Bands, Homecoming, Looks
from shakedown.fit.cleaning.grid import fitted
from shakedown.fit.drive.whereabouts import Sight
from shakedown.fit.estimate import Estimate
from shakedown.fit.trace import Floats, Ints

_SIGHT = Sight(10.0)
_MB = 1_000_000


def _looks(rounds: Ints, count: int, rng: np.random.Generator) -> tuple[list[Floats], Floats]:
    """Looks at blocks that leave where they lay in a round each, known to a hundredth of a turn; and where they lay."""
    before, home = rng.random((2, len(rounds)))
    home = np.where(np.abs(home - before) < 0.1, before + 0.3, home)
    lie = [np.where(number >= rounds, home, before) + rng.normal(0, 0.003, len(rounds)) for number in range(count)]
    return [np.asarray(one % 1.0) for one in lie], before


def _seen(rounds: Ints) -> Homecoming:
    """Blocks a MB apart that came home in these rounds, each seen at one look a round."""
    against = np.abs(np.arange(int(rounds.max()) + 2)[:, None] - rounds).astype(float)
    return Homecoming(np.arange(len(rounds)) * _MB, against, 1.0)


@pytest.mark.parametrize("seed", range(4))
def test_a_look_that_the_host_blurred_brings_nothing_home(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rounds = np.repeat([2, 5, 7, 9], 24)
    looks, before = _looks(rounds, 12, rng)
    # Two in a row, just before a band comes home: one that lay elsewhere then was taken for one that had left.
    for blurred in (3, 4):
        looks[blurred] = (looks[blurred] + np.where(rng.random(96) < 0.7, rng.random(96) * 0.4 + 0.05, 0.0)) % 1.0
    against = bands.against_each_round(looks, before, _SIGHT)
    # All but the few that the blur has put by chance where they lie in the end.
    right = against[rounds, np.arange(96)] == against.min(axis=0)
    assert right.mean() > 0.9, f"seed {seed}"


@pytest.mark.parametrize("seed", range(8))
def test_a_grid_is_found_though_rounds_saw_two_bands_and_many_blocks_are_told_wrongly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = rng.uniform(14, 26)
    band = ((np.arange(144) + rng.uniform(0, size)) / size).astype(int)
    # Of each three bands two come home in one round; one block in eight is seen to come at any time.
    rounds = np.cumsum(np.tile(np.roll([1, 0, 1], seed), 5))[band]
    rounds = np.where(rng.random(144) < 1 / 8, rng.integers(0, rounds.max() + 1, 144), rounds)
    found = bands.estimate(_seen(rounds))
    assert found, f"seed {seed}"
    assert found.size_bytes.value == pytest.approx(size * _MB, rel=0.03), f"seed {seed}"
    assert found.size_bytes.low <= found.size_bytes.value <= found.size_bytes.high


def test_blocks_that_come_home_at_any_time_show_no_grid() -> None:
    rng = np.random.default_rng(1)
    assert bands.estimate(_seen(rng.integers(0, 8, 144))) is None


def test_one_size_explains_what_another_does_not() -> None:
    seen = _seen(np.arange(144) // 20)
    assert fitted(seen.offsets, seen.against, (15.0 * _MB, 25.0 * _MB))
    # Best at the end of what was allowed is not found there.
    assert fitted(seen.offsets, seen.against, (21.0 * _MB, 28.0 * _MB)) is None


@pytest.mark.parametrize(("third_mb", "found_mb"), [(20, 20.0), (40, 20.0), (28, None)])
def test_a_place_that_disagrees_has_as_many_tracks_or_is_left_out(third_mb: int, found_mb: float | None) -> None:
    fine = _seen(np.arange(144) // third_mb)
    wrong = Bands(Estimate.around(28.0 * _MB, 0.1 * _MB), 0)
    places = {
        share: Looks(Bands(Estimate.around(size * _MB, 0.1 * _MB), 0), fine, fine)
        for share, size in ((0.0, 20.1), (0.5, 15.2))
    }
    tracks = {0.0: 1.0 * _MB, 0.5: 0.75 * _MB, 1.0: 1.0 * _MB}
    found = bands.agreed(places | {1.0: Looks(wrong, fine, fine)}, tracks)
    assert found[0.0].size_bytes.value == 20.1 * _MB
    assert found[0.5].size_bytes.value == 15.2 * _MB
    if found_mb is None:
        assert 1.0 not in found
    else:
        assert found[1.0].size_bytes.value == pytest.approx(found_mb * _MB, rel=0.03)


def test_a_place_where_nothing_showed_in_fine_steps_is_known_by_coarse_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    coarse, nothing = _seen(np.arange(144) // 4), Homecoming(np.zeros(0, np.int64), np.zeros((3, 0)), 1.0)
    looks = iter([coarse, nothing])
    monkeypatch.setattr(bands, "watch_home", lambda *_: next(looks))
    bench = cast(Any, SimpleNamespace(capacity_bytes=12_000_000_000))
    found = bands.measure(bench, 0.5, _SIGHT, 1000.0).bands
    assert found
    assert found.size_bytes.value == pytest.approx(4 * _MB, rel=0.03)
