"""Users of a real array, listened to in the background: what goes wrong there, and what is closed when.

The load and its arena are fakes; the real ones are tried in a guest.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shakedown.device.array import users
from shakedown.device.array.users import Users
from shakedown.sample import Sample


class FakeLoad:
    """Waits until it is killed or stopped; ``trouble`` is raised at its end."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.trouble: Exception | None = None
        self._ended = threading.Event()

    def __iter__(self) -> Iterator[list[Sample]]:
        self._ended.wait(30)
        self.happened.append("heard to the end")
        if self.trouble is not None:
            raise self.trouble
        yield []

    def stop(self) -> None:
        self._ended.set()

    def kill(self) -> None:
        self.happened.append("killed")
        self._ended.set()

    def __exit__(self, *_: object) -> None:
        self.happened.append("closed")


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> FakeLoad:
    fake = FakeLoad()

    def arena(*_: Any) -> SimpleNamespace:
        return SimpleNamespace(start=lambda *_: fake, close=lambda **_: fake.happened.append("given back"))

    for name in ("FileMedium", "locate_fio"):
        monkeypatch.setattr(users, name, lambda *_, **__: None)
    monkeypatch.setattr(users, "DeviceArena", arena)
    return fake


def test_nothing_is_closed_under_who_reads_it(load: FakeLoad, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), Users("[a]\nrw=randread\n", tmp_path / "file", tmp_path, "load"):
        raise KeyboardInterrupt
    assert load.happened == ["killed", "heard to the end", "closed", "given back"]


def test_half_of_the_samples_are_not_told_as_all(load: FakeLoad, tmp_path: Path) -> None:
    load.trouble = ZeroDivisionError("a bug")
    with (
        pytest.raises(ZeroDivisionError, match="a bug"),
        Users("[a]\nrw=randread\n", tmp_path / "file", tmp_path, "load") as listened,
    ):
        listened.stop()
