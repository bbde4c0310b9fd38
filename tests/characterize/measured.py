"""The whole course on a drive whose truth only the test knows."""

from __future__ import annotations

import re
from pathlib import Path

from characterize.blind import Truth
from shakedown.characterize.record import Order
from shakedown.characterize.run import Outcome, characterize
from shakedown.device.disk.facts import NO_CONSENT
from shakedown.fit.twin import Twin


def measured(truth: Truth, folder: Path, seed: int = 1) -> Outcome:
    """What comes of it in virtual time, without the search for parked heads."""
    hidden = folder / "hidden.toml"
    hidden.write_text(truth.toml)
    order = Order(target=f"model:{hidden}", name="twin", with_parking=False, seed=seed)
    return characterize(order, folder / "run", NO_CONSENT, lambda _: None)


def told_span(twin: Twin, key: str) -> tuple[float, float]:
    """The interval that a value was told with."""
    section, _, name = key.rpartition(".")
    span = re.search(r"([\d.]+)\.\.([\d.]+)", twin.sections[section][name][1])
    assert span, key
    return float(span[1]), float(span[2])
