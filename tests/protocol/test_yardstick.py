"""Which baselines clear nobody."""

from __future__ import annotations

import pytest

from shakedown.analysis.finding import Finding
from shakedown.analysis.rules import SHINGLED_BASELINE
from shakedown.protocol.yardstick import beside
from shakedown.result.identity import Identity

SHARE = Finding(kind="throughput-ratio", step="new", value=1.0, unit="ratio", text="As fast.")
OTHER = Finding(kind="throughput", step="new", value=1.0, unit="MiB/s", text="Slow.")


@pytest.mark.parametrize(
    ("model", "shingled", "doubted"),
    [
        ("MINE", True, True),
        ("MINE", False, False),
        ("MINE", None, False),
        ("WDC WD40EFAX-68JH4N0", None, True),
        ("WDC WD40EFRX-68N32N0", None, False),
        ("WDC WD40EFAX-68JH4N0", False, False),
    ],
)
def test_a_share_of_what_a_shingled_drive_does_says_so(model: str, shingled: bool | None, doubted: bool) -> None:
    """By its profile, or else by what is published about its model."""
    baseline = Identity(kind="disk", text="b", name="b", model=model, capacity_bytes=1, shingled=shingled)
    share, other = beside(baseline, [SHARE, OTHER])
    assert (SHINGLED_BASELINE in share.evidence) == doubted
    assert other == OTHER
