"""What a twin says of a drive on which what was written lies where it should."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from shakedown.fit.drafting import draft
from shakedown.fit.drive.whereabouts import Moved
from shakedown.fit.twin import BY, Twin

LATE = "seemed to lie elsewhere: late answers, below the limit of 50% for a shingled drive"


@pytest.mark.parametrize(
    ("share", "told"), [(0.0, "0% of what was written lay elsewhere"), (0.12, f"12% of what was written {LATE}")]
)
def test_a_share_below_the_limit_is_told_as_late_answers(share: float, told: str) -> None:
    facts = SimpleNamespace(moved=Moved(share), cleans_at_once=False, cache=None)
    twin = Twin("twin", "twin")
    draft._translation(twin, cast("Any", facts))
    assert twin.sections["translation"]["kind"] == ("identity", f"measured: {told} {BY}")
