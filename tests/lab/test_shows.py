"""The shows in `lab/shows`, small: what they say of their data and drives. Skipped where the lab is not built."""

from __future__ import annotations

import re

import pytest

from shakedown.data import lab_path
from shakedown.lab.image import find_image
from shakedown.lab.kernel import find_kernel
from shakedown.lab.run import Order, run

pytestmark = pytest.mark.skipif(
    find_kernel() is None or find_image() is None, reason="the lab is not built: `shakedown lab build`"
)


def shown(script: str, *arguments: str, drives: tuple[str, ...], scale: int, beside: tuple[str, ...] = ()) -> str:
    printed = b""

    def keep(_: str, text: bytes) -> None:
        nonlocal printed
        printed += text

    order = Order(
        command=(f"./{script}", *arguments),
        drives=tuple(f"model:{drive}" for drive in drives),
        scale_divisor=scale,
        bring_in=tuple(lab_path(f"shows/{name}") for name in (script, *beside)),
    )
    assert run(order, keep).exit_status == 0, printed.decode()
    return printed.decode()


@pytest.mark.parametrize(("level", "drives"), [("6", 5), ("1", 3)])
def test_what_md_rebuilds_is_what_was_there(level: str, drives: int) -> None:
    output = shown("md-rebuild.sh", level, drives=("wd40efax",) + ("wd40efrx",) * (drives - 1), scale=5000)
    assert "the file is what it was, read without /dev/sdb" in output


def test_md_kicks_a_drive_that_lets_commands_time_out() -> None:
    output = shown("md-kicks.sh", "1", drives=("skylight-2", "cmr-16tb"), scale=400)
    said = [output.index(words) for words in ("] out of the array", "abort", "device reset", "Disk failure on sda")]
    assert said == sorted(said)


def test_md_rebuilds_a_mirror_that_is_in_use() -> None:
    output = shown("md-rebuild-in-use.sh", drives=("wd40efrx", "wd40efrx"), scale=5000, beside=("users.py",))
    assert "h: [UU]" in output
    assert re.search(r"users: [0-9]+ writes, which took 0\.0", output)
    assert "what was there before is there, read without /dev/sdb" in output
