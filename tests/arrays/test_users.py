"""What is told of users beside a rebuild: where their figures are not what they seem."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shakedown.array import run
from shakedown.array.order import RebuildOrder
from shakedown.array.rebuild import simulate
from shakedown.array.users import longest_wait, rewritten, told_users
from shakedown.array.zfs import ZfsOptions
from shakedown.report.compare import compare
from shakedown.target.md_options import MdOptions

RED = "model:wd40efrx"
JOB = "[users]\nrw=randrw\nrwmixread=70\nbs=16k\niodepth=4\n"


def order(layout: str, load: str | None = JOB) -> RebuildOrder:
    options = MdOptions() if layout.startswith("raid1") else ZfsOptions()
    return RebuildOrder(layout, (RED, RED), RED, fill=0.3, load=load, scale_divisor=8000, options=options)


def test_requests_that_wait_for_each_other_do_not_make_zfs_do_more() -> None:
    """What the note on ``iodepth`` says: as many are answered, and each takes so many times as long."""
    felt = [simulate(order("mirror", JOB.replace("=4", f"={depth}"))).felt_alone for depth in (1, 4)]
    counts = [int(each["count"].sum()) for each in felt]
    means = [float((each["mean_ns"] * each["count"]).sum()) / int(each["count"].sum()) for each in felt]
    assert counts[1] == pytest.approx(counts[0], rel=0.05)
    assert means[1] == pytest.approx(4 * means[0], rel=0.05)


@pytest.mark.parametrize(
    ("layouts", "load", "is_told"),
    [
        (("raid1", "mirror"), JOB, True),
        (("raid1", "mirror"), None, False),
        (("raid1", "raid1"), JOB, False),
    ],
)
def test_users_of_md_and_of_zfs_side_by_side_are_not_alike(
    tmp_path: Path, layouts: tuple[str, str], load: str | None, *, is_told: bool
) -> None:
    runs = [
        run.run_rebuild(order(layout, load), None, 1, tmp_path / str(number), lambda _: None)
        for number, layout in enumerate(layouts)
    ]
    shown = compare(runs)
    assert ("Users of md and of ZFS are not alike" in shown.to_text()) == is_told
    notes = shown.to_json()["protocols"][0]["notes"]
    assert any("Users of md and of ZFS are not alike" in note for note in notes) == is_told


def test_the_longest_wait_of_a_sample_is_said_to_be_of_it() -> None:
    done = simulate(order("mirror"))
    assert longest_wait(order("mirror"), [done]) == ()
    [told] = longest_wait(order("mirror"), [done, replace(done, whole=False)])
    assert "between them one may be longer" in told
    assert longest_wait(order("mirror", None), [replace(done, whole=False)]) == ()


def test_what_users_rewrite_is_told_where_less_is_resilvered_for_it() -> None:
    done = simulate(order("mirror"))
    less = replace(done, progress=done.progress.with_columns(done_bytes=done.progress["done_bytes"] * 9 // 10))
    assert rewritten(order("mirror"), [done], [done]) == ()
    [told] = rewritten(order("mirror"), [less], [done])
    assert "need not be resilvered" in told
    assert rewritten(order("raid1"), [less], [done]) == ()


@pytest.mark.parametrize(
    ("job", "told"),
    [
        (None, ""),
        ("[a]\nrw=randread\nbs=4k", "a: 4.0 KiB, 100 % reads, 100 % random, 1 outstanding"),
        (
            "[global]\nbs=8k\n[a]\nrw=randrw\nrwmixread=70\niodepth=4\nthinktime=20ms\n[b]\nrw=write\nrate_iops=50",
            "a: 8.0 KiB, 70 % reads, 100 % random, 4 outstanding, a pause of 20 ms after each; "
            "b: 8.0 KiB, 0 % reads, 0 % random, 1 outstanding, 50 requests a second at the most",
        ),
        ("[a]\nrw=randread\nbsrange=4k-64k", "a: rw=randread bsrange=4k-64k"),
        (
            "[a]\nrw=randrw\nbs=4k\nrate_iops=40,1\nnumjobs=2",
            "a: 4.0 KiB, 50 % reads, 100 % random, 2 outstanding, 80 reads and 2 writes a second at the most",
        ),
        (
            "[a]\nrw=randread\nbs=4k\nrate_iops=1",
            "a: 4.0 KiB, 100 % reads, 100 % random, 1 outstanding, 1 request a second at the most",
        ),
        (
            "[a]\nrw=rw\nbs=4k\nrate=1m",
            "a: 4.0 KiB, 50 % reads, 0 % random, 1 outstanding, 1.0 MiB of reads and 1.0 MiB of writes a second at the "
            "most",
        ),
        (
            "[a]\nrw=write\nbs=4k\nthinktime=1s\nthinktime_blocks=8",
            "a: 4.0 KiB, 0 % reads, 0 % random, 1 outstanding, a pause of 1 s after every 8 requests",
        ),
    ],
)
def test_a_job_is_told_in_words(job: str | None, told: str) -> None:
    assert told_users(job) == told


@pytest.mark.parametrize(("layout", "width", "least"), [("raid1", 2, 0.6), ("raid10", 4, 0.4)])
def test_a_recovery_that_waits_for_users_waits_for_whom_they_wait_for(layout: str, width: int, least: float) -> None:
    """Their writes wait for the shingled drive and the recovery for them: 12 % were told, so no drive held it up."""
    load = "[users]\nrw=randrw\nrwmixread=70\nbs=16k\niodepth=4\nrandseed=7\n"
    members, new = ("model:wd40efrx",) * width, "model:wd40efax"
    asked = RebuildOrder(
        layout=layout, members=members, replacement=new, fill=0.25, load=load, scale_divisor=8000, whole=True, seed=1
    )
    done = simulate(asked)
    assert done.members["awaited"][done.replacement] > least
