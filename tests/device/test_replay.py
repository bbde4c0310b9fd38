"""fio's log of latencies as a log of requests: what of it is exact, and in which order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shakedown.device.replay import read_log
from shakedown.fit.trace import READ, WRITE, Log, Trace


def _logged(folder: Path, trace: Trace, completed_ms: list[float], latency_ms: list[float]) -> Log:
    """What fio notes of requests: the millisecond of their completion, and the latency in nanoseconds."""
    asked = trace.verbs != 3
    rows = zip(completed_ms, latency_ms, trace.verbs[asked], trace.lengths[asked], trace.offsets[asked], strict=True)
    lines = [
        f"{int(at)}, {round(late * 1e6)}, {verb}, {length}, {offset}, 0" for at, late, verb, length, offset in rows
    ]
    (folder / "requests_lat.1.log").write_text("\n".join(lines) + "\n")
    return read_log(folder, trace)


def _places(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(count).astype(np.int64) * 4096


@pytest.mark.parametrize("seed", range(5))
def test_writes_keep_their_order_and_none_begins_before_the_last_is_complete(seed: int, tmp_path: Path) -> None:
    draw = np.random.default_rng(seed)
    count = 300
    latency = draw.choice([0.04, 0.06, 0.3, 9.0], count, p=[0.5, 0.3, 0.15, 0.05])
    gaps = draw.choice([0.01, 0.02, 5.0], count, p=[0.6, 0.3, 0.1])
    completed = 1000 + draw.random() + np.cumsum(latency + gaps)
    trace = Trace.writes(_places(count, seed))
    log = _logged(tmp_path, trace, list(completed), list(latency))
    assert list(log.offsets) == list(trace.offsets), f"seed {seed}"
    assert log.latency_ms == pytest.approx(latency, abs=1e-6)
    assert np.all(log.submitted_ns[1:] >= log.completed_ns[:-1] - 1), f"seed {seed}"
    assert np.abs(log.completed_ns / 1e6 - completed).max() <= 1.0, f"seed {seed}"


def test_among_writes_close_together_a_moment_is_known_to_less_than_a_millisecond(tmp_path: Path) -> None:
    """Twenty of 0.1 ms each within two milliseconds can hardly lie otherwise."""
    completed = 1000.0 + 0.1 * np.arange(1, 21) - 1e-3
    log = _logged(tmp_path, Trace.writes(_places(20, 1)), list(completed), [0.1] * 20)
    assert np.abs(log.completed_ns / 1e6 - completed).max() < 0.06


def test_the_log_says_what_its_moments_are_known_to(tmp_path: Path) -> None:
    """Of reads that follow each other at once the latencies tell when; a flush between writes shows nowhere."""
    completed = list(1000.0 + 8.1 * np.arange(20))
    reads = _logged(tmp_path, Trace.reads(_places(20, 1)), completed, [8.1] * 20)
    writes = _logged(tmp_path, Trace.writes(_places(20, 1), flush_every=1), completed, [0.1] * 20)
    assert (reads.grain_ns, writes.grain_ns) == (0, 1_000_000)
    assert writes.part(slice(3)).grain_ns == 1_000_000


def test_a_late_host_moves_what_it_held_up_and_nothing_else_by_more_than_a_millisecond(tmp_path: Path) -> None:
    latency = np.full(40, 0.5)
    gaps = np.zeros(40)
    gaps[20] = 7.0
    completed = 1000.2 + np.cumsum(latency + gaps)
    stamps = completed.copy()
    stamps[10] += 3.0
    log = _logged(tmp_path, Trace.writes(_places(40, 2)), list(stamps), list(latency))
    off = np.abs(log.completed_ns / 1e6 - completed)
    assert off[21:].max() <= 1.0
    assert off.max() <= 4.0


def test_several_in_flight_come_in_the_order_of_their_submission(tmp_path: Path) -> None:
    trace = Trace(np.array([READ, WRITE]), np.array([0, 4096]), np.array([4096, 4096]), depth=2)
    log = _logged(tmp_path, trace, [1009.5, 1010.5], [3.0, 8.0])
    assert list(log.offsets) == [4096, 0]
