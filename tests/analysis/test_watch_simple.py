"""Steady, bytes, time, blocks, and the conditions as a protocol writes them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from analysis.synthetic import REQUEST_BYTES, S, load, probes, sample, watch
from shakedown.analysis import Bytes, Cliff, Recovered, Steady, Time, make_watcher, parse_condition
from shakedown.analysis.condition import Condition
from shakedown.analysis.watch.blocks import Blocks


def test_steady_waits_for_the_decline_to_end() -> None:
    condition = Steady(within=0.1, window_ns=300 * S)
    rows = load(lambda t: 100 + 900 * np.exp(-t / 200), 3000, noise=0.05)
    ended = watch(make_watcher(condition), rows)
    assert ended is not None
    assert 600 < ended[0] < 1500
    assert "10%" in ended[1]


def test_a_stall_is_not_steady() -> None:
    rows = [sample(float(i), 1.0, 0) for i in range(2000)]
    assert watch(make_watcher(Steady(window_ns=300 * S)), rows) is None


def test_bytes_counts_all_directions() -> None:
    rows = [sample(float(i // 2), 1.0, 10, direction=("read", "write")[i % 2]) for i in range(100)]
    ended = watch(make_watcher(Bytes(size_bytes=200 * REQUEST_BYTES)), rows)
    assert ended is not None
    assert ended[0] == 10


def test_time_counts_from_the_first_sample() -> None:
    rows = [sample(500.0 + i, 1.0, 0) for i in range(100)]
    ended = watch(make_watcher(Time(duration_ns=30 * S)), rows)
    assert ended is not None
    assert ended[0] == 530
    assert make_watcher(Time(duration_ns=S)).see([]) is None


@given(
    durations=st.lists(st.integers(0, 50), min_size=1, max_size=60),
    amounts=st.lists(st.integers(0, 1000), min_size=60, max_size=60),
    block_ns=st.integers(1, 40),
)
def test_blocks_lose_nothing(durations: list[int], amounts: list[int], block_ns: int) -> None:
    blocks, start_ns = Blocks(block_ns), 0
    closed: list[float] = []
    for duration_ns, amount in zip(durations, amounts, strict=False):
        closed += blocks.add(start_ns, duration_ns, amount)
        start_ns += duration_ns
    flushed = [*closed, *blocks.add(start_ns + block_ns, 0, 0)]
    assert sum(flushed) == pytest.approx(sum(amounts[: len(durations)]))


def test_blocks_spread_a_late_sample_evenly() -> None:
    blocks = Blocks(10)
    assert list(blocks.add(0, 30, 60)) == []
    assert list(blocks.add(30, 10, 5)) == [20, 20, 20]
    assert list(blocks.add(60, 10, 0)) == [5, 0, 0]


@pytest.mark.parametrize(
    ("table", "condition"),
    [
        ({"condition": "cliff", "drop": 0.4, "hold": "90s"}, Cliff(drop=0.4, hold_ns=90 * S)),
        ({"condition": "steady", "within": 0.05, "window": "5min"}, Steady(within=0.05, window_ns=300 * S)),
        (
            {"condition": "recovered", "window": "10min", "patience": "2h"},
            Recovered(window_ns=600 * S, patience_ns=7200 * S),
        ),
        ({"condition": "bytes", "bytes": "1GiB"}, Bytes(size_bytes=1 << 30)),
        ({"condition": "time", "duration": "30min"}, Time(duration_ns=1800 * S)),
    ],
)
def test_conditions_as_a_protocol_writes_them(table: dict[str, Any], condition: Condition) -> None:
    assert parse_condition(table) == condition


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"condition": "cliff", "drop": 1.5}, "drop"),
        ({"condition": "cliff", "drop": float("nan")}, "drop"),
        ({"condition": "cliff", "hold": "a while"}, "hold"),
        ({"condition": "cliff", "hold": "0s"}, "hold"),
        ({"condition": "cliff", "hold": 1.5}, "hold"),
        ({"condition": "time"}, "duration"),
        ({"condition": "bytes", "bytes": "some"}, "bytes"),
        ({"condition": "cliff", "holt": "60s"}, "holt"),
    ],
)
def test_a_wrong_condition_is_refused_by_key(table: dict[str, Any], key: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_condition(table)
    assert key in refused.value.errors()[0]["loc"]


@pytest.mark.parametrize(
    "condition", [Cliff(), Steady(), Recovered(), Bytes(size_bytes=1 << 60), Time(duration_ns=1 << 60)]
)
def test_a_nine_hour_step_costs_microseconds_a_sample(condition: Cliff) -> None:
    """32,400 samples under 10 us each, with a margin for a busy machine: process time, best of three."""
    rows = probes(lambda _: 12.0, 32_400) if isinstance(condition, Recovered) else load(np.ones_like, 32_400)
    spent = []
    for _ in range(3):
        watcher = make_watcher(condition)
        began = time.process_time()
        for row in rows:
            if watcher.see([row]):
                break
        spent.append(time.process_time() - began)
    assert min(spent) / 32_400 < 10e-6
