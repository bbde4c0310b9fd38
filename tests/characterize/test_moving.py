"""Whether bands move, where each begins at nearly the angle of the next."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from characterize.blind import changed, small_wild
from characterize.measured import measured
from shakedown.fit.cleaning import moving
from shakedown.fit.cleaning.bands import Bands, Homecoming
from shakedown.fit.estimate import Estimate
from shakedown.fit.place import apart

_BAND = 40 << 20
_NEARLY_ALIKE = 0.021


def test_bands_that_are_cleaned_far_from_each_other_would_show() -> None:
    by_chance = np.random.default_rng(7).permutation(72)
    assert moving.would_show(by_chance, _NEARLY_ALIKE)
    # In a row each goes to where its neighbour was, or one some places further.
    assert not moving.would_show(np.arange(72), _NEARLY_ALIKE)
    # Five steps of 19 around 72 are 49 bands back, or 23 on: the one is a whole turn.
    assert not moving.would_show(apart(72), _NEARLY_ALIKE)
    # No way is far enough where all begin at the same angle.
    assert not moving.would_show(by_chance, 0.0)
    assert not moving.would_show(by_chance[:12], _NEARLY_ALIKE)


@pytest.mark.parametrize("seed", range(4))
def test_bands_are_told_in_the_order_in_which_they_came_home(seed: int) -> None:
    order = np.random.default_rng(seed).permutation(12)
    rounds = np.repeat(np.argsort(order), 2)
    against = np.abs(np.arange(13)[:, None] - rounds).astype(float)
    seen = Homecoming(np.arange(24) * (_BAND // 2), against, 1.0)
    found = moving.cleaned(seen, Bands(Estimate.around(_BAND, 0), 0))
    # The last has no look behind it that would make sure of it.
    assert found[:11].tolist() == order[:11].tolist(), f"seed {seed}"


def test_bands_that_move_are_told_though_they_begin_nearly_alike(tmp_path: Path) -> None:
    """What a band more is later by, 0.021 turns, is less than angles are told apart by. A small log is soon full."""
    moves = {"translation__mapping": "dynamic", "translation__spare_bands": 3, "translation__cache__bytes": 4 << 30}
    twin = measured(changed("skylight-1", **moves), tmp_path).twin
    assert twin.value("translation", "mapping") == "dynamic"
    assert "translation.mapping" not in twin.unidentified()
    assert "geometry.inner_track_bytes" in twin.unidentified()


def test_a_small_drive_whose_bands_move_has_zones_that_hold_spare_ones(tmp_path: Path) -> None:
    """Of 32 zones each would hold four bands, of which two are spare: no profile, so no twin was written."""
    outcome = measured(small_wild(7960), tmp_path)
    assert outcome.refusal is None
    assert outcome.twin.value("translation", "mapping") == "dynamic"
