"""Where padding of a raidz goes: what is told of it holds in the modelled pool."""

from __future__ import annotations

import pytest

from shakedown.array.order import RebuildOrder
from shakedown.array.padding import padding
from shakedown.array.rebuild import simulate
from shakedown.array.zfs import ZfsOptions

RED = "model:wd40efrx"
KIB = 1024


def order(layout: str, width: int, record_bytes: int) -> RebuildOrder:
    options = ZfsOptions(record_bytes=record_bytes)
    return RebuildOrder(layout, (RED,) * width, RED, fill=0.2, scale_divisor=4000, options=options)


@pytest.mark.parametrize(
    ("layout", "width", "record_bytes", "part", "told"),
    [
        ("raidz1", 4, 8 * KIB, 0, "last, which holds nothing of it."),
        ("raidz1", 4, 32 * KIB, 2 / 3, "last, which holds 2 of its 3."),
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
