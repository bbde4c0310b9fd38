"""Where a log lies, and how many there are: estimators against steps that were made up, with the noise of a host."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from characterize.blind import Truth, changed
from shakedown.characterize.run import Order, characterize
from shakedown.fit import layout, log_track
from shakedown.fit.trace import BLOCK_BYTES


def _steps(track_bytes: float, skew: float, noise: float) -> np.ndarray:
    draw = np.random.default_rng(5)
    begins = draw.random((len(log_track.SIZES), 20))
    turns = np.array([[(size - BLOCK_BYTES) / track_bytes] for size in log_track.SIZES])
    return (turns + skew * np.floor(begins + turns) + draw.normal(0, noise, begins.shape)) % 1.0


@pytest.mark.parametrize("track", [520_192, 881_600, 1_421_312])
def test_what_was_written_tells_the_tracks_that_it_lies_on(track: int) -> None:
    found = log_track.estimate(_steps(track, 0.14, 0.001), 2_000_000.0)
    assert found == pytest.approx(track, rel=0.02)


def test_tracks_that_are_known_already_stay_as_they_are() -> None:
    assert log_track.estimate(_steps(1_421_312, 0.14, 0.003), 1_416_000.0) == 1_416_000.0


def test_what_came_home_tells_no_track_of_the_log() -> None:
    steps = _steps(881_600, 0.14, 0.0)
    steps[:, 5:] = np.nan
    assert log_track.estimate(steps, 2_000_000.0) == 2_000_000.0


def test_borders_of_tracks_tell_a_part_of_a_track_from_a_turn_more() -> None:
    """The mean of the steps is the same, and data adds as much; but what is short crosses few borders."""
    track, skew, cylinder_skew, heads, visit = 1_600_000, 0.13, 0.2, 4, 0.3
    at, rows = 0.0, []
    for size in layout.SIZES:
        tracks = (at + np.arange(48) * (visit * track + size)) / track
        at = (tracks[-1] + visit) * track + size
        cylinders = np.floor(np.floor(tracks) / heads)
        rows.append((tracks + skew * np.floor(tracks) + (cylinder_skew - skew) * cylinders) % 1.0)
    mean_skew = skew + (cylinder_skew - skew) / heads
    found = layout.estimate(np.array(rows), track / (1 + mean_skew), track)
    assert found.visit_tracks.value == pytest.approx(visit, abs=0.02)


def _logs(cache: dict[str, object]) -> Truth:
    keys = {f"translation__cache__{key}": value for key, value in cache.items()}
    return changed("wd40efax", translation__cache__place="spread", **keys)


@pytest.mark.parametrize(
    "cache",
    [
        {"regions": 12, "packet_tracks": 0.4, "append_tracks": 0.5, "packet_writes": 1},
        {"regions": 5, "packet_tracks": 0.0, "append_tracks": 0.5, "packet_writes": 4},
        {"regions": 2, "packet_tracks": 0.4, "append_tracks": 0.0, "packet_writes": 4},
    ],
    ids=["gaps-and-visits", "visits", "gaps"],
)
def test_several_logs_are_as_long_as_they_are_whatever_a_visit_takes(cache: dict[str, object], tmp_path: Path) -> None:
    truth = _logs(cache)
    profile = tmp_path / "hidden.toml"
    profile.write_text(truth.toml)
    order = Order(target=f"model:{profile}", name="hidden-twin", with_parking=False)
    twin = characterize(order, tmp_path / "run", (), lambda _: None).twin
    assert twin.value("translation.cache", "regions") == cache["regions"]
    assert twin.value("translation.cache", "bytes") == pytest.approx(truth.values["translation.cache.bytes"], rel=0.05)
