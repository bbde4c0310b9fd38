"""What forced passes tell of drives whose cleaning shows in nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from characterize.blind import Truth, small_wild, wild
from shakedown.characterize.run import Order, characterize

# Logs with little room, visits that take more of it than a write, several logs, a lazy drive and one without streams.
HIDDEN: tuple[Truth, ...] = (small_wild(740), small_wild(744), small_wild(729), wild(744), wild(765))


@pytest.mark.parametrize("truth", HIDDEN, ids=["packets", "visits", "lazy", "spread", "wild"])
def test_what_a_piece_takes_to_be_collected(truth: Truth, tmp_path: Path) -> None:
    (tmp_path / "hidden.toml").write_text(truth.toml)
    order = Order(target=f"model:{tmp_path / 'hidden.toml'}", name="twin", with_parking=False)
    outcome = characterize(order, tmp_path / "run", (), lambda _: None)
    assert outcome.facts.cache
    found = outcome.facts.cache.collect_turns
    assert found
    assert found.low <= truth.values["translation.cleaning.collect_turns"] <= found.high
    assert found.half < 0.12
