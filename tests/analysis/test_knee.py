from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shakedown.analysis.find.knee import find_knee
from shakedown.analysis.series import Loads, Series
from shakedown.sample import SAMPLE_SCHEMA


def ramp(depths: list[int], alone_s: float, most_iops: float, level_s: int = 30, noise: float = 0.1) -> Series:
    """A server that has a place for each request up to its most: seconds of levels of outstanding requests."""
    random = np.random.default_rng(5)
    rows = []
    for second, depth in enumerate(np.repeat(depths, level_s)):
        rate = min(depth / alone_s, most_iops) * random.uniform(1 - noise, 1 + noise)
        mean_ns = depth / rate * 1e9
        start_ns = second * 10**9
        rows.append(
            ("ramp", "read", start_ns, 10**9, round(rate), round(rate) * 4096, mean_ns, 0, 0, 0, round(mean_ns))
        )
    return Series.of(Loads(pl.DataFrame(rows, schema=SAMPLE_SCHEMA, orient="row")), "ramp")


DOUBLED = [1, 2, 4, 8, 16, 32, 64, 128]


@pytest.mark.parametrize(("alone_s", "most_iops"), [(0.01, 400), (0.005, 2000), (0.02, 1000)])
def test_the_knee_is_where_the_most_is_reached(alone_s: float, most_iops: float) -> None:
    finding = find_knee("ramp", ramp(DOUBLED, alone_s, most_iops))
    # Levels are doubled, so it lies between the bounds' crossing and the next level, or two.
    assert finding.value is not None
    assert 0.9 * alone_s * most_iops <= finding.value <= 2.5 * alone_s * most_iops
    assert finding.evidence["alone_ms"] == pytest.approx(alone_s * 1000, rel=0.1)


def test_a_target_that_was_never_full_has_none() -> None:
    finding = find_knee("ramp", ramp(DOUBLED, 0.01, 1e9))
    assert finding.value is None
    assert "still grew at its end, at 128 in flight" in finding.text


def measured(rates: list[float]) -> Series:
    """Levels of doubled depth with the rate that was seen at each."""
    random = np.random.default_rng(7)
    rows = []
    for second, level in enumerate(np.repeat(range(len(rates)), 30)):
        rate = rates[level] * random.uniform(0.9, 1.1)
        mean_ns = 2**level / rate * 1e9
        rows.append(
            ("ramp", "read", second * 10**9, 10**9, round(rate), round(rate) * 4096, mean_ns, 0, 0, 0, round(mean_ns))
        )
    return Series.of(Loads(pl.DataFrame(rows, schema=SAMPLE_SCHEMA, orient="row")), "ramp")


def test_an_array_whose_rate_creeps_up_for_ever_has_a_knee_where_waiting_begins() -> None:
    """A raid5 of four: each doubling beyond 16 buys a fifth more work, and two thirds more waiting."""
    finding = find_knee("ramp", measured([72, 103, 158, 224, 275, 325, 395, 460]))
    assert finding.value is not None
    assert 8 <= finding.value <= 40
    assert "gains more waiting than work" in finding.text
    assert finding.text.endswith(" ms.")


def test_a_single_drive_has_its_knee_where_its_queue_is_full() -> None:
    finding = find_knee("ramp", measured([130, 132, 160, 200, 248, 285, 292, 290]))
    assert finding.value is not None
    assert 16 <= finding.value <= 36


def test_what_gains_nothing_by_more_load_has_its_knee_at_the_least() -> None:
    assert find_knee("ramp", measured([100, 101, 99, 100, 102, 100, 99, 100])).value == pytest.approx(1, rel=0.1)


def test_where_work_grows_as_waiting_does_there_is_no_knee() -> None:
    assert find_knee("ramp", measured([100 * 1.5**level for level in range(8)])).value is None


def test_what_drains_at_the_end_of_a_level_is_not_in_flight_besides() -> None:
    series = ramp(DOUBLED, 0.01, 1e9, noise=0)
    drained = replace(series, waited_s=series.waited_s * np.append(np.ones(len(series) - 2), [1.1, 1.1]))
    assert find_knee("ramp", drained).evidence["most_in_flight"] == pytest.approx(128)


def test_too_little_shows_none() -> None:
    assert find_knee("ramp", ramp([1], 0.01, 400, level_s=3)).value is None
    assert "not raised" in find_knee("ramp", ramp([1], 0.01, 400, level_s=100)).text
