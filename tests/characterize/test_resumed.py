"""A course that was interrupted, gone on with on the same drive, which has had a rest meanwhile, or none."""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from characterize.blind import restless
from shakedown.characterize.bench import ArenaBench
from shakedown.fit.course.find import find
from shakedown.fit.facts import Facts
from shakedown.fit.trace import BLOCK_BYTES, Log, Trace
from shakedown.target.model import ModelArena

HOUR_NS = 3600 * 10**9


class _GoneError(Exception):
    pass


class _Cut:
    """An arena in which half of some traces is played, and then their reader is gone."""

    def __init__(self, arena: ModelArena, at: list[str]) -> None:
        self._arena = arena
        self.at = at

    def replay(self, name: str, trace: Trace) -> Log:
        if self.at and name.startswith(self.at[0]):
            self.at.pop(0)
            half = len(trace) // 2
            part = replace(trace, verbs=trace.verbs[:half], offsets=trace.offsets[:half], lengths=trace.lengths[:half])
            self._arena.replay(name, part)
            raise _GoneError
        return self._arena.replay(name, trace)

    def idle(self, duration_ns: int) -> None:
        self._arena.idle(duration_ns)


def course(profile: str, folder: Path, at: list[str], rest_ns: int = 0) -> Facts:
    folder.mkdir()
    arena = ModelArena(f"model:{profile}", seed=1)
    cut = _Cut(arena, at)
    while True:
        try:
            capacity_bytes = arena.identity.capacity_bytes // BLOCK_BYTES * BLOCK_BYTES
            bench = ArenaBench(lambda: cut, folder, capacity_bytes, durable=False)  # type: ignore[arg-type,return-value]
            return find(bench, lambda _: None, with_parking=False)
        except _GoneError:
            arena.idle(rest_ns)


@pytest.fixture(scope="module")
def whole_course(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Facts]:
    """What a profile's course finds that nobody interrupts, found once."""
    return cache(lambda profile: course(profile, tmp_path_factory.mktemp("whole") / profile, []))


@pytest.mark.parametrize(
    ("profile", "at", "rest_ns"),
    [
        # Aggressive: what the rest has cleaned has room again.
        ("wd40efax", ["fill-single-23"], HOUR_NS),
        # What was written before still lies in the log, and was taken for home: bands that stay seemed to move.
        ("st8000as0002", ["rest-probe", "bands-0.50-now", "bands-1.00-now", "clean-write", "order-now"], 0),
        # Lazy: in the rest it goes down to its low mark.
        ("skylight-2", ["rest-probe", "low-mark-last", "fill-small-30"], HOUR_NS),
        ("skylight-2", ["rest-probe", "low-mark-last", "bands-0.50-now", "fill-small-30"], 0),
    ],
)
def test_what_was_interrupted_comes_out_as_if_it_had_not_been(
    profile: str, at: list[str], rest_ns: int, whole_course: Callable[[str], Facts], tmp_path: Path
) -> None:
    whole = whole_course(profile)
    again = course(profile, tmp_path / "again", at, rest_ns)
    assert not at, "it was never interrupted"
    assert whole.cache
    assert again.cache
    assert whole.cache.rest_ms
    assert again.cache.rest_ms
    assert again.cache.rest_ms.value == pytest.approx(whole.cache.rest_ms.value, rel=0.02)
    assert again.cache.marks == whole.cache.marks
    assert again.cache.moves_bands == whole.cache.moves_bands
    assert again.cache.static_share == pytest.approx(whole.cache.static_share, abs=0.05)
    assert again.cache.most_dirty_first == whole.cache.most_dirty_first
    for before, since in ((whole.cache.single, again.cache.single), (whole.cache.small, again.cache.small)):
        assert (before is None) == (since is None)
        if before and since and before.writes:
            assert since.writes == pytest.approx(before.writes, rel=0.001)


@pytest.mark.parametrize("rest_ns", [0, HOUR_NS])
def test_of_one_that_cleans_at_once_ballast_is_laid_anew(rest_ns: int, tmp_path: Path) -> None:
    """What was written behind it goes home in the rest, so that a look told nothing, and a fill had no end."""
    hidden = tmp_path / "hidden.toml"
    hidden.write_text(restless(8200).toml)
    at = ["drained-write", "cleans", "layout-", "length", "fill-small-9", "cleans"]
    whole = course(str(hidden), tmp_path / "whole", []).cache
    again = course(str(hidden), tmp_path / "again", at, rest_ns).cache
    assert not at, "it was never interrupted"
    assert whole
    assert again
    assert again.bands.keys() == whole.bands.keys()
    assert again.regions == whole.regions
    assert again.pass_bands == whole.pass_bands
    for before, since, share in (
        (whole.band_ms, again.band_ms, 0.03),
        (whole.collect_turns, again.collect_turns, 0.15),
        (whole.length and whole.length.bytes_found, again.length and again.length.bytes_found, 0.01),
    ):
        assert before
        assert since
        assert since.value == pytest.approx(before.value, rel=share)
    assert whole.small
    assert again.small
    assert again.small.writes == pytest.approx(whole.small.writes, rel=0.02)


@pytest.mark.parametrize("durable", [True, False])
def test_logs_outlive_a_loss_of_power_each_at_once_or_all_at_the_end(
    durable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arena = ModelArena("model:wd40efrx", seed=1)
    bench = ArenaBench(lambda: arena, tmp_path, arena.identity.capacity_bytes, durable=durable)
    synced: set[int] = set()
    monkeypatch.setattr("os.fsync", lambda handle: synced.add(os.fstat(handle).st_ino))
    for name in ("near", "far"):
        bench.play(name, Trace.reads(np.arange(2) * BLOCK_BYTES))
    kept = {path.stat().st_ino for path in (*tmp_path.iterdir(), tmp_path)}
    assert len(kept) == 3
    assert synced == (kept if durable else set())
    bench.sync()
    assert synced == kept
