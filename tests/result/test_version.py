"""What a newer Shakedown has written is told as that, whoever reads it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from shakedown.array.in_lab import InGuest
from shakedown.array.order import RebuildOrder
from shakedown.array.state import State
from shakedown.characterize.record import read_record
from shakedown.device.disk.edges import save_edges
from shakedown.device.disk.facts import Name, Situation
from shakedown.errors import ShakedownError, UsageError
from shakedown.protocol.in_lab import LabOrder


def edges(folder: Path) -> None:
    save_edges(-1, Situation("/dev/sdb", "sdb", "8:16", "disk", Name("disk", "A", None, 1)), folder)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("characterize.json", read_record),
        ("lab-order.json", LabOrder.read),
        ("lab-rebuild.json", InGuest.read),
        ("array.json", State.read),
        ("before/before.json", edges),
    ],
)
def test_a_newer_version_is_refused_as_that(tmp_path: Path, name: str, read: Callable[[Path], object]) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"format_version": 2, "device": {}}))
    with pytest.raises(UsageError, match=f"{name}` has format version 2; this Shakedown reads up to 1") as refused:
        read(tmp_path)
    assert "upgrade" in refused.value.hint
    for never in (0, "1", True, None):
        file.write_text(json.dumps({"format_version": never, "device": {}}))
        with pytest.raises(ShakedownError, match=r"damaged|is not the order"):
            read(tmp_path)


def test_orders_of_the_lab_that_tell_no_version_are_of_the_first(tmp_path: Path) -> None:
    told = LabOrder("cliff", "", {}, ("lab:wd40efrx",))
    told.write(tmp_path)
    rebuild = InGuest(RebuildOrder("raid1", ("lab:wd40efrx",) * 2, "lab:wd40efrx"), (), None)
    rebuild.write(tmp_path)
    for name in ("lab-order.json", "lab-rebuild.json"):
        document = json.loads((tmp_path / name).read_text())
        assert document.pop("format_version") == 1
        (tmp_path / name).write_text(json.dumps(document))
    assert LabOrder.read(tmp_path) == told
    assert InGuest.read(tmp_path) == rebuild
