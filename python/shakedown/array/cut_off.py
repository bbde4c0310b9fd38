"""Whether a folder holds a rebuild that was interrupted, and of which arena: each keeps something else of it."""

from __future__ import annotations

from pathlib import Path

from shakedown.array.in_lab import is_cut_off_in_lab
from shakedown.array.order import Arena
from shakedown.array.parts import is_cut_off_in_model
from shakedown.array.state import State


def cut_off_in(folder: Path) -> Arena | None:
    """None where there is none to go on with."""
    if is_cut_off_in_lab(folder):
        return "lab"
    if is_cut_off_in_model(folder):
        return "model"
    return "device" if State.is_in(folder) else None
