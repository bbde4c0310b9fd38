"""Large writes that are several visits to the log: a bridge cuts them, or memory writes less at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from characterize.blind import Truth, changed, with_values
from characterize.measured import measured
from shakedown.fit.cache import Cache
from shakedown.fit.drafting import draft
from shakedown.fit.estimate import Estimate
from shakedown.fit.log import append, layout, log_track
from shakedown.fit.log.append import Visits
from shakedown.fit.log.layout import Layout
from shakedown.fit.twin import Twin

_TURN_MS, _TRACK_BYTES = 11.3, 1_593_344.0
_BRIDGE = {"interface.bridge_us": 57, "interface.max_transfer_bytes": 245_760, "interface.bridge_queue": 1}
_CACHE = "translation.cache"


def _truth(bridge: dict[str, Any], **new: Any) -> Truth:
    """One with its write cache off, and packets of no power of two."""
    geometry: dict[str, Any] = {"capacity_bytes": 1_116_999_999_488, "rpm": 5_291.3, "heads": 3, "zones": 22}
    geometry |= {"outer_track_bytes": 1_593_344, "inner_track_bytes": 790_528}
    geometry |= {"track_skew_degrees": 49.0, "cylinder_skew_degrees": 63.0}
    cache: dict[str, Any] = {
        "bytes": 11_299_999_744,
        "entries": 171_000,
        "entry_counts": "write",
        "packet_bytes": 229_376,
    }
    cache |= {"packet_writes": 5, "packet_tracks": 0.021, "packet_turns": 0.07, "append_turns": 0.73}
    cache |= {"journal_every": 170, "journal_ms": 233}
    dram: dict[str, Any] = {
        "write_back": False,
        "destage_bytes": 708_608,
        "read_ahead_bytes": 819_200,
        "write_segments": 75,
    }
    values: dict[str, Any] = {f"geometry__{key}": value for key, value in geometry.items()}
    values |= {f"translation__cache__{key}": value for key, value in cache.items()}
    values |= {f"dram__{key}": value for key, value in dram.items()}
    values |= {"mechanics__head_switch_ms": 0.9, "interface__overhead_us": 133, "interface__rate_mb_s": 291}
    values |= {"translation__tracks_per_band": 23, "translation__cleaning__bands_per_pass": 2}
    return with_values(changed("wd40efax", **(values | new)).values | bridge)


def test_what_a_bridge_cuts_is_as_many_visits(tmp_path: Path) -> None:
    """The log was told as 10.35 to 10.61 GB for 11.3, a packet's cost as 0.78 to 0.88 turns for 0.07, and no bridge."""
    twin = measured(_truth(_BRIDGE), tmp_path).twin
    assert twin.value("interface", "max_transfer_bytes") == 245_760
    assert twin.number(_CACHE, "bytes") == pytest.approx(11_299_999_744, rel=0.005)
    assert twin.number(_CACHE, "packet_bytes") == 229_376
    assert twin.number(_CACHE, "packet_turns") == pytest.approx(0.07, abs=0.01)
    assert twin.number(_CACHE, "append_turns") == pytest.approx(0.73, abs=0.02)
    # No two writes share a packet there.
    assert twin.is_unknown(_CACHE, "packet_writes")


def test_the_journal_is_counted_in_visits_where_a_filler_is_two(tmp_path: Path) -> None:
    """85 were told for 170: each of the fillers was two, since memory writes 708 kB at once."""
    twin = measured(_truth({}, translation__cleaning__when="aggressive"), tmp_path).twin
    assert twin.value(_CACHE, "journal_every") == 170


def _no_gaps(command_bytes: int) -> Layout:
    none = Estimate(0.0, 0.0, 0.0)
    return Layout(none, none, 1 << 40, _TRACK_BYTES, command_bytes=command_bytes)


def _visits(packet_bytes: int, command_bytes: int, packet_turns: float, append_turns: float) -> Visits:
    groups, sizes = np.array(append.GROUPS[:8]), np.array(append.SIZES)
    whole, rest = np.divmod(sizes, command_bytes)
    packets = whole * -(-command_bytes // packet_bytes) + -(-rest // packet_bytes)
    visits = whole + (rest > 0)
    turns = visits * append_turns + packets * packet_turns + sizes / _TRACK_BYTES
    host_ms = 0.2 * (visits + 1) + sizes / 291e3
    each_ms = _TURN_MS * (append_turns + packet_turns + 4096 / _TRACK_BYTES) + 0.2 + 4096 / 291e3
    return Visits(groups, groups * each_ms, sizes, turns * _TURN_MS + host_ms, False)


def test_costs_of_packet_and_visit_are_told_apart_where_a_command_is_several_packets() -> None:
    seen = _visits(90_112, 245_760, 0.11, 0.7)
    found = append.estimate(seen, _TURN_MS, _no_gaps(245_760), 0.2, 291.0)
    assert not found.one_packet_each
    assert found.packet_turns.low <= 0.11 <= found.packet_turns.high
    assert found.append_turns.low <= 0.7 <= found.append_turns.high
    assert found.packet_turns.high < 0.2


def test_and_not_where_each_command_is_one() -> None:
    """0 to 0.014 turns were told of a packet for 0.11."""
    found = append.estimate(_visits(163_840, 122_880, 0.11, 0.91), _TURN_MS, _no_gaps(122_880), 0.2, 291.0)
    assert found.one_packet_each


def test_up_to_which_size_a_write_is_one_visit_is_told() -> None:
    sizes = np.array(append.SIZES)
    one = _visits(524_288, 1 << 40, 0.2, 0.7)
    group_ms = np.array([_TURN_MS * (0.7 + 0.2 * count + 4096 * count / _TRACK_BYTES) for count in one.groups])
    more_ms = np.where(sizes > 708_608, 0.7 * _TURN_MS, 0.0)
    seen = Visits(one.groups, group_ms, sizes, one.size_ms - 0.4 - sizes / 291e3 + more_ms, True)
    assert append.estimate(seen, _TURN_MS, _no_gaps(1 << 40), 0.2, 291.0).one_visit_bytes == 524_288
    whole = Visits(one.groups, group_ms, sizes, one.size_ms - 0.4 - sizes / 291e3, True)
    assert append.estimate(whole, _TURN_MS, _no_gaps(1 << 40), 0.2, 291.0).one_visit_bytes == np.inf


@pytest.mark.parametrize("command_bytes", [131_072, 245_760])
def test_the_space_of_a_write_is_that_of_its_commands(command_bytes: int) -> None:
    """Each packet takes a fiftieth of a track at least: what is left over in a command takes as much as a packet."""
    truth = Layout(
        Estimate(0.0, 0.0, 0.0), Estimate(0.021, 0.02, 0.022), 114_688, _TRACK_BYTES, command_bytes=command_bytes
    )
    assert truth.space_bytes(2 * command_bytes) == pytest.approx(2 * truth.space_bytes(command_bytes))
    skew = 0.13
    rows = []
    for size in layout.SIZES:
        begins = 0.37 + np.arange(48) * truth.space_bytes(size) / _TRACK_BYTES
        rows.append((begins + skew * np.floor(begins)) % 1.0)
    turn_bytes = _TRACK_BYTES / (1 + skew)
    commands = (245_760, 131_072)
    found = layout.estimate(np.array(rows), turn_bytes, _TRACK_BYTES, (skew, skew), commands=commands)
    assert found.command_bytes == command_bytes
    assert found.space_bytes(1 << 20) == pytest.approx(truth.space_bytes(1 << 20), rel=0.01)


def test_a_track_is_measured_by_what_goes_to_the_log_as_one() -> None:
    """Of what is cut the last block lies further behind: a track of 1.494 MB was told for 1.593."""
    sizes = np.array(log_track.SIZES)
    commands = np.maximum(-(-sizes // 245_760) - 1, 0)
    further = sizes - 4096 + commands * 17_000
    draw = np.random.default_rng(1)
    begins = draw.random((len(sizes), 20))
    steps = further[:, None] / _TRACK_BYTES
    angles = (steps + 0.13 * np.floor(begins + steps)) % 1.0
    assert log_track.estimate(angles, _TRACK_BYTES, (0.13,), 0.0075, 245_760) == _TRACK_BYTES


@pytest.mark.parametrize("one_packet_each", [False, True])
def test_and_the_twin_says_so(one_packet_each: bool) -> None:
    cost = append.Append(
        Estimate.around(1.02, 0.1), Estimate.around(0.0, 0.01), None, None, 0.001, one_packet_each=one_packet_each
    )
    twin = Twin("mine", "mine")
    draft._cache(twin, Cache("outer", append=cost, layout=_no_gaps(122_880)))
    for key in ("packet_turns", "append_turns"):
        assert twin.is_unknown(_CACHE, key) is one_packet_each
