"""Durations as people read them."""

from __future__ import annotations

import pytest

from shakedown.units import format_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0001, "0.1 ms"),
        (0.812, "812 ms"),
        (0.9997, "1 s"),
        (41.23, "41.2 s"),
        (99.4, "99.4 s"),
        (100, "1 min 40 s"),
        (300, "5 min"),
        (312.4, "5 min 12 s"),
        (3599.2, "59 min 59 s"),
        (3599.7, "60 min"),
        (5100, "85 min"),
        (6000, "1 h 40 min"),
        (9 * 86_400 + 4 * 3600, "9 d 4 h"),
    ],
)
def test_a_duration_has_two_units_at_the_most(seconds: float, text: str) -> None:
    assert format_duration(seconds * 1e9) == text
