"""Confidence intervals that mean what they say, and ratios that can be turned round."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from shakedown.analysis.estimate import STUDENT, Estimate, quotient, ratio, student


def autocorrelated(draw: np.random.Generator, count: int, phi: float) -> np.ndarray:
    """AR(1) around 100 with a standard deviation of 10."""
    series = np.empty(count)
    series[0] = draw.standard_normal()
    for i, shock in enumerate(draw.standard_normal(count - 1) * np.sqrt(1 - phi**2), start=1):
        series[i] = phi * series[i - 1] + shock
    return 100 + 10 * series


@pytest.mark.parametrize(("phi", "count"), [(0.0, 60), (0.5, 300), (0.9, 600), (0.9, 3600)])
def test_coverage_of_the_95_percent_interval(phi: float, count: int) -> None:
    """Measured over 500 series each: see docs/findings.md."""
    draw, hits = np.random.default_rng(1), 0
    seconds = np.ones(count)
    for _ in range(500):
        estimate = quotient(autocorrelated(draw, count, phi), seconds, seconds)
        assert estimate is not None
        low, high = estimate.spread()
        assert low is not None
        assert high is not None
        hits += low <= 100 <= high
    assert 0.88 <= hits / 500 <= 0.99


def test_coverage_of_a_ratio() -> None:
    draw, hits = np.random.default_rng(2), 0
    seconds = np.ones(300)
    for _ in range(500):
        pair = [quotient(scale * autocorrelated(draw, 300, 0.7), seconds, seconds) for scale in (0.5, 1.0)]
        assert pair[0] is not None
        assert pair[1] is not None
        compared = ratio(pair[0], pair[1])
        assert compared is not None
        low, high = compared.spread()
        assert low is not None
        assert high is not None
        hits += low <= 0.5 <= high
    assert 0.88 <= hits / 500 <= 0.99


positive = st.floats(1e-6, 1e9)
estimates = st.builds(Estimate, positive, st.floats(0, 0.5) | st.none(), st.floats(1, 30))


@given(estimates, estimates)
def test_a_ratio_turned_round_is_its_inverse(candidate: Estimate, baseline: Estimate) -> None:
    there, back = ratio(candidate, baseline), ratio(baseline, candidate)
    assert there is not None
    assert back is not None
    assert there.value * back.value == pytest.approx(1)
    (low, high), (low_back, high_back) = there.spread(), back.spread()
    if low is None or high is None or low_back is None or high_back is None:
        assert candidate.log_error is None or baseline.log_error is None
    else:
        assert low * high_back == pytest.approx(1)
        assert high * low_back == pytest.approx(1)
        assert low <= there.value <= high


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=80), st.integers(2, 1000))
def test_the_unit_does_not_matter(amounts: list[int], scale: int) -> None:
    amount, seconds = np.array(amounts, dtype=np.float64), np.ones(len(amounts))
    plain, scaled = quotient(amount, seconds, seconds), quotient(amount * scale, seconds, seconds)
    assert plain is not None
    assert scaled is not None
    assert scaled.value == pytest.approx(plain.value * scale)
    assert scaled.log_error == pytest.approx(plain.log_error)


def test_too_little_to_say_has_no_interval() -> None:
    one = np.ones(1)
    assert quotient(one, np.zeros(1), one) is None
    estimate = quotient(one, one, one)
    assert estimate is not None
    assert estimate.spread() == (None, None)
    assert estimate.interval_text() == ""


def test_unequal_intervals_weigh_by_their_length() -> None:
    seconds = np.array([1.0, 9.0, 1.0, 1.0, 8.0])
    estimate = quotient(100 * seconds, seconds, seconds)
    assert estimate is not None
    assert estimate.value == pytest.approx(100)
    assert estimate.log_error == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("level", [np.linspace(180, 90, 600), np.where(np.arange(600) < 200, 200.0, 13.0)])
def test_a_level_that_falls_within_the_step_has_no_interval(level: np.ndarray) -> None:
    seconds = np.ones(600)
    found = quotient(level * np.random.default_rng(1).uniform(0.9, 1.1, 600), seconds, seconds)
    assert found is not None
    assert found.interval() == (None, None)
    assert "no interval" in found.interval_text()
    low, high = found.spread()
    assert low is not None
    assert high is not None
    assert low < found.value < high


def test_two_batches_by_hand() -> None:
    """Means of 1 and 3: their standard error is 1, half of their mean, and two batches leave one degree of freedom."""
    estimate = quotient(np.array([1.0, 1.0, 3.0, 3.0]), np.ones(4), np.ones(4))
    assert estimate is not None
    assert (estimate.value, estimate.freedom) == (2, 1)
    assert estimate.log_error == pytest.approx(0.5)


def test_a_trend_within_a_tenth_is_one_level() -> None:
    seconds = np.ones(600)
    for last, is_steady in ((104.0, True), (130.0, False)):
        found = quotient(np.linspace(100, last, 600), seconds, seconds)
        assert found is not None
        assert found.steady is is_steady


def test_few_steady_levels_are_called_unsteady() -> None:
    """Below the bound of von Neumann's ratio lie about 1 in 1000."""
    seconds = np.ones(600)
    draw = np.random.default_rng(5)
    found = [quotient(100 * np.exp(draw.normal(0, 1, 600)), seconds, seconds) for _ in range(500)]
    assert sum(not each.steady for each in found if each) <= 3


@pytest.mark.parametrize("freedom", [*range(1, len(STUDENT) + 1), 2.5, 30.0])
def test_students_quantile_is_that_of_scipy(freedom: float) -> None:
    assert student(freedom) == special.stdtrit(freedom, 0.975)
