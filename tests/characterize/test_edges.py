"""Values at the edge of what is tried: the grid reaches to what there can be, or what is told is no certain number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from characterize.blind import changed, small, with_values
from characterize.measured import measured
from shakedown.fit.cleaning import band_time
from shakedown.fit.log import append
from shakedown.fit.log.layout import Layout
from shakedown.fit.twin import UNKNOWN

_TURN_MS, _TRACK = 14.2, 1_257_472.0


def _append(packet_bytes: int, writes: int, groups: int) -> append.Append:
    """What is made of visits of 0.95 turns, with 0.09 for each of their packets."""
    counts, sizes = np.array(append.GROUPS[:groups]), np.array(append.SIZES)
    by_group = 0.95 + 0.09 * np.ceil(counts / min(writes, packet_bytes // 4096)) + counts * 4096 / _TRACK
    by_size = 0.95 + 0.09 * np.ceil(sizes / packet_bytes) + sizes / _TRACK
    seen = append.Visits(counts, by_group * _TURN_MS, sizes, by_size * _TURN_MS, write_back=True)
    return append.estimate(seen, _TURN_MS, Layout.without_gaps(_TRACK), 0.1, 270.0)


@pytest.mark.parametrize("packet_bytes", [4096, 8192, 32_768])
def test_packets_of_few_blocks_are_told(packet_bytes: int) -> None:
    """Of 8 and of 32 KiB 65,536 bytes were told, at twice the cost: the least that was tried."""
    found = _append(packet_bytes, 1, 9)
    assert found.packet_bytes
    assert (found.packet_bytes.low, found.packet_bytes.high) == (packet_bytes, packet_bytes)
    assert found.packet_turns.value == pytest.approx(0.09, abs=0.001)


def test_more_writes_than_fit_into_a_packet_are_as_many() -> None:
    found = _append(32_768, 100, 9)
    assert found.packet_writes
    assert (found.packet_writes.low, found.packet_writes.high) == (8, np.inf)
    assert not found.holds_more_writes


@pytest.mark.parametrize(("writes", "fewer"), [(47, True), (48, False), (64, False), (128, False)])
def test_as_many_writes_as_the_largest_group_has_may_be_more(writes: int, fewer: bool) -> None:
    """48 were told for 49 to 200, and no others."""
    found = _append(1 << 20, writes, len(append.GROUPS))
    # From 33 to 47 the groups are alike.
    assert (found.packet_writes is None) is fewer
    assert found.holds_more_writes is not fewer


@pytest.mark.parametrize("writes", [64, 160])
def test_a_twin_is_as_fast_as_a_drive_whose_packets_hold_more_than_any_group(writes: int, tmp_path: Path) -> None:
    """With 48 it was 28 % too slow until the collapse, which came after twice the time."""
    truth = changed("backup-plus-slim-2tb", translation__cache__packet_writes=writes)
    twin = measured(truth, tmp_path).twin
    assert "translation.cache.packet_writes" in twin.unidentified()
    # 128 fill a packet.
    assert twin.value("translation.cache", "packet_writes") == min(writes, 128)


@pytest.mark.parametrize(("bands", "known"), [(34, True), (48, True), (64, False)])
def test_bands_of_a_pass_that_cleans_most_of_what_is_marked(bands: int, known: bool, tmp_path: Path) -> None:
    """Of 34, 40 and 48 41 were told, as many as the room of all marks is worth, and of 64 62 with rationed visits."""
    truth = changed("backup-plus-slim-2tb", translation__cleaning__bands_per_pass=bands)
    twin = measured(truth, tmp_path).twin
    value, origin = twin.sections["translation.cleaning"]["bands_per_pass"]
    assert origin.startswith(UNKNOWN) is not known
    assert value == pytest.approx(bands, abs=2)
    if known:
        low, high = (int(end) for end in origin.split()[1].split(".."))
        assert low <= bands <= high
    assert "ration_appends" not in twin.sections["translation.cleaning"]


def test_where_one_pass_cleans_all_marks_no_more_is_told_than_that() -> None:
    found = band_time.forced(band_time.Marked(1.0, all_bands=48.0, spacing=np.inf, bands=np.inf, grain=0.25))
    assert (found.bands.value, found.bands.high, found.ration) == (48, np.inf, 0)


def test_a_log_whose_spaces_no_packet_explains_is_not_measured(tmp_path: Path) -> None:
    """Packets of 32 KiB with gaps of three times as much: 338 MB (263 to 413) were told for 140."""
    values = {"packet_bytes": 32_768, "packet_tracks": 0.1, "bytes": 139_997_184}
    truth = with_values(small().values | {f"translation.cache.{key}": value for key, value in values.items()})
    unknown = measured(truth, tmp_path).twin.unidentified()
    assert {f"translation.cache.{key}" for key in ("bytes", "entries", "packet_bytes", "packet_tracks")} <= {*unknown}
