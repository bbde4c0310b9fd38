"""In which order bands are cleaned, by which are home first."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from characterize.blind import small_wild, with_values
from characterize.measured import measured
from shakedown.characterize.bench import ArenaBench
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
    outcome = measured(truth, tmp_path)
    assert outcome.twin.value("translation.cleaning", "order") == order
    assert "translation.cleaning.order" not in outcome.twin.unidentified()
