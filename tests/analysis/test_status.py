"""How far an estimate is off, in words."""

import pytest

from shakedown.analysis.status import off_by


@pytest.mark.parametrize(
    ("least", "most", "said"),
    [
        (-0.004, -0.002, "right"),
        (0.0, 0.0, "right"),
        (-0.004, 0.3, "right to 30% too long"),
        (-0.25, -0.25, "25% too short"),
        (-0.2, 0.1, "20% too short to 10% too long"),
    ],
)
def test_nobody_is_told_that_an_estimate_is_nothing_too_short(least: float, most: float, said: str) -> None:
    assert off_by(least, most) == said
