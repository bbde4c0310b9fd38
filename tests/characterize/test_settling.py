"""What a write needs beyond a read: told from reads and durable writes between the same places."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from characterize.blind import Truth, changed
from characterize.measured import measured
from shakedown.fit.drive import settle
from shakedown.fit.estimate import Estimate
from shakedown.fit.trace import BLOCK_BYTES, Log, Trace
from shakedown.fit.twin import UNKNOWN
from shakedown.target.model import ModelArena

_TURN_MS, _OVERHEAD_MS, _PASS_MS = 8.3, 0.08, 0.02


def _truth(settle_ms: float, **other: Any) -> Truth:
    """Fifteen thousand turns, and a memory that has hundreds of writes to choose from."""
    geometry = {"capacity_bytes": 610_999_996_416, "rpm": 14_987.3, "heads": 5, "zones": 19}
    geometry |= {"outer_track_bytes": 1_077_248, "inner_track_bytes": 700_416}
    geometry |= {"track_skew_degrees": 151.0, "cylinder_skew_degrees": 163.5}
    new: dict[str, Any] = {f"geometry__{key}": value for key, value in geometry.items()}
    mechanics = {"seek_single_track_ms": 0.71, "seek_average_ms": 4.9, "seek_full_stroke_ms": 9.3}
    mechanics |= {"write_settle_ms": settle_ms, "head_switch_ms": 0.63}
    new |= {f"mechanics__{key}": value for key, value in mechanics.items()}
    return changed("st12000vn0007", **(new | {"dram__write_segments": 417, "dram__write_bytes": 24_117_248} | other))


def _rate(path: Path) -> float:
    """Small random writes a second, once memory is full."""
    arena = ModelArena(f"model:{path}", seed=1)
    blocks = arena.identity.capacity_bytes // BLOCK_BYTES
    log = arena.replay("pace", Trace.writes(np.random.default_rng(7).integers(0, blocks, 10_000) * BLOCK_BYTES))
    return 5000 / (float(log.completed_ns[-1] - log.completed_ns[4999]) / 1e9)


@pytest.mark.parametrize(("settle_ms", "write_back"), [(0.13, True), (0.55, True), (0.55, False)])
def test_settling_is_told_and_with_it_the_rate_of_random_writes(
    settle_ms: float, write_back: bool, tmp_path: Path
) -> None:
    """With 0.2 ms for 0.55, and seeks known to 0.1 ms at ten places, the twin wrote 20 % too fast."""
    outcome = measured(_truth(settle_ms, dram__write_back=write_back), tmp_path)
    _, origin = outcome.twin.sections["mechanics"]["write_settle_ms"]
    assert not origin.startswith(UNKNOWN)
    low, _, high = origin.split()[1].partition("..")
    assert float(low) <= settle_ms <= float(high)
    assert float(high) - float(low) < 0.12
    assert _rate(tmp_path / "run" / "twin.toml") == pytest.approx(_rate(tmp_path / "hidden.toml"), rel=0.05)


def _looks(seek_ms: float, grain_ns: int, seed: int) -> tuple[Log, Log]:
    """Reads and durable writes between the same places, the writes with 0.4 ms of settling and 0.1 before they move."""
    draw = np.random.default_rng(seed)
    count = 96
    angle_ms = draw.random(count) * _TURN_MS

    def ends(least_ms: float) -> np.ndarray:
        return np.asarray(least_ms + (angle_ms - least_ms) % _TURN_MS)

    reads, writes = ends(seek_ms + _OVERHEAD_MS + _PASS_MS), ends(seek_ms + 0.4 + 0.1)
    # Of a write memory answers at once; the flush behind it takes the rest.
    return _log(reads, reads, 0), _log(writes, np.full(count, 0.07), grain_ns)


def _log(cycle_ms: np.ndarray, latency_ms: np.ndarray, grain_ns: int) -> Log:
    moments = np.concatenate([[0], np.cumsum(cycle_ms) * 1e6]).astype(np.int64)
    if grain_ns:
        moments = moments // grain_ns * grain_ns + grain_ns // 2
    none = np.zeros(len(cycle_ms), np.int64)
    submitted = moments[:-1]
    completed = submitted + (latency_ms * 1e6).astype(np.int64)
    return Log(submitted, completed, none, none + BLOCK_BYTES, none, int(moments[-1]), grain_ns)


@pytest.mark.parametrize("grain_ns", [0, 10**6])
@pytest.mark.parametrize("seed", range(6))
def test_a_write_is_counted_in_turns_so_that_a_millisecond_is_fine_enough(grain_ns: int, seed: int) -> None:
    found = settle._write_ms(*_looks(3.1, grain_ns, seed), _OVERHEAD_MS, _TURN_MS)
    assert found is not None
    assert found.low <= 3.6 <= found.high
    assert found.high - found.low < 0.06 * _TURN_MS


def test_where_a_turn_has_few_milliseconds_nothing_is_said() -> None:
    """Four milliseconds for a turn: of 0.47 ms 0.26 (0.22 to 0.30) were told, and of 0.18 none."""

    class Served:
        capacity_bytes = 10**12

        def play(self, name: str, trace: Trace) -> Log:
            count = int(np.sum(trace.verbs != 3))
            return _log(np.full(count, 2.0), np.full(count, 0.07), 10**6 if np.any(trace.verbs == 3) else 0)

    surface = SimpleNamespace(offset=lambda share: share * 1e12, stroke=lambda offset: offset / 1e12)
    assert settle.measure(cast("Any", Served()), cast("Any", surface), _OVERHEAD_MS, 4.0, 1e6) is None


def test_what_a_late_host_mistakes_does_not_move_the_threshold() -> None:
    draw = np.random.default_rng(1)
    ms = draw.random(400)
    made = ms > 0.3
    made[np.argsort(ms)[[10, 390]]] = [True, False]
    found = settle.threshold(ms[made], ms[~made])
    assert found is not None
    assert found.low <= 0.3 <= found.high
    assert found.high - found.low < 0.02


def test_settling_that_the_ways_do_not_agree_in_is_not_known() -> None:
    shares = settle._SHARES
    reads = {share: Estimate.around(5.0, 0.1) for share in shares}
    alike = {share: Estimate.around(5.4 + 0.02 * (-1) ** number, 0.1) for number, share in enumerate(shares)}
    found = settle.estimate(reads, alike, 0.01, _TURN_MS)
    assert found is not None
    assert found.write_ms.low <= 0.4 <= found.write_ms.high
    assert found.seeks[0.1].value == pytest.approx(5.0, abs=0.02)
    unlike = {share: Estimate.around(5.4 + 0.9 * (-1) ** number, 0.1) for number, share in enumerate(shares)}
    assert settle.estimate(reads, unlike, 0.01, _TURN_MS) is None


def test_a_way_of_which_reads_and_writes_tell_otherwise_is_left_out() -> None:
    """Over NBD memory answered some reads of the shortest way late: 0.83 ms were told, "to 0.14", of 1.6."""
    shares = settle._SHARES
    reads = {share: Estimate.around(1.6, 0.1) for share in shares} | {shares[0]: Estimate.around(0.22, 0.1)}
    reads |= {shares[5]: Estimate.around(1.4, 0.05)}
    writes = {share: Estimate.around(2.0, 0.1) for share in shares}
    found = settle.estimate(reads, writes, 0.01, _TURN_MS)
    assert found is not None
    assert found.write_ms.value == pytest.approx(0.4, abs=0.03)
    assert sorted(found.seeks) == list(shares[1:])
    assert (found.seeks[shares[5]].low, found.seeks[shares[5]].high) == pytest.approx((1.4, 1.6), abs=0.03)
