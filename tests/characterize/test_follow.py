"""What a visit to the log takes longer right behind another, from how fast a full memory is emptied."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from characterize.blind import small, with_values
from characterize.measured import measured
from shakedown.fit.log import pace

TAKEN_MS = 0.08


def _waits(count: int, every: int, wait_ms: float) -> np.ndarray:
    cycle_ms = np.full(count, TAKEN_MS)
    cycle_ms[every - 1 :: every] += wait_ms
    return cycle_ms


def test_a_host_that_is_late_and_a_journal_change_no_pace() -> None:
    cycle_ms = _waits(1500, 192, 28.8)
    draw = np.random.default_rng(7)
    cycle_ms[draw.choice(1500, 30, replace=False)] += 3.0
    cycle_ms[4 * 192 - 1] += 800.0
    seen = pace.estimate(np.concatenate([cycle_ms, _waits(6000, 192, 28.8)]))
    assert seen is not None
    assert seen.writes == 192
    assert seen.ms.value == pytest.approx(28.8 + 192 * TAKEN_MS, rel=0.02)


def test_waits_at_any_distance_are_no_pace() -> None:
    cycle_ms = np.full(3000, TAKEN_MS)
    cycle_ms[np.random.default_rng(8).choice(3000, 40, replace=False)] += 20.0
    assert pace.estimate(cycle_ms) is None


@pytest.mark.parametrize("turns", [0.0, 0.5])
def test_what_has_just_gone_by_is_waited_for(turns: float, tmp_path: Path) -> None:
    values = {"packet_writes": 11, "packet_turns": 0.0, "append_turns": 1.2, "follow_turns": turns, "entries": 2500}
    truth = with_values(small().values | {f"translation.cache.{key}": value for key, value in values.items()})
    twin = measured(truth, tmp_path).twin
    assert "translation.cache.follow_turns" not in twin.unidentified()
    assert twin.value("translation.cache", "follow_turns") == pytest.approx(turns, abs=0.02)
