"""`--baseline none`: nothing to compare with, of every verb that has a baseline."""

from __future__ import annotations

from typing import Final

NONE: Final = "none"
"""Whoever has a target of this name writes `./none`."""


def baseline_of(text: str | None) -> str | None:
    """The target that was named, None where there is to be none."""
    return None if text == NONE else text
