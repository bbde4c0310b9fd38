"""Where a log lies, and how many there are: estimators against steps that were made up, with the noise of a host."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from characterize.blind import Truth, changed, small, wild, with_values
from characterize.measured import measured
from shakedown.fit.log import layout, log_track
from shakedown.fit.trace import BLOCK_BYTES


def _steps(track_bytes: float, skew: float, noise: float) -> np.ndarray:
    draw = np.random.default_rng(5)
    begins = draw.random((len(log_track.SIZES), 20))
    turns = np.array([[(size - BLOCK_BYTES) / track_bytes] for size in log_track.SIZES])
    return np.asarray((turns + skew * np.floor(begins + turns) + draw.normal(0, noise, begins.shape)) % 1.0)


@pytest.mark.parametrize("track", [520_192, 881_600, 1_421_312])
@pytest.mark.parametrize("noise", [0.001, 0.01])
def test_what_was_written_tells_the_tracks_that_it_lies_on(track: int, noise: float) -> None:
    assert log_track.estimate(_steps(track, 0.14, noise), 1_700_000.0, (0.14,), 0.01) == pytest.approx(track, rel=0.01)


@pytest.mark.parametrize("noise", [0.003, 0.015])
def test_tracks_that_are_known_already_stay_as_they_are(noise: float) -> None:
    assert log_track.estimate(_steps(1_071_167, 0.217, noise), 1_071_000.0, (0.217, 0.286), 0.01) == 1_071_000.0


def test_a_write_of_several_packets_that_lie_apart_tells_no_track_of_the_log() -> None:
    """Packets of 128 KiB that take 0.4 tracks: with other tracks the last blocks of 512 KiB would lie as they do."""
    track, skews = 1_638_400, (0.2139, 0.2944)
    sizes = np.array(log_track.SIZES)
    tracks = (sizes // 131_072 - (sizes % 131_072 == 0)) * 0.4 + ((sizes - BLOCK_BYTES) % 131_072) / track
    begins = np.random.default_rng(7).random((len(sizes), 20))
    borders = np.floor(begins + tracks[:, None])
    steps = (tracks[:, None] + skews[0] * borders) % 1.0
    assert log_track.estimate(steps, float(track), skews, 0.01) == track


@pytest.mark.parametrize("packet", [262_144, 327_680, 393_216])
@pytest.mark.parametrize("gap", [60_000, 200_000])
def test_gaps_between_packets_are_no_part_of_a_track(packet: int, gap: int) -> None:
    """Packets of 320 KiB that take 0.25 tracks: a log was 12 % too short, for its tracks seemed to be."""
    track, skews = 1_601_536, (0.139, 0.183)
    last = np.array(log_track.SIZES) - BLOCK_BYTES
    tracks = (last + last // packet * gap)[:, None] / track
    draw = np.random.default_rng(8)
    steps = tracks + skews[0] * np.floor(draw.random((len(last), 20)) + tracks)
    steps += draw.normal(0, 0.004, steps.shape)
    assert log_track.estimate(steps % 1.0, float(track), skews, 0.01) == track
    # Nor do they hide that there is another: of a cache in several places.
    assert log_track.estimate(steps % 1.0, 1.25 * track, skews, 0.01) == pytest.approx(track, rel=0.02)


def test_what_came_home_tells_no_track_of_the_log() -> None:
    steps = np.full_like(_steps(881_600, 0.14, 0.0), np.nan)
    assert log_track.estimate(steps, 2_000_000.0, (0.14,), 0.01) == 2_000_000.0


_SKEWS = (0.13, 0.2)
_HEADS = 4


def _logged(visit: float, track: int, cut: int | None = None) -> np.ndarray:
    """Angles of writes that take a part of a track and their data; what is ``cut`` in two takes that part twice."""
    at, rows = 0.0, []
    for size in layout.SIZES:
        spaces = np.full(48, visit + size / track)
        if cut is not None:
            spaces[cut] += visit
        tracks = at + np.concatenate([[0.0], np.cumsum(spaces)])
        at, tracks = tracks[-1], tracks[:-1]
        cylinders = np.floor(np.floor(tracks) / _HEADS)
        rows.append((tracks + _SKEWS[0] * np.floor(tracks) + (_SKEWS[1] - _SKEWS[0]) * cylinders) % 1.0)
    return np.array(rows)


def _found(angles: np.ndarray, track: int, skews: tuple[float, ...]) -> layout.Layout:
    mean_skew = _SKEWS[0] + (_SKEWS[1] - _SKEWS[0]) / _HEADS
    return layout.estimate(angles, track / (1 + mean_skew), track, skews)


@pytest.mark.parametrize(("visit", "skews"), [(0.3, ()), (0.3, _SKEWS), (0.9, _SKEWS)])
def test_borders_of_tracks_tell_a_part_of_a_track_from_a_turn_more(visit: float, skews: tuple[float, ...]) -> None:
    """The mean of the steps is the same, and data adds as much; but what is short crosses few borders."""
    found = _found(_logged(visit, 1_600_000), 1_600_000, skews)
    assert found.visit_tracks.value == pytest.approx(visit, abs=0.02)


@pytest.mark.parametrize("visit", [0.3, 0.7])
def test_a_write_that_a_border_of_bands_cuts_in_two_does_not_shift_the_others(visit: float) -> None:
    found = _found(_logged(visit, 1_437_696, cut=20), 1_437_696, _SKEWS)
    assert found.visit_tracks.value == pytest.approx(visit, abs=0.02)
    assert found.misfit_tracks < 0.02


@pytest.mark.parametrize(
    ("least", "heads", "packet"), [(0.4, 2, 524_288), (0.4, 6, 524_288), (0.3, 3, 294_912), (0.4, 3, 393_216)]
)
def test_what_crosses_borders_and_cylinders_is_known_to_a_hundredth_of_a_track(
    least: float, heads: int, packet: int
) -> None:
    """With 0.8 tracks more, and as many borders more, the mean would be the same: 0.4 and 1.2 tracks, skews of 0.2."""
    track, skews, at, rows = 790_528, (0.211, 0.297), 0.0, []
    draw = np.random.default_rng(heads)
    for size in layout.SIZES:
        tracks = at + np.arange(48) * layout.packed_bytes(size, packet, least * track) / track
        at = tracks[-1] + (tracks[-1] - tracks[-2])
        cylinders = np.floor(np.floor(tracks) / heads)
        rows.append(tracks + skews[0] * np.floor(tracks) + (skews[1] - skews[0]) * cylinders)
    angles = (np.array(rows) + draw.normal(0, 0.004, (len(rows), 48))) % 1.0
    angles[draw.random(angles.shape) < 0.04] = np.nan
    mean_skew = skews[0] + (skews[1] - skews[0]) / heads
    found = layout.estimate(angles, track / (1 + mean_skew), track, skews, 0.01)
    assert found.visit_tracks.value == 0.0
    assert found.packet_tracks.value == pytest.approx(least, abs=0.01)
    assert found.alike_bytes[0] <= packet <= found.alike_bytes[-1] <= 1.1 * found.alike_bytes[0]


def test_small_packets_that_take_nearly_a_turn_more_from_size_to_size_are_seen_as_such() -> None:
    """From 512 to 768 KiB 0.8 tracks more are 0.97 turns, which looks like hardly less; no room is left for 1 MiB."""
    track, skews, at, rows = 1_638_400, (0.2139, 0.2944), 0.0, []
    for size in layout.SIZES:
        tracks = at + np.arange(48) * layout.packed_bytes(size, 131_072, 0.4 * track) / track
        at = tracks[-1] + (tracks[-1] - tracks[-2])
        cylinders = np.floor(np.floor(tracks) / 6)
        rows.append((tracks + skews[0] * np.floor(tracks) + (skews[1] - skews[0]) * cylinders) % 1.0)
    angles = np.array(rows)
    angles[-1] = np.nan
    found = layout.estimate(angles, track / (1 + skews[0] + (skews[1] - skews[0]) / 6), track, skews, 0.01)
    assert found.packet_bytes == 131_072
    assert found.packet_tracks.value == pytest.approx(0.4, abs=0.01)
    assert found.visit_tracks.value == 0.0


def _logs(cache: dict[str, object]) -> Truth:
    keys = {f"translation__cache__{key}": value for key, value in cache.items()}
    return changed("wd40efax", translation__cache__place="spread", **keys)


def _small_logs(capacity_bytes: int, cache: dict[str, object]) -> Truth:
    values = small().values | {
        "geometry.capacity_bytes": capacity_bytes // BLOCK_BYTES * BLOCK_BYTES,
        "geometry.heads": 7,
        "geometry.track_skew_degrees": 76,
        "geometry.cylinder_skew_degrees": 95,
        "translation.cache.place": "spread",
        "translation.cache.entries": 9000,
    }
    return with_values(values | {f"translation.cache.{key}": value for key, value in cache.items()})


@pytest.mark.parametrize(
    ("capacity_bytes", "cache"),
    [
        # What is written to see where each ends is more than one of them holds: some has come home by then.
        (33_000_000_000, {"regions": 2, "bytes": 678_002_688, "packet_tracks": 0.0, "append_tracks": 0.5}),
        # Each begins at a place that is looked at.
        (15_000_000_000, {"regions": 12, "bytes": 4_751_998_976, "packet_tracks": 0.4}),
    ],
)
def test_several_logs_of_a_small_drive_are_counted(
    capacity_bytes: int, cache: dict[str, object], tmp_path: Path
) -> None:
    truth = _small_logs(capacity_bytes, cache)
    twin = measured(truth, tmp_path).twin
    assert twin.value("translation.cache", "regions") == cache["regions"]
    # What a visit costs is measured within one of them.
    truly = truth.values["translation.cache.append_turns"]
    assert twin.value("translation.cache", "append_turns") == pytest.approx(truly, abs=0.15)


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
    twin = measured(truth, tmp_path).twin
    assert twin.value("translation.cache", "regions") == cache["regions"]
    assert twin.value("translation.cache", "bytes") == pytest.approx(truth.values["translation.cache.bytes"], rel=0.05)


def test_entries_that_all_logs_share_are_told_where_the_space_of_one_ends_first(tmp_path: Path) -> None:
    """Eight logs and packets of eleven writes: "at least 976,000 writes", of one log, was told for 128,000 packets."""
    truth = wild(8100)
    twin = measured(truth, tmp_path).twin
    assert not {"translation.cache.entries", "translation.cache.entry_counts"} & {*twin.unidentified()}
    assert twin.value("translation.cache", "entry_counts") == truth.values["translation.cache.entry_counts"]
    assert twin.number("translation.cache", "entries") == pytest.approx(
        truth.values["translation.cache.entries"], rel=0.01
    )
