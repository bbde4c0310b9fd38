from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.report.series import Grid, Track, decode, encode, envelope, tracks
from shakedown.sample import SAMPLE_SCHEMA

S = 1_000_000_000
values_or_gaps = st.lists(st.one_of(st.just(float("nan")), st.floats(0, 1e6)), min_size=1, max_size=300)


@given(values_or_gaps, st.integers(1, 50), st.integers(1, 7))
def test_no_extreme_is_lost_and_none_is_invented(values: list[float], most_bins: int, interval: int) -> None:
    start = np.arange(len(values)) * interval * S
    grid = Grid.over(0, int(start[-1]) + interval * S, interval * S, most_bins)
    measured = np.array(values)
    slots = envelope(grid, Track(start, start + interval * S, measured))

    assert grid.bins <= most_bins
    assert set(slots[~np.isnan(slots)]) <= set(measured[~np.isnan(measured)])
    for at, value in zip(start, measured, strict=True):
        if not np.isnan(value):
            near = int((at + interval * S // 2) // grid.bin_ns)
            window = slots[max(0, near - 1) : near + 2]
            assert np.nanmin(window) <= value <= np.nanmax(window)


def test_a_single_dip_among_86400_keeps_its_depth_and_its_place() -> None:
    rate = np.full(86_400, 180.0)
    rate[50_000] = 0.0
    start = np.arange(86_400) * S
    grid = Grid.over(0, 86_400 * S, S, 1000)
    slots = envelope(grid, Track(start, start + S, rate))
    assert list(np.flatnonzero(slots.min(axis=1) == 0)) == [50_000 * S // grid.bin_ns]


def test_the_two_values_of_a_bin_come_in_the_order_of_their_times() -> None:
    start = np.arange(4) * S
    grid = Grid(0, 4 * S, 1)
    assert envelope(grid, Track(start, start + S, np.array([2.0, 9.0, 1.0, 3.0]))).tolist() == [[9.0, 1.0]]
    assert envelope(grid, Track(start, start + S, np.array([2.0, 1.0, 9.0, 3.0]))).tolist() == [[1.0, 9.0]]


def test_a_sample_longer_than_a_bin_fills_all_it_covers_and_gaps_stay() -> None:
    grid = Grid(0, S, 8)
    slots = envelope(grid, Track(np.array([0, 5 * S]), np.array([3 * S, 6 * S]), np.array([7.0, 4.0])))
    expected = [7, 7, 7, np.nan, np.nan, 4, np.nan, np.nan]
    np.testing.assert_array_equal(slots, np.array([expected, expected]).T)


@given(values_or_gaps)
def test_a_line_comes_back_within_a_third_of_a_percent_per_six_decades(values: list[float]) -> None:
    slots = np.array([value if np.isnan(value) or value == 0 else max(value, 1.0) for value in values])
    back = decode(encode(slots), len(slots))
    assert np.array_equal(np.isnan(back), np.isnan(slots))
    assert np.array_equal(back == 0, slots == 0)
    np.testing.assert_allclose(back, slots, rtol=0.0034 / 2 + 1e-9)


def test_directions_are_added_up_and_a_stall_is_a_rate_of_zero_without_latency() -> None:
    rows = [
        ("mix", "read", 0, S, 30, 30 * 2**20, 2e6, 1, 4_000_000, 1, 5_000_000),
        ("mix", "write", 0, S, 10, 10 * 2**20, 6e6, 1, 9_000_000, 1, 9_500_000),
        ("mix", "read", S, S, 0, 0, None, None, None, None, None),
        ("mix", "write", S, S, 0, 0, None, None, None, None, None),
    ]
    both = tracks(pl.DataFrame(rows, schema=SAMPLE_SCHEMA, orient="row"))
    assert both["iops"].values.tolist() == [40, 0]
    assert both["mib"].values.tolist() == [40, 0]
    assert both["mean"].values.tolist() == [pytest.approx(3e6), pytest.approx(np.nan, nan_ok=True)]
    assert both["p99"].values[0] == 9_000_000
    assert both["max"].values[0] == 9_500_000


def few(counts: list[int]) -> pl.DataFrame:
    rows = [
        ("probe", "read", i * S, S, n, n * 4096, *([8e6, 1, 1, 1, 1] if n else [None] * 5))
        for i, n in enumerate(counts)
    ]
    return pl.DataFrame(rows, schema=SAMPLE_SCHEMA, orient="row")


def test_rare_requests_have_a_steady_rate_and_a_stall_among_them_still_shows() -> None:
    rate = tracks(few([1, 0, 0] * 40 + [0] * 30 + [1, 0, 0] * 40))["iops"].values
    assert rate.max() < 0.4
    assert np.median(rate[rate > 0]) == pytest.approx(1 / 3, rel=0.2)
    assert np.count_nonzero(rate == 0) >= 1


def test_plenty_of_requests_keep_every_interval() -> None:
    assert tracks(few([4, 0, 12, 9]))["iops"].values.tolist() == [4, 0, 12, 9]


def test_what_a_steps_end_cuts_off_has_no_rate_of_its_own() -> None:
    ends = [S, 2 * S, 3 * S, 3 * S + S // 400]
    rows = [
        ("fill", "write", start, end - start, 100, 100 << 20, 1e6, 1, 1, 1, 1)
        for start, end in zip([0, *ends], ends, strict=False)
    ]
    found = tracks(pl.DataFrame(rows, schema=SAMPLE_SCHEMA, orient="row"))["mib"]
    assert found.values.tolist() == pytest.approx([100, 100, 200 / (1 + 1 / 400)])
    assert found.end_ns.tolist() == [S, 2 * S, ends[-1]]
