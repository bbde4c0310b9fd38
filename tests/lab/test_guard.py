"""The guard on real stacks, in a guest of the lab: full consent, exit status 4, and not a byte changed.

Skipped where the lab is not built. What is built in the guest is in ``guard_in_guest.py``.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lab.test_run import allowed as allowed  # noqa: PLC0414 - a fixture
from lab.test_run import ran
from shakedown.lab.image import find_image
from shakedown.lab.kernel import find_kernel

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(
    find_kernel() is None or find_image() is None, reason="the lab is not built: `shakedown lab build`"
)
BUSY = ["in-use", "cannot be opened exclusively"]
# Each stack: exactly the reasons for which it must be refused, as [rule, words].
REFUSED: dict[str, dict[str, list[list[str]]]] = {
    "members": {
        **{
            key: value
            for version in ("1.2", "1.0", "0.90")
            for key, value in {
                f"md {version}, running": [["in-use", "the array md0"], BUSY, ["member", "linux_raid_member"]],
                f"md {version}, stopped": [["member", "linux_raid_member"]],
            }.items()
        },
        "lvm, active": [["in-use", "part of vg-lv"], BUSY, ["member", "LVM2_member"]],
        "lvm, active, the volume elsewhere": [["member", "LVM2_member"]],
        "lvm, inactive": [["member", "LVM2_member"]],
        "zfs, imported": [["in-use", "(zfs-fuse) has sda open"], ["member", "zfs_member"]],
        "zfs, exported": [["member", "zfs_member"]],
        **{
            f"btrfs, mounted, {which}": [
                ["in-use", "is mounted on /mnt"],
                ["in-use", "a member of the mounted btrfs"],
                BUSY,
                ["member", "btrfs_member"],
            ]
            for which in ("first", "second")
        },
        "btrfs, of two, unmounted": [["member", "btrfs_member"]],
    },
    "mappings": {
        "luks, open": [["in-use", "part of vault"], BUSY],
        "luks, mounted": [["in-use", "is mounted on /mnt"], ["in-use", "part of vault"], BUSY],
        "luks, closed, not named": [["signature", "crypto_LUKS"]],
        "dm, linear": [["in-use", "part of plain"], BUSY],
        "multipath": [["in-use", "part of mpatha"], BUSY],
    },
    "file_systems": {
        "ext4, mounted": [["in-use", "is mounted on /mnt"], BUSY],
        "ext4, not named": [["signature", "ext4"]],
        "ext4, another is named": [["signature", "ext4"]],
        "ext4, mounted in another namespace": [["in-use", "is mounted on"], BUSY],
        "swap signature, not named": [["signature", "swap"]],
        "gpt, not named": [["signature", "sda has a signature of gpt"]],
        "gpt named, its file system not": [["signature", "sda1 has a signature of ext4"]],
        "gpt, a partition mounted": [["in-use", "sda1 is mounted on /mnt"], BUSY],
        "gpt, a partition is of LVM": [["member", "sda1 has been made part of something larger: LVM2_member"]],
    },
    "in_use": {
        "open in another process": [["in-use", "(sleep) has sda open"]],
        "a loop device on it": [["in-use", "loop5 stands on sda"]],
        "read-only": [["read-only", "sda is read-only"]],
        "the run's own folder": [["in-use", "is mounted on"], ["in-use", "the run's folder lies on sdb"], BUSY],
    },
    "consent": {
        "nobody has agreed": [["consent", "nobody has agreed"]],
        "agreed to the other one": [["consent", "and sda is not that"]],
        "agreed to the name": [["consent", "and sda is not that"]],
    },
}


@cache
def told(part: str) -> dict[str, dict[str, Any]]:
    """What a part of the guest's script says, by the stack's name: one boot each."""
    outcome, output, errors = ran(
        "python3",
        "guard_in_guest.py",
        part,
        drives=("model:st12000vn0007",) * 2,
        scale_divisor=100_000,
        bring_in=tuple(HERE / name for name in ("guard_in_guest.py", "short.toml", "reads.toml")),
        with_shakedown=True,
    )
    assert outcome.exit_status == 0, errors
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return {line["name"]: line for line in lines}


def one_boot(part: str) -> pytest.MarkDecorator:
    """What asks for the same part runs in one process, and so boots one guest."""
    return pytest.mark.xdist_group(f"guard {part}")


@pytest.mark.parametrize(
    ("part", "name"),
    [pytest.param(part, name, marks=one_boot(part)) for part, names in REFUSED.items() for name in names],
)
def test_is_refused_for_exactly_this_and_not_a_byte_is_changed(part: str, name: str) -> None:
    line = told(part)[name]
    assert line["status"] == 4, line
    assert line["same"], line
    wanted = REFUSED[part][name]
    assert sorted(rule for rule, _ in line["rules"]) == sorted(rule for rule, _ in wanted), line
    for rule, words in wanted:
        assert any(rule == other and words in reason for other, reason in line["rules"]), (rule, words, line)


@pytest.mark.parametrize("part", [pytest.param(part, marks=one_boot(part)) for part in REFUSED])
def test_every_stack_that_is_built_has_its_reasons_here(part: str) -> None:
    assert told(part).keys() == REFUSED[part].keys()


def test_what_may_be_overwritten_is_and_its_edges_can_be_put_back() -> None:
    lines = told("allowed")
    assert lines["allowed"]["status"] == 3, lines["allowed"]
    assert not lines["allowed"]["same"]
    done = lines["put back"]
    assert done["steps"] == [["write", None], ["read", None]]
    assert done["gone"]
    assert done["back"]
    assert ["--readonly" in command for command in done["commands"]] == [True, False]
    assert done["target"]["kind"] == "disk"
    assert done["target"]["details"]["serial"]


def test_only_reading_needs_no_consent_and_says_what_it_cannot_show() -> None:
    line = told("reading")["reading"]
    assert line["status"] == 3, line
    assert line["same"]
    assert "whether it is shingled, this cannot show" in line["notes"][0]
