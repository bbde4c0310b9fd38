"""What an entry is, where single durable writes end with the space: a write, or a packet of several."""

from __future__ import annotations

from pathlib import Path

import pytest

from characterize.blind import Truth, small_wild, wild, with_values
from shakedown.characterize.record import Order
from shakedown.characterize.run import characterize
from shakedown.device.disk.facts import NO_CONSENT
from shakedown.fit.counts import Groups, groups
from shakedown.fit.estimate import Estimate
from shakedown.fit.layout import Layout
from shakedown.fit.twin import Twin


def _twin(truth: Truth, folder: Path) -> Twin:
    profile = folder / "hidden.toml"
    profile.write_text(truth.toml)
    order = Order(target=f"model:{profile}", name="hidden-twin", with_parking=False)
    return characterize(order, folder / "run", NO_CONSENT, lambda _: None).twin


@pytest.mark.parametrize(("counts", "entries"), [("packet", 2500), ("write", 10_000)])
def test_groups_tell_what_neither_full_packets_nor_single_writes_do(counts: str, entries: int, tmp_path: Path) -> None:
    """Filled either way both drives stall after the same number of writes."""
    limits = {"translation.cache.entry_counts": counts, "translation.cache.entries": entries}
    twin = _twin(with_values(small_wild(3001).values | limits), tmp_path)
    assert "translation.cache.entry_counts" not in twin.unidentified()
    assert twin.value("translation.cache", "entry_counts") == counts
    assert twin.number("translation.cache", "entries") == pytest.approx(entries, rel=0.02)


def test_they_tell_it_of_a_large_drive_without_streams(tmp_path: Path) -> None:
    """Every other visit meets a track's end: its packets seemed to cost so little that they did not show."""
    truth = wild(2115)
    twin = _twin(truth, tmp_path)
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
    twin = _twin(small_wild(3341), tmp_path)
    assert {"translation.cache.entries", "translation.cache.entry_counts"} <= set(twin.unidentified())


def test_heads_that_were_parked_stall_no_fill(tmp_path: Path) -> None:
    """Memory gathers 192 writes, and the visit behind them had to bring the heads back: 192 entries were told."""
    parks = {"mechanics.park_after_s": 20, "mechanics.unpark_ms": 1169}
    truth = with_values(small_wild(3121).values | parks)
    twin = _twin(truth, tmp_path)
    assert "translation.cache.entries" in twin.unidentified(), "space ends first"
    assert twin.number("translation.cache", "entries") > 1000
