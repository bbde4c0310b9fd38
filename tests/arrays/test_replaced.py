"""Which drive of a modelled array is replaced: the last, or one that is chosen by its place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import shakedown
from shakedown.array.order import RebuildOrder
from shakedown.array.rebuild import simulate
from shakedown.array.zfs import ZfsOptions
from shakedown.cli.rebuild import RebuildOptions
from shakedown.cli.rebuild import rebuild as verb
from shakedown.errors import UsageError
from shakedown.layouts import ZFS_LAYOUTS
from shakedown.target.md_options import MdOptions

RED, IRONWOLF, SMR = "model:wd40efrx", "model:st12000vn0007", "model:wd40efax"


@pytest.mark.parametrize("layout", ["raid1", "raid10", "raid5", "raid6", "mirror", "raidz1", "raidz3", "draid1"])
@pytest.mark.parametrize("failed", [None, 0, 1])
def test_it_is_the_new_drive_in_the_place_of_the_failed_one_that_is_written(layout: str, failed: int | None) -> None:
    options = ZfsOptions() if layout in ZFS_LAYOUTS else MdOptions()
    order = RebuildOrder(
        layout, (RED,) * 4, IRONWOLF, fill=0.1, scale_divisor=4000, member_bytes=2**29, options=options, failed=failed
    )
    done = simulate(order)
    assert done.replacement == order.place == (3 if failed is None else failed)
    assert [target == IRONWOLF for target in order.drives] == [place == order.place for place in range(4)]
    assert done.ended == "complete"
    assert done.members["bytes_written"].arg_max() == order.place
    read = done.members["bytes_read"].to_list()
    assert read[order.place] < 0.1 * max(read)


def test_the_last_by_its_number_is_the_last() -> None:
    last = RebuildOrder("raid5", (RED, SMR, RED), RED, scale_divisor=4000)
    ones, others = simulate(last), simulate(replace(last, failed=2))
    assert ones.to_json() == others.to_json()


def test_a_drive_like_the_one_that_failed_takes_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = RebuildOptions(replace=1, seeds=1, scale="1/4000", out=tmp_path / "run", quiet=True)
    verb("raid5", IRONWOLF, SMR, IRONWOLF, options=options)
    told = " ".join(capsys.readouterr().out.split())
    assert "drive 1 is replaced by model:wd40efax, new" in told
    assert shakedown.rebuild("raid5", [IRONWOLF, SMR, IRONWOLF], failed=1, scale_divisor=4000).replacement == 1


@pytest.mark.parametrize("new", [None, IRONWOLF])
@pytest.mark.parametrize("place", [-1, 3])
def test_a_place_without_a_drive_is_refused(place: int, new: str | None, tmp_path: Path) -> None:
    options = RebuildOptions(width=3, replace=place, replace_with=new, scale="1/4000", out=tmp_path / "run", quiet=True)
    with pytest.raises(UsageError, match=f"no drive {place}: they are counted from 0 to 2"):
        verb("raid5", RED, options=options)
    with pytest.raises(UsageError, match=f"no drive {place}: |failed is {place}: it must be a whole number from 0"):
        shakedown.rebuild("raid5", RED, width=3, failed=place, scale_divisor=4000)


@pytest.mark.parametrize("drive", ["lab:wd40efrx", "/dev/loop77"])
def test_of_others_the_last_one_fails(drive: str, tmp_path: Path) -> None:
    options = RebuildOptions(width=3, replace=0, scale="1/4000", out=tmp_path / "run", quiet=True)
    with pytest.raises(UsageError, match="`--replace` is for modelled drives") as refusal:
        verb("raid5", drive, options=options)
    assert "as the last" in refusal.value.hint
