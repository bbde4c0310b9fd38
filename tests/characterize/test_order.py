"""In which order bands are cleaned, by which are home first."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from characterize.blind import small_wild, with_values
from shakedown.characterize.bench import ArenaBench
from shakedown.characterize.record import Order
from shakedown.characterize.run import characterize
from shakedown.device.disk.facts import NO_CONSENT
from shakedown.fit.trace import Log, Trace


@pytest.mark.parametrize("order", ["fifo", "most-dirty"])
def test_bands_that_come_home_before_the_first_look_is_over_count(
    order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy host paused between two looks, and most of those that come first were home: they seemed to stay."""
    truth = with_values(small_wild(3121).values | {"translation.cleaning.order": order})
    silence_ns = int(truth.values["translation.cleaning.idle_ms"] * 1e6)
    play, looks = ArenaBench.play, count()

    def late(bench: ArenaBench, name: str, trace: Trace) -> Log:
        if name == "order-now" and next(looks) == 1:
            bench.idle(silence_ns + 4_000_000_000)
        return play(bench, name, trace)

    monkeypatch.setattr(ArenaBench, "play", late)
    (tmp_path / "hidden.toml").write_text(truth.toml)
    target = f"model:{tmp_path / 'hidden.toml'}"
    ordered = Order(target=target, name="twin", with_parking=False)
    outcome = characterize(ordered, tmp_path / "run", NO_CONSENT, lambda _: None)
    assert outcome.twin.value("translation.cleaning", "order") == order
    assert "translation.cleaning.order" not in outcome.twin.unidentified()
