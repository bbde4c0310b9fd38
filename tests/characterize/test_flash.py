"""A cache in flash answers nearly as soon as memory: what a write costs there, and whether memory took it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from characterize.blind import changed
from shakedown.characterize.bench import PlainBench
from shakedown.errors import InconclusiveError
from shakedown.fit.drive.dram import Bursts, Link
from shakedown.fit.estimate import Estimate
from shakedown.fit.log import append, flash
from shakedown.target.model import ModelArena

_LINK = Link(Estimate.around(100.0, 1.0), Estimate(550.0, 545.0, 555.0))


@pytest.mark.parametrize("write_us", [20, 100, 1200])
@pytest.mark.parametrize("write_back", [True, False], ids=["memory", "through"])
def test_writes_that_go_through_to_flash_are_told_from_those_that_memory_takes(
    write_back: bool, write_us: int, tmp_path: Path
) -> None:
    """Either is answered without any motion: with the write cache off a characterisation ended in a crash."""
    truth = changed("skylight-2", dram__write_back=write_back, translation__cache__flash_write_us=write_us)
    (tmp_path / "hidden.toml").write_text(truth.toml)
    arena = ModelArena(f"model:{tmp_path / 'hidden.toml'}", seed=1)
    bench = PlainBench(arena, truth.values["geometry.capacity_bytes"])
    seen = Bursts(True, 128, None)
    assert flash.bursts(bench, seen, _LINK) == (seen if write_back else Bursts(False, None, None))


def test_what_no_flush_waits_for_is_told_as_not_known() -> None:
    groups, sizes = np.array(append.GROUPS), np.array(append.SIZES)
    seen = append.Visits(groups, np.full(len(groups), 0.1), sizes, np.full(len(sizes), 0.1), write_back=True)
    with pytest.raises(InconclusiveError, match="no flush waits"):
        flash.estimate_writes(seen, 0.1, 550.0)
    flash.estimate_writes(replace(seen, group_ms=seen.group_ms * 3, size_ms=seen.size_ms * 3), 0.1, 550.0)
