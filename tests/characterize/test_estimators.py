"""Estimators against logs that were made up, with the noise of a real host."""

from __future__ import annotations

import numpy as np
import pytest

from shakedown.fit import append, bands, rotation, seek
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
    assert first_stall(log, stall_limit_ms(log, found.ms)) == 2500
