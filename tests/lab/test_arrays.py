"""The real md beside the model, on drives so small that it takes seconds; docs/conformance-arrays.md has more."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.array.in_lab import InGuest, run_rebuild_in_lab
from shakedown.array.order import RebuildOrder
from shakedown.array.rebuild import simulate
from shakedown.lab.image import find_image
from shakedown.lab.kernel import find_kernel
from shakedown.report.rebuild import answers_of
from shakedown.target.md_options import MdOptions

pytestmark = pytest.mark.skipif(
    find_kernel() is None or find_image() is None, reason="the lab is not built: `shakedown lab build`"
)
# The lab's kernel and host adapter.
LAB_HOST = MdOptions(jiffy_ns=10_000_000, max_segments=254, processors=1)


@pytest.mark.parametrize(("layout", "width"), [("raid1", 2), ("raid5", 3)])
def test_the_real_md_takes_as_long_as_the_modelled_one(layout: str, width: int, tmp_path: Path) -> None:
    drive = "lab:wd40efrx"
    order = RebuildOrder(layout, (drive,) * width, drive, fill=0.05, scale_divisor=4000)
    run = run_rebuild_in_lab(InGuest(order, (), "none"), tmp_path / "r", lambda _: None)
    [real] = answers_of(run)["rebuilds"]
    model = simulate(
        RebuildOrder(
            layout, ("model:wd40efrx",) * width, "model:wd40efrx", scale_divisor=4000, whole=True, options=LAB_HOST
        )
    )
    assert (run.record.arena, real["ended"]) == ("lab", "complete")
    assert model.duration_ns == pytest.approx(real["duration_ns"], rel=0.10)
    for key in ("bytes_read", "bytes_written"):
        # What md and ext4 write beside it is a page here and there.
        theirs = [each[key] for each in real["members"]]
        assert model.members[key].to_list() == pytest.approx(theirs, rel=0.03, abs=4 << 20)
