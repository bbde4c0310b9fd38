"""Rebuilds that cannot be are refused, with a reason and what to do."""

from __future__ import annotations

import re

import pytest

from arrays.test_rebuild import IRONWOLF, JOB, RED, order
from shakedown.array.rebuild import simulate
from shakedown.array.zfs import ZfsOptions
from shakedown.errors import UsageError
from shakedown.units import parse_size_bytes


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"layout": "raid7"}, "no layout"),
        ({"layout": "raid0"}, "no redundancy"),
        ({"members": (IRONWOLF,) * 3}, "takes 4 or more"),
        ({"members": (IRONWOLF,) * 1921}, "room for 1920"),
        ({"members": (IRONWOLF,) * 129}, "at most 128"),
        ({"fill": 1.2}, "120% full"),
        ({"fill": 0.0, "load": JOB}, "needs data"),
        ({"replacement": RED}, "too small: it has 3.7 GiB, and the array uses 11.2 GiB of each drive"),
        ({"member_bytes": 2**60}, "the array was to use"),
        ({"replacement": "/dev/sda"}, "modelled, of the lab, or real: all alike"),
        ({"members": ("/dev/sda",) * 4, "replacement": "/dev/sdb"}, "no modelled drive"),
        ({"replacement": "model:nothing"}, "nothing"),
        ({"faults": {9: ""}}, "no drive 9"),
        ({"faults": {1: "format_version = 2"}}, r"`format_version` is 2: .* \(line 1\)"),
        ({"load": "[a]\nrw=sideways\n"}, "sideways"),
        ({"scale_divisor": 10**8}, "scale"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(changes: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says) as refusal:
        simulate(order(**changes))
    assert refusal.value.hint
    assert "--" not in refusal.value.hint  # Python asks in the same words as the command line


def test_the_largest_member_size_that_a_small_replacement_allows_is_told_and_taken() -> None:
    with pytest.raises(UsageError) as refusal:
        simulate(order(replacement=RED))
    [size] = re.findall(r"`(\w+)` at the most", refusal.value.hint or "")
    assert simulate(order(replacement=RED, member_bytes=parse_size_bytes(size))).ended == "complete"
    with pytest.raises(UsageError, match="too small"):
        simulate(order(replacement=RED, member_bytes=parse_size_bytes(size) + (1 << 20)))


def test_a_member_size_that_is_told_fits_the_new_drive_too() -> None:
    wanted = order(replacement=RED, member_bytes=12 << 40)
    with pytest.raises(UsageError, match="was to use") as refusal:
        simulate(wanted)
    [size] = re.findall(r"at 1/1000, `(\w+)`", refusal.value.hint or "")
    assert order(replacement=RED, member_bytes=parse_size_bytes(size)).to_core()


def test_what_a_pool_cannot_be_is_told_where_pools_are() -> None:
    with pytest.raises(UsageError, match="a metaslab has room") as refusal:
        simulate(order(layout="raidz1", options=ZfsOptions(run_records=10**11)))
    assert "docs/zfs.md" in refusal.value.hint
