"""Where padding of a raidz goes: what is told of it holds in the modelled pool."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shakedown.array.find import findings
from shakedown.array.order import RebuildOrder
from shakedown.array.padding import padding
from shakedown.array.rebuild import simulate
from shakedown.array.sectors import small_sectors
from shakedown.array.zfs import ZfsOptions

RED = "model:wd40efrx"
KIB = 1024


def order(layout: str, width: int, record_bytes: int, ashift: int = 12, drive: str = RED) -> RebuildOrder:
    options = ZfsOptions(record_bytes=record_bytes, ashift=ashift)
    return RebuildOrder(layout, (drive,) * width, drive, fill=0.2, scale_divisor=4000, options=options)


@pytest.mark.parametrize(
    ("ashift", "record_bytes", "told", "ratio"),
    [(12, 8 * KIB, "it takes longer", (1.5, 100)), (9, 4 * KIB, "it may take far less", (0, 0.1))],
)
def test_another_drives_time_is_as_the_caution_says(
    ashift: int, record_bytes: int, told: str, ratio: tuple[float, float]
) -> None:
    last = replace(order("raidz1", 4, record_bytes, ashift), scale_divisor=1000)
    (caution,) = padding(last)
    assert caution.startswith(f"CAUTION: where another drive than the last is replaced {told}")
    first = replace(last, failed=0)
    assert padding(first) == ()
    least, most = ratio
    assert least <= simulate(first).duration_ns / simulate(last).duration_ns <= most


@pytest.mark.parametrize(
    ("layout", "ashift", "drive", "told"),
    [
        ("raidz1", 9, RED, "512 bytes, but the physical sectors of wd40efrx have 4096"),
        ("mirror", 9, RED, "Such drives want ashift=12."),
        ("raidz1", 12, RED, None),
        ("raidz1", 13, RED, None),
        ("raidz1", 9, "model:hd103uj", None),
    ],
)
def test_a_pools_sectors_that_are_smaller_than_the_drives_are_cautioned(
    layout: str, ashift: int, drive: str, told: str | None
) -> None:
    cautions = small_sectors(order(layout, 4, 128 * KIB, ashift, drive))
    assert [told in each for each in cautions if told] == ([True] if told else [])
    assert bool(cautions) == bool(told)


def test_md_has_no_sectors_of_its_own() -> None:
    assert small_sectors(RebuildOrder("raid5", (RED,) * 4, RED)) == ()


def test_why_no_estimate_was_shown_is_told() -> None:
    slow = findings([simulate(replace(order("raidz1", 4, 4 * KIB, 9), scale_divisor=1000))], ["wd40efrx"] * 4)
    (told,) = [each.text for each in slow if each.kind == "estimate-error"]
    assert told == "With a tenth done no estimate was shown: below 10 MiB/s `zpool status` shows none."


@pytest.mark.parametrize(
    ("layout", "width", "record_bytes", "part", "told"),
    [
        # OpenZFS 2.3 in the lab, of this very order: the pool's own blocks shift a third of the records by two drives.
        ("raidz1", 4, 8 * KIB, 0.34, "last, which holds nothing of it, but where"),
        ("raidz1", 4, 32 * KIB, 2 / 3, "last, which holds 2 of its 3, but where"),
        ("raidz1", 4, 128 * KIB, 10 / 11, None),
        ("raidz1", 4, 16 * KIB, 1, None),
        ("raidz2", 4, 8 * KIB, 4 / 6, None),  # padding of two, on each drive in turn
        ("mirror", 2, 8 * KIB, 1, None),
    ],
)
def test_padding_that_is_always_on_the_last_drive_is_told_and_its_share_is_the_models(
    layout: str, width: int, record_bytes: int, part: float, told: str | None
) -> None:
    asked = order(layout, width, record_bytes)
    cautions = padding(asked)
    assert [told in each for each in cautions if told] == ([True] if told else [])
    assert bool(cautions) == bool(told)
    done = simulate(asked)
    written = done.members["bytes_written"][-1]
    # The pool's own blocks come on top: a sixth where records are as short as these.
    assert written / (done.allocated_bytes * asked.part_of_one) == pytest.approx(part, abs=0.2)
