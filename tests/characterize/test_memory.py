"""What memory holds, fitted to bursts: luck with angles is no evidence, nor is what others decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from characterize.blind import Truth, changed, known
from characterize.measured import measured
from shakedown.fit.drafting import calibrate, draft
from shakedown.fit.drive.dram import Bursts
from shakedown.fit.estimate import Estimate
from shakedown.fit.twin import UNKNOWN, Twin

HELD = ("write_segments", "write_bytes")


def _span(origin: str) -> tuple[float, float]:
    low, _, high = origin.split()[1].partition("..")
    return float(low), float(high)


def _nothing_wrong(twin: Twin, truth: Truth) -> None:
    for key in HELD:
        _, origin = twin.sections["dram"][key]
        if not origin.startswith(UNKNOWN):
            low, high = _span(origin)
            assert low <= truth.values[f"dram.{key}"] <= high, (key, origin)


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_memory_that_gives_writes_away_nearly_as_fast_as_it_takes_them_is_not_known(
    seed: int, tmp_path: Path
) -> None:
    """Of 128 writes 167 were told, and no others: with one less or more a burst of the twin was eight times as long."""
    geometry = {"capacity_bytes": 20_000_588_955_648, "heads": 20, "zones": 32}
    geometry |= {"outer_track_bytes": 2_613_248, "inner_track_bytes": 1_306_624}
    geometry |= {"track_skew_degrees": 36, "cylinder_skew_degrees": 48}
    new: dict[str, Any] = {f"geometry__{key}": value for key, value in geometry.items()}
    new |= {"mechanics__seek_average_ms": 8.5, "mechanics__seek_full_stroke_ms": 16.5}
    truth = changed("st12000vn0007", **new)
    _nothing_wrong(measured(truth, tmp_path, seed).twin, truth)


def test_bytes_of_a_memory_that_writes_end_by_their_number_are_not_known(tmp_path: Path) -> None:
    """Of 268 MB 134 to 146 were told: 128 large writes fill it, and a burst of small ones seemed to take 192."""
    truth = changed("st8000as0002", dram__write_bytes=268_435_456)
    twin = measured(truth, tmp_path, 1).twin
    _nothing_wrong(twin, truth)
    assert "dram.write_bytes" in twin.unidentified()
    # With half and with twice the bytes a burst of small writes is the same.
    assert "dram.write_segments" not in twin.unidentified()


def test_what_decides_a_burst_is_told(tmp_path: Path) -> None:
    truth = known("st31000520as")
    twin = measured(truth, tmp_path, 1).twin
    _nothing_wrong(twin, truth)
    assert not {f"dram.{key}" for key in HELD} & {*twin.unidentified()}


def test_writes_of_a_memory_that_near_ones_leave_as_fast_as_they_come_show_all_over_the_surface(tmp_path: Path) -> None:
    """Of 128 writes 764 to 771 were told, and the twin wrote 58 % too fast at random."""
    truth = known("wd40efrx")
    twin = measured(truth, tmp_path, 1).twin
    assert "dram.write_segments" not in twin.unidentified()
    _nothing_wrong(twin, truth)
    assert twin.number("dram", "write_segments") == pytest.approx(128, abs=2)


def test_bytes_of_a_memory_that_near_writes_leave_as_fast_as_the_link_brings_them_are_told(tmp_path: Path) -> None:
    """Of 42 MB nothing was told, and a twin with 17 wrote 1 MiB at random 11 % too slowly."""
    truth = changed("st12000vn0007", dram__write_bytes=40 << 20, interface__rate_mb_s=230)
    twin = measured(truth, tmp_path, 1).twin
    assert "dram.write_bytes" not in twin.unidentified()
    _nothing_wrong(twin, truth)


@pytest.mark.parametrize("at_once", [1 << 20, 4 << 20])
def test_bytes_are_known_to_what_may_have_left_memory_just_before_it_was_full(at_once: int) -> None:
    """Of 12.6 MB, of which 3.1 are written at once, 13.8 to 15.7 were told: bursts took 12 MiB or 15."""
    cache = SimpleNamespace(length=object(), destage_bytes=Estimate.around(at_once, 1000))
    facts = SimpleNamespace(
        bursts=Bursts(True, None, 30 << 20), cache=cache, overhead_ms=0.1, turn_ms=Estimate.around(8, 0)
    )
    (stage,) = calibrate._memory(cast("Any", facts))
    assert stage.tolerance * (30 << 20) == max(2.5 * (1 << 20), at_once + (1 << 19))


def _twin() -> Twin:
    twin = Twin("half", "Half a twin")
    twin.put("dram", "write_segments", 100, "measured: 50..100 by characterize")
    twin.put("dram", "write_bytes", 40_960_000, "measured: by characterize")
    twin.put("dram", "destage_bytes", 4096, "measured: by characterize")
    return twin


def _stage(figure: Callable[[int, int], float | None], wanted: float, **other: Any) -> calibrate.Stage:
    """A stage that asks a twin's text, which stands for a bench here, for the figure of its writes and bytes."""

    def shown(text: str) -> float | None:
        writes, size = (int(text.partition(f"{key} = {{ value = ")[2].partition(",")[0]) for key in HELD)
        return figure(writes, size)

    stage = calibrate.Stage(
        "dram", "write_segments", 1, (0.5, 0.7, 0.8, 0.9, 1.0), wanted, 0.01, cast("Any", shown), "burst"
    )
    return replace(stage, between=True, counted=True, rises=True, **other)


def _fitted(stage: calibrate.Stage) -> tuple[float, str]:
    value, origin = calibrate._fitted(_twin(), stage, cast("Any", str)).sections["dram"]["write_segments"]
    return cast("float", value), origin


def test_a_whole_number_is_sure_to_one_only_where_its_neighbours_were_shut_out() -> None:
    value, origin = _fitted(_stage(lambda writes, _: 2.0 * writes, 160.0))
    assert value == 80
    # Of those near it 79 and 82 were tried, and did not agree.
    assert _span(origin) == (80, 81)
    near = calibrate._fitted(
        _twin(),
        replace(_stage(lambda writes, _: 2.0 * writes, 160.0), candidates=(0.79, 0.8, 0.81)),
        cast("Any", str),
    )
    assert _span(near.sections["dram"]["write_segments"][1]) == (80, 80)


def test_how_many_left_meanwhile_is_luck() -> None:
    """Of 119 writes 113 to 117 were told, and of 584 574 to 579: eleven and 75 had left before memory was full."""
    finer = tuple(0.7 + 0.01 * number for number in range(31))
    stage = replace(_stage(lambda writes, _: 1.7 * writes, 160.0), candidates=finer, tolerance=0.02)
    assert _span(_fitted(stage)[1]) == (93, 95)
    # Of 66 that left twelve more or fewer may have.
    assert _span(_fitted(replace(stage, leaving=1.0))[1]) == (82, 100)


@pytest.mark.parametrize("luck", [900.0, None])
def test_what_agrees_by_luck_is_not_known(luck: float | None) -> None:
    """With fewer writes more are taken at once, or without end: the only one that agreed seemed certain."""
    _, origin = _fitted(_stage(lambda writes, _: 2.0 * writes if writes >= 80 else luck, 160.0))
    assert origin.startswith(UNKNOWN)


def test_what_more_would_do_as_well_is_not_known() -> None:
    _, origin = _fitted(_stage(lambda writes, _: 2.0 * min(writes, 90), 180.0))
    assert origin.startswith(UNKNOWN)


@pytest.mark.parametrize(("most", "known"), [(80, True), (90, False)])
def test_what_is_known_to_more_than_a_factor_of_four_is_not_known(most: int, known: bool) -> None:
    """What is not known is taken for half to twice as much: that is no wider."""
    stage = _stage(lambda writes, _: 160.0 if 20 <= writes <= most else 2.0, 160.0)
    coarse = replace(stage, candidates=(0.1, 0.2, 0.4, 0.8, 0.9, 1.0), between=False, counted=False, rises=False)
    value, origin = _fitted(coarse)
    assert value == most
    assert f"20..{most}" in origin
    assert origin.startswith("measured: ") is known
    assert origin.startswith(UNKNOWN) is not known


def test_what_the_largest_that_was_tried_agrees_with_is_not_known() -> None:
    """Of 67 MB 16 to 59 were told: no more had been tried."""
    stage = _stage(lambda writes, _: 160.0 if writes >= 40 else 2.0, 160.0)
    _, origin = _fitted(replace(stage, between=False, counted=False, rises=False))
    assert origin.startswith(UNKNOWN)
    assert "50..100" in origin


@pytest.mark.parametrize(
    ("bytes_known", "matter", "known"), [(True, True, True), (False, True, False), (False, False, True)]
)
def test_writes_fitted_beside_bytes_that_are_not_known_are_not_if_those_matter(
    bytes_known: bool, matter: bool, known: bool
) -> None:
    stage = _stage(lambda writes, size: 2.0 * writes + (size / 1e6 if matter else 0.0), 160.0 + 40.96 * matter)
    twin = calibrate._fitted(_twin(), stage, cast("Any", str))
    if not bytes_known:
        twin.put("dram", "write_bytes", twin.value("dram", "write_bytes"), UNKNOWN)
    calibrate._beside(twin, stage, cast("Any", str))
    assert ("dram.write_segments" not in twin.unidentified()) is known


def test_writes_beside_which_no_bytes_agree_are_not_known() -> None:
    stage = _stage(lambda *_: 1.0, 160.0, doubted=("write_segments",))
    bytes_too = replace(stage, key="write_bytes", grain=4096, what="burst of large writes")
    twin = calibrate._fitted(_twin(), bytes_too, cast("Any", str))
    assert {"dram.write_segments", "dram.write_bytes"} <= {*twin.unidentified()}


def test_a_memory_that_never_fills_bounds_what_one_may_hold() -> None:
    """Of 16.8 MB 15.7 were told and no others: behind a slow link a twin with more was never full."""
    stage = _stage(lambda writes, _: 2.0 * writes if writes <= 80 else None, 160.0)
    assert _span(_fitted(stage)[1])[1] == 85


def test_what_the_least_that_was_tried_agrees_with_is_known_to_be_no_more() -> None:
    """Half of what a burst took was the least, and more than half may leave meanwhile."""
    _, origin = _fitted(_stage(lambda writes, _: 2.0 * max(writes, 60), 120.0))
    assert origin.startswith(f"{UNKNOWN}; at most 6")


def test_no_twin_is_asked_whose_memory_holds_less_than_it_writes_at_once() -> None:
    """There can be no such drive: the whole course came to no twin."""
    asked: list[int] = []

    def figure(_: int, size: int) -> float:
        asked.append(size)
        return float(size)

    stage = replace(_stage(figure, 20_480_000.0), key="write_bytes", grain=4096, at_least="destage_bytes")
    twin = _twin()
    twin.put("dram", "destage_bytes", 25_000_000, "measured: by characterize")
    calibrate._fitted(twin, stage, cast("Any", str))
    assert min(asked) == -(-25_000_000 // 4096) * 4096


@pytest.mark.parametrize(
    ("low", "value", "high", "told"),
    [
        (1_606_242, 2_121_728, 2_179_683, 2 << 20),
        (4_086_675, 4_259_840, 4_430_740, 4 << 20),
        (1_430_000, 1_500_000, 1_600_000, 3 << 19),
        # Nothing rounder lies within: a whole number of blocks.
        (990_000, 1_000_000, 1_001_000, 999_424),
    ],
)
def test_what_is_written_at_once_is_the_roundest_size_that_agrees(low: int, value: int, high: int, told: int) -> None:
    """With 2.04 MB for 2 MiB a stream of 1 MiB writes held one at a time, and was 27 % too slow."""
    assert draft._roundest(Estimate(value, low, high)) == told
