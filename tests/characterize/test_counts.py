"""What an entry is, where single durable writes end with the space: a write, or a packet of several."""

from __future__ import annotations

from pathlib import Path

import pytest

from characterize.blind import small_wild, wild, with_values
from characterize.measured import measured
from shakedown.fit.estimate import Estimate
from shakedown.fit.log import fill
from shakedown.fit.log.counts import Groups, Overwriting, groups, overwriting
from shakedown.fit.log.layout import Layout


@pytest.mark.parametrize(("counts", "entries"), [("packet", 2500), ("write", 10_000)])
def test_groups_tell_what_neither_full_packets_nor_single_writes_do(counts: str, entries: int, tmp_path: Path) -> None:
    """Filled either way both drives stall after the same number of writes."""
    limits = {"translation.cache.entry_counts": counts, "translation.cache.entries": entries}
    twin = measured(with_values(small_wild(3001).values | limits), tmp_path).twin
    assert "translation.cache.entry_counts" not in twin.unidentified()
    assert twin.value("translation.cache", "entry_counts") == counts
    assert twin.number("translation.cache", "entries") == pytest.approx(entries, rel=0.02)


def test_they_tell_it_of_a_large_drive_without_streams(tmp_path: Path) -> None:
    """Every other visit meets a track's end: its packets seemed to cost so little that they did not show."""
    truth = wild(2115)
    twin = measured(truth, tmp_path).twin
    for key in ("entry_counts", "packet_writes", "packet_bytes"):
        assert f"translation.cache.{key}" not in twin.unidentified()
        assert twin.value("translation.cache", key) == truth.values[f"translation.cache.{key}"]
    assert twin.number("translation.cache", "entries") == pytest.approx(151_000, rel=1e-3)
    assert twin.number("translation.cache", "packet_turns") == pytest.approx(0.155, rel=0.01)


def _layout(visit_tracks: float) -> Layout:
    visit, none = Estimate.around(visit_tracks, 0.01), Estimate(0.0, 0.0, 0.0)
    return Layout(visit, none, 524_288, 600_000.0)


def test_of_all_groups_those_are_taken_whose_ends_are_furthest_apart() -> None:
    found = groups(Estimate.around(10_000, 50), 4, _layout(0.3), Estimate.around(250e6, 2e6), 42)
    # Of five writes space would end with the packets; of thirteen a packet is more nearly full.
    assert found is not None
    assert (found.writes, found.packets) == (9, 3)


def test_no_groups_tell_where_space_ends_with_all_that_are_surely_one_visit() -> None:
    assert groups(Estimate.around(10_000, 50), 4, _layout(0.9), Estimate.around(250e6, 2e6), 10) is None


def test_a_fill_that_ends_near_neither_tells_nothing() -> None:
    found = Groups(9, 3, by_packet=750, otherwise=1000)
    assert [found.counts_packets(met) for met in (740, 770, 866, 980, 1100)] == [True, True, None, False, False]


def test_a_fill_that_ends_far_sooner_than_either_contradicts_both() -> None:
    """One whose passes take as long as its journal: the first stalls of the other fill were not seen."""
    assert Groups(12, 2, by_packet=5073, otherwise=7926).counts_packets(3888) is None


def test_passes_as_long_as_the_journal_leave_the_entries_open(tmp_path: Path) -> None:
    """They were told as 649 packets, for 3,900 writes."""
    twin = measured(small_wild(3341), tmp_path).twin
    assert {"translation.cache.entries", "translation.cache.entry_counts"} <= set(twin.unidentified())


def test_heads_that_were_parked_stall_no_fill(tmp_path: Path) -> None:
    """Memory gathers 192 writes, and the visit behind them had to bring the heads back: 192 entries were told."""
    parks = {"mechanics.park_after_s": 20, "mechanics.unpark_ms": 1169}
    truth = with_values(small_wild(3121).values | parks)
    twin = measured(truth, tmp_path).twin
    assert "translation.cache.entries" in twin.unidentified(), "space ends first"
    assert twin.number("translation.cache", "entries") > 1000


@pytest.mark.parametrize(("counts", "entries"), [("packet", 5000), ("write", 20_000)])
def test_overwriting_tells_what_groups_do_not(counts: str, entries: int, tmp_path: Path) -> None:
    """A visit takes so much space that no group tells. Full, both drives answer a thousand times unlike each other."""
    limits = {"entry_counts": counts, "entries": entries, "append_tracks": 0.9}
    values = small_wild(3001).values | {f"translation.cache.{key}": value for key, value in limits.items()}
    twin = measured(with_values(values), tmp_path).twin
    assert {"translation.cache.entries", "translation.cache.entry_counts"}.isdisjoint(twin.unidentified())
    assert twin.value("translation.cache", "entry_counts") == counts
    assert twin.number("translation.cache", "entries") == pytest.approx(entries, rel=0.02)


def test_what_is_overwritten_has_left_memory_and_is_few() -> None:
    found = overwriting(20_000, 4, 40_000, in_memory=100, round_writes=128)
    assert found is not None
    assert found.again == 4 * 128
    # Of four writes all overwrite one time in sixteen.
    assert found.by_packet == pytest.approx((20_512, 512 + 20_000 * 16 / 15))
    assert overwriting(3_000, 4, 6_000, in_memory=100, round_writes=128) is None, "too many of so few"
    assert overwriting(20_000, 4, 21_000, in_memory=100, round_writes=128) is None, "no space to tell"


@pytest.mark.parametrize(
    ("stalled", "is_packet"), [(20_600, True), (21_700, True), (21_150, None), (23_000, False), (None, False)]
)
def test_a_fill_that_overwrites_stalls_as_soon_as_any_where_packets_count(
    stalled: int | None, is_packet: bool | None
) -> None:
    assert Overwriting(512, (20_512.0, 21_845.0), 26_000).counts_packets(stalled) is is_packet


@pytest.mark.parametrize("firsts", [(0,), (0, 1 << 30)])
def test_every_other_write_overwrites_one_of_the_first_near_the_same_log(firsts: tuple[int, ...]) -> None:
    order = fill.Order(firsts, 1 << 29, 1 << 24, 0, 0.0, rewritten=True)
    again = 2 * 128
    plan = fill._Regions.of(order, 4000, again)
    assert again % order.round_writes == 0
    places = plan.places(0, 3000)
    fresh, over = places[again::2], places[again + 1 :: 2]
    assert len({*places[:again], *fresh}) == again + len(fresh)
    assert list(over) == [places[number % again] for number in range(len(over))]
    assert list(fresh >= firsts[-1]) == list(over >= firsts[-1])
    assert plan.end(3000) > max(places % (1 << 30)) >= plan.end(1000)
    assert plan.dirty(2999) == plan.dirty(2998) > plan.dirty(again)
