"""The whole course on a drive whose truth only the test knows."""

from __future__ import annotations

from pathlib import Path

from characterize.blind import Truth
from shakedown.characterize.record import Order
from shakedown.characterize.run import Outcome, characterize
from shakedown.device.disk.facts import NO_CONSENT


def measured(truth: Truth, folder: Path, seed: int = 1) -> Outcome:
    """What comes of it in virtual time, without the search for parked heads."""
    hidden = folder / "hidden.toml"
    hidden.write_text(truth.toml)
    order = Order(target=f"model:{hidden}", name="twin", with_parking=False, seed=seed)
    return characterize(order, folder / "run", NO_CONSENT, lambda _: None)
