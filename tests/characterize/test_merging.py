"""Whether a band is put aside on disk shows in what cleaning takes, as far as nothing else that is not known does."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from characterize.blind import changed, wild, with_values
from characterize.measured import measured
from shakedown.fit.drafting import calibrate
from shakedown.fit.twin import Twin

ON_DISK = "translation.cleaning.merge_on_disk"
MERGED = "translation.cleaning.merge_bytes"
SMALL: dict[str, Any] = {
    "geometry__capacity_bytes": 2_000_000_000_000,
    "geometry__heads": 4,
    "geometry__track_skew_degrees": 32,
    "geometry__cylinder_skew_degrees": 44,
    "translation__cache__bytes": 9_999_998_976,
    "translation__cache__entries": 100_000,
    "translation__cleaning__bands_per_pass": 1,
}
MOVES: dict[str, Any] = {"translation__mapping": "dynamic", "translation__spare_bands": 2}


def _characterized(folder: Path, name: str = "wd40efax", **new: Any) -> Twin:
    return measured(changed(name, **new), folder).twin


def test_bands_that_begin_at_one_angle_and_move_are_told_by_the_few_that_stay(tmp_path: Path) -> None:
    """Bands of 20 tracks begin at the same angle here. Pieces take a turn each: 3.04 times a reading."""
    new = SMALL | MOVES | {"translation__tracks_per_band": 20, "translation__cleaning__collect_turns": 1.0}
    twin = _characterized(tmp_path, **new)
    assert (twin.value("translation", "mapping"), "translation.mapping" in twin.unidentified()) == ("dynamic", False)
    assert {ON_DISK, MERGED} <= {*twin.unidentified()}


def test_of_bands_that_move_it_is_not_known_whether_they_would_be_put_aside(tmp_path: Path) -> None:
    twin = _characterized(tmp_path, **SMALL, **MOVES, translation__tracks_per_band=23)
    assert twin.value("translation", "mapping") == "dynamic"
    assert "translation.mapping" not in twin.unidentified()
    assert ON_DISK in twin.unidentified()


def test_what_collecting_takes_is_no_putting_aside(tmp_path: Path) -> None:
    """Where that was not known it counted as nothing: 3.80 times what reading a band takes, and so put aside."""
    new = SMALL | {"translation__tracks_per_band": 18, "translation__cleaning__collect_turns": 1.0}
    twin = _characterized(tmp_path, **new, translation__cleaning__merge_bytes=4 << 20)
    unknown = twin.unidentified()
    assert "translation.mapping" not in unknown
    assert ON_DISK in unknown or twin.value("translation.cleaning", "merge_on_disk") is False
    # What is merged at a time was fitted beside that.
    assert MERGED in unknown


def test_what_is_merged_is_not_known_where_collecting_is_not(tmp_path: Path) -> None:
    """Pieces of 1.5 turns were fitted with 0.2: 3.7 to 10.4 MB were told for 14.7."""
    new = SMALL | {"translation__tracks_per_band": 18, "translation__cleaning__collect_turns": 1.5}
    assert MERGED in _characterized(tmp_path, **new).unidentified()


@pytest.mark.parametrize("on_disk", [False, True])
def test_whether_bands_that_stay_are_put_aside_is_told(on_disk: bool, tmp_path: Path) -> None:
    twin = _characterized(tmp_path, "st8000as0002", translation__cleaning__merge_on_disk=on_disk)
    assert ON_DISK not in twin.unidentified()
    assert twin.value("translation.cleaning", "merge_on_disk") is on_disk


@pytest.mark.parametrize(
    ("on_disk", "whole", "place"),
    # Where tracks hold half as much all of a band takes twice as long to collect.
    [(True, True, "outer"), (True, False, "outer"), (False, True, "outer"), (False, False, "inner")],
)
def test_whether_all_of_a_band_is_merged_is_told(on_disk: bool, whole: bool, place: str, tmp_path: Path) -> None:
    """Else a twin of a drive that merges all writes 32 KiB in sequence half as fast again, once its cache is full."""
    new: dict[str, Any] = {"translation__cleaning__merge_on_disk": on_disk, "translation__cleaning__merge_whole": whole}
    new |= {
        "translation__cache__place": place,
        "translation__cleaning__collect_turns": 0.2 if place == "outer" else 0.33,
    }
    twin = _characterized(tmp_path, "st8000as0002", **new)
    assert ("merge_whole" in twin.sections["translation.cleaning"]) is whole


def test_heads_that_parked_beside_a_log_in_flash_make_no_pass_longer(tmp_path: Path) -> None:
    """While flash is filled nothing moves them: a pass took 256 ms more, so 5.8 MB were told for 14.7."""
    passes = []
    for park_after_s in (0, 300):
        (folder := tmp_path / str(park_after_s)).mkdir()
        truth = with_values(wild(4142).values | {"mechanics.park_after_s": park_after_s})
        found = measured(truth, folder).facts.cache
        assert found
        assert found.forced
        passes.append(found.forced.ms.value)
    assert passes[1] == pytest.approx(passes[0], abs=25)


def _chosen(misses: dict[float, float], direct: float = 14.0) -> float:
    """Which of some candidates is taken, where as many shares are off; of a value that is usual and not measured."""
    stage = calibrate.Stage(
        "translation.cleaning", "merge_bytes", 1, (1.0,), 1.0, 0.1, lambda _: None, "pass", usual=True
    )
    tried = [calibrate._Tried(1 + miss, value, cast("Any", None)) for value, miss in misses.items()]
    return calibrate._chosen(stage, tried, direct).value


def test_the_usual_buffer_stays_where_it_may_be_luck_that_others_come_nearer() -> None:
    assert _chosen({5: 0.05, 9: 0.0, 14: 0.024, 20: 0.04, 58: 0.09}) == 14
    assert _chosen({5: 0.05, 9: 0.0, 14: 0.026, 20: 0.04, 58: 0.09}) == 9


def test_whoever_merges_all_of_a_band_comes_nearest_without_luck() -> None:
    assert _chosen({5: 0.05, 14: 0.02, 24: 0.0, 37: 0.0, 58: 0.0}) == 37
    assert _chosen({5: 0.05, 14: 0.005, 24: 0.0, 37: 0.0, 58: 0.0}) == 14


def test_a_buffer_that_holds_a_band_makes_the_twin_as_fast_as_the_drive(tmp_path: Path) -> None:
    """The usual one agrees with the time of a forced pass, too, and made it 6 to 8 % slower."""
    twin = measured(with_values(wild(5003).values | {ON_DISK: False, MERGED: 67_108_864}), tmp_path).twin
    assert MERGED in twin.unidentified()
    assert twin.number("translation.cleaning", "merge_bytes") > 29_000_000
