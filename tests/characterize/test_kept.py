"""A memory that keeps many ranges of what was read answers no look at where data lies."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from characterize.blind import Truth, pressed, small, with_values
from characterize.measured import measured
from shakedown.errors import InconclusiveError
from shakedown.fit.drafting import draft
from shakedown.fit.drive import dram
from shakedown.fit.drive.whereabouts import Moved, forgetting, moved
from shakedown.fit.trace import BLOCK_BYTES, Log, Trace, Uninterrupted
from shakedown.fit.twin import UNKNOWN, Twin


def _keeping(truth: Truth, count: int) -> Truth:
    return with_values(truth.values | {"dram.read_segments": count})


@pytest.mark.parametrize("kept", [64, 128, 320])
def test_a_shingled_drive_is_told_as_what_it_is_whatever_its_memory_keeps(kept: int, tmp_path: Path) -> None:
    """From 120 on it was told as conventional, for certain; and with 64 the order of cleaning was not."""
    truth = _keeping(small(), kept)
    twin = measured(truth, tmp_path).twin
    values = truth.values
    assert twin.value("translation", "kind") == "shingled"
    assert twin.value("dram", "read_segments") == kept
    for section, key, share in (
        ("translation", "tracks_per_band", 0.0),
        ("translation.cache", "bytes", 0.03),
        ("translation.cache", "entries", 0.03),
        ("translation.cleaning", "idle_ms", 0.05),
        ("translation.streams", "min_run_bytes", 0.05),
        ("dram", "read_ahead_bytes", 0.1),
    ):
        assert twin.value(section, key) == pytest.approx(values[f"{section}.{key}"], rel=share), key
    assert twin.value("translation.cleaning", "when") == values["translation.cleaning.when"]
    assert twin.value("translation.cleaning", "order") == values["translation.cleaning.order"]
    assert "translation.cleaning.order" not in twin.unidentified()


def test_reads_that_make_memory_forget_bring_nothing_home_before_it_was_seen(tmp_path: Path) -> None:
    """Of a drive that cleans for each request a run had come home by then, and was told for a stream."""
    truth = _keeping(pressed(3), 128)
    twin = measured(truth, tmp_path).twin
    assert twin.value("translation.cleaning", "driven") == "pressure"
    for key in ("tracked", "min_request_bytes", "min_run_bytes"):
        assert twin.value("translation.streams", key) == pytest.approx(
            truth.values[f"translation.streams.{key}"], rel=0.05
        )


def test_a_conventional_drive_stays_one(tmp_path: Path) -> None:
    twin = measured(_keeping(small(shingled=False), 128), tmp_path).twin
    assert twin.value("translation", "kind") == "identity"
    assert "translation.kind" not in twin.unidentified()


def test_what_makes_memory_forget_is_more_than_it_keeps_and_nothing_that_is_looked_at() -> None:
    bench = cast("Any", SimpleNamespace(capacity_bytes=8_000_000_000 // BLOCK_BYTES * BLOCK_BYTES))
    looked_at = np.arange(0, 6_000_000_000, 1 << 24) // BLOCK_BYTES * BLOCK_BYTES
    # Drives of which each look pushes out the one before are played as ever.
    assert not len(forgetting(bench, looked_at, 16))
    for kept in (20, 128, 449):
        trace = forgetting(bench, looked_at, kept)
        assert len(np.unique(trace.offsets)) >= 2 * kept
        assert trace.offsets.min() > looked_at.max()
        assert trace.offsets.max() < bench.capacity_bytes


class _Remembers(Uninterrupted):
    """Answers from memory all that was ever read, and lays what is written elsewhere."""

    capacity_bytes = 8_000_000_000 // BLOCK_BYTES * BLOCK_BYTES

    def __init__(self) -> None:
        self._read: set[int] = set()
        self._now_ns = 0

    def idle(self, duration_ns: int) -> None:
        self._now_ns += duration_ns

    def play(self, name: str, trace: Trace) -> Log:
        count = len(trace)
        quick = np.array([offset in self._read for offset in trace.offsets.tolist()])
        self._read.update(trace.offsets[trace.verbs == 0].tolist())
        latency_ns = np.where(quick, 100_000, 9_000_000)
        completed = self._now_ns + np.cumsum(latency_ns)
        self._now_ns = int(completed[-1]) if count else self._now_ns
        return Log(completed - latency_ns, completed, trace.offsets, trace.lengths, trace.verbs, self._now_ns)


def test_where_memory_forgets_nothing_no_kind_is_told() -> None:
    found = moved(_Remembers(), 11.0, kept=128)
    assert found.hidden
    twin = Twin("twin", "twin")
    draft._translation(twin, cast("Any", SimpleNamespace(moved=found, cleans_at_once=False, cache=None)))
    _, origin = twin.sections["translation"]["kind"]
    assert origin.startswith(UNKNOWN)
    # What most looks show is told.
    assert not Moved(0.0, unseen_share=0.4).hidden
    assert not Moved(1.0, unseen_share=0.6).hidden


def test_a_memory_that_keeps_more_than_is_tried_is_refused() -> None:
    with pytest.raises(InconclusiveError, match="keeps 450 ranges"):
        dram.read_segments(_Remembers(), 0.4)
