"""How what failed in a guest is told outside; nothing is booted here."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from shakedown.lab import run as lab
from shakedown.lab.ended import failed_inside


@pytest.mark.parametrize(
    ("said", "message", "hint"),
    [
        ("making a mirror\ntaking it down\nerror: no ZFS\nhint: ask for it\n", "in the guest: no ZFS", "ask for it"),
        ("taking it down\nerror: no ZFS\n", "in the guest: no ZFS", ""),
        (
            "taking it down\nTraceback (most recent call last):\n  File\nerror: a bug\nhint: report it\n",
            "in the guest: Traceback (most recent call last):\n  File\nerror: a bug",
            "report it",
        ),
        ("Killed\n", "in the guest: Killed", ""),
    ],
)
def test_what_failed_is_told_without_what_went_before(said: str, message: str, hint: str) -> None:
    failure = failed_inside(said.encode())
    assert (str(failure), failure.hint) == (message, hint)


@pytest.mark.parametrize("ours", [True, False])
def test_a_bug_of_ours_in_a_guest_shows_where_it_is_when_that_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, ours: bool
) -> None:
    monkeypatch.setenv("SHAKEDOWN_TRACEBACK", "1")
    monkeypatch.setattr(lab, "hand_over", lambda _: None)
    (tmp_path / "share").mkdir()
    order = lab.Order(command=("true",), bus="blk", with_shakedown=ours)
    lab._lay(tmp_path, order, cast(Any, SimpleNamespace()), is_first=True, is_cut=False)
    assert ("env SHAKEDOWN_TRACEBACK=1 true" in (tmp_path / "share" / "command").read_text()) == ours
