"""Estimators against logs that were made up, with the noise of a real host."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from shakedown.fit import append, bands, layout, rotation, seek
from shakedown.fit.fill import Limits, stalls_in
from shakedown.fit.trace import Log


def _log(completed_ms: np.ndarray, latency_ms: np.ndarray, offsets: np.ndarray | None = None) -> Log:
    completed = (completed_ms * 1e6).astype(np.int64)
    submitted = completed - (latency_ms * 1e6).astype(np.int64)
    zeros = np.zeros(len(completed), np.int64)
    return Log(submitted, completed, zeros if offsets is None else offsets, zeros + 4096, zeros, int(completed[-1]))


@pytest.mark.parametrize("rpm", [5400.0, 5980.0, 7200.0, 10_025.0])
def test_the_turn_is_found_through_jitter(rpm: float) -> None:
    draw = np.random.default_rng(1)
    turn_ms = 6e4 / rpm
    offsets = np.concatenate([draw.permutation(300) for _ in range(4)])
    phases = draw.random(300)[offsets]
    at, completed = 0.0, []
    for phase in phases:
        at = (np.floor((at + 3) / turn_ms - phase) + 1 + phase) * turn_ms
        completed.append(at)
    late = draw.exponential(0.2, len(completed))
    found = rotation.estimate(_log(np.array(completed) + late, np.full(len(completed), 8.0), offsets * 4096))
    assert found.value == pytest.approx(turn_ms, rel=1e-4)


def test_a_seek_lies_between_the_luckiest_and_the_unluckiest_read() -> None:
    waits = np.random.default_rng(2).random(60) * 8.3
    found = seek.bracket(0.1 + 7.0 + waits, 0.1, 8.3)
    assert found.low <= 7.0 <= found.high
    assert found.value == pytest.approx(7.0, abs=0.4)


def test_bands_are_counted_though_some_came_home_together() -> None:
    offsets = np.arange(120) * 1_000_000
    band = (offsets + 3_500_000) // 20_000_000
    rounds = np.array([0, 1, 1, 2, 3, 4, -1])[band]
    found = bands.estimate(bands.Homecoming(offsets, rounds, 1.0))
    assert found is not None
    assert found.size_bytes.value == pytest.approx(20e6, rel=0.03)


def test_a_journal_is_no_stall() -> None:
    latency = np.full(3000, 6.0)
    latency[239::240] += 300
    latency[2500] = 2500
    log = _log(np.cumsum(latency), latency)
    found = append.journal(log.part(slice(0, 1500)))
    assert (found.every, round(found.ms)) == (240, 300)
    assert not len(stalls_in(log.cycle_ms, Limits(6.0, found.ms)))


def test_stalls_are_those_that_come_in_a_row() -> None:
    latency = np.full(9000, 6.0)
    latency[239::240] += 300
    latency[5000] = 2500
    latency[8000::300] = 700
    log = _log(np.cumsum(latency), latency)
    assert stalls_in(log.cycle_ms, Limits(6.0, 300.0))[0] == 8000


def _logged(space: Callable[[int], float], track_bytes: float) -> np.ndarray:
    """Angles of writes that take so much of a log each, on tracks with a skew of a tenth of a turn."""
    at, rows = 0.0, []
    for size in layout.SIZES:
        places = at + np.arange(48) * space(size)
        at = places[-1] + space(size)
        rows.append((places / track_bytes + 0.1 * np.floor(places / track_bytes)) % 1.0)
    return np.array(rows)


@pytest.mark.parametrize(
    ("visit", "least", "packet"), [(0.0, 0.0, 1 << 40), (0.5, 0.0, 1 << 40), (0.0, 0.4, 524_288), (0.5, 0.4, 524_288)]
)
def test_angles_tell_what_a_visit_and_a_packet_take(visit: float, least: float, packet: int) -> None:
    track = 1_900_544.0
    angles = _logged(lambda size: visit * track + layout.packed_bytes(size, packet, least * track), track)
    jitter = np.random.default_rng(3).normal(0, 0.004, angles.shape)
    found = layout.estimate((angles + jitter) % 1.0, track / 1.1, track)
    assert found.visit_tracks.value == pytest.approx(visit, abs=0.02)
    assert found.packet_tracks.value == pytest.approx(least, abs=0.02)
    assert found.space_bytes(1 << 20) == pytest.approx(
        visit * track + layout.packed_bytes(1 << 20, packet, least * track), rel=0.02
    )
