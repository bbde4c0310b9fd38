"""What is asked of a run in the lab before a guest is begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import UsageError
from shakedown.protocol.in_lab import LabOrder, run_in_lab
from shakedown.protocol.play import Listener


def test_a_window_that_the_baseline_would_meet_is_refused(tmp_path: Path) -> None:
    stall = 'kind="stall", from_s=20, for_s=40'
    order = LabOrder("random-1m", "", {}, ("lab:wd40efax", "lab:wd40efrx"), faults=(f"sda={stall}",))
    with pytest.raises(UsageError, match="count from the boot, and the baseline, which is played first") as refused:
        run_in_lab(order, tmp_path / "run", Listener())
    assert "`shakedown compare`" in str(refused.value.hint)
    assert not (tmp_path / "run").exists()
