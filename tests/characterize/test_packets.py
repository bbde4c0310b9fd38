"""What a packet of the cache costs and holds, where packets are not all that the times of writes tell of."""

from __future__ import annotations

import numpy as np
import pytest

from shakedown.fit.log import append
from shakedown.fit.log.layout import Layout

_TURN_MS, _TRACK = 14.2, 1_257_472.0


@pytest.mark.parametrize("at_once", [786_432, 1 << 20, 2 << 20])
def test_a_large_write_that_memory_writes_in_parts_is_no_dearer_packet(at_once: int) -> None:
    """Packets of 5 writes for 4, since a write of 1.5 MiB took two visits: after the collapse the twin was 72 % off."""
    groups, sizes = np.array(append.GROUPS[:9]), np.array(append.SIZES)
    by_group = 0.95 + 0.09 * np.ceil(groups / 4) + groups * 4096 / _TRACK
    by_size = 0.95 * np.ceil(sizes / at_once) + 0.09 * np.ceil(sizes / 229_376) + sizes / _TRACK
    seen = append.Visits(groups, by_group * _TURN_MS, sizes, by_size * _TURN_MS, write_back=True)
    found = append.estimate(seen, _TURN_MS, Layout.without_gaps(_TRACK), 0.1, 270.0)
    assert found.packet_writes
    assert found.packet_writes.value == 4
    assert found.append_turns.value == pytest.approx(0.95, abs=0.02)
    assert found.packet_turns.value == pytest.approx(0.09, abs=0.01)


def test_visits_of_a_memory_that_writes_little_at_once_are_no_packets() -> None:
    """Packets of 512 KiB that cost a visit each were told for packets of 320 KiB that cost nothing."""
    groups, sizes = np.array(append.GROUPS), np.array(append.SIZES)
    by_group = 1.1 + groups * 4096 / _TRACK
    by_size = 1.1 * np.ceil(sizes / 524_288) + sizes / _TRACK
    seen = append.Visits(groups, by_group * _TURN_MS, sizes, by_size * _TURN_MS, write_back=True)
    found = append.estimate(seen, _TURN_MS, Layout.without_gaps(_TRACK), 0.1, 270.0)
    assert found.packet_bytes is None
    assert found.append_turns.value == pytest.approx(1.1, abs=0.01)
    assert found.one_visit_bytes == 524_288
    # Whether that is the visit's or its packet's cost nobody knows.
    assert found.one_packet_each


def test_packets_in_visits_that_cost_nothing_show_in_groups() -> None:
    groups, sizes = np.array(append.GROUPS), np.array(append.SIZES)
    by_group = 1.1 * np.ceil(groups / 4) + groups * 4096 / _TRACK
    by_size = 1.1 * np.ceil(sizes / 524_288) + sizes / _TRACK
    seen = append.Visits(groups, by_group * _TURN_MS, sizes, by_size * _TURN_MS, write_back=True)
    found = append.estimate(seen, _TURN_MS, Layout.without_gaps(_TRACK), 0.1, 270.0)
    assert found.packet_writes
    assert found.packet_writes.value == 4
    assert found.packet_turns.value == pytest.approx(1.1, abs=0.01)
    assert not found.one_packet_each
