"""Whether a full drive cleans more for a host that does not pause."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from characterize.blind import changed, known
from characterize.measured import measured
from shakedown.fit.log import turns
from shakedown.fit.trace import Floats, Ints

_PASS_MS = 1500.0


def _cycles(gaps: Ints, rng: np.random.Generator) -> tuple[Floats, Ints]:
    stalls = np.cumsum(gaps)
    cycles = np.full(int(stalls[-1]) + 100, 0.1)
    cycles[stalls] = _PASS_MS * rng.uniform(0.95, 1.05, len(stalls))
    return cycles, stalls


@pytest.mark.parametrize("seed", range(4))
def test_writes_between_passes_are_counted_though_one_is_a_journal_and_a_pause_lies_between(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gaps = 1200 + rng.integers(-100, 100, 12)
    gaps[7] = 7000
    cycles, stalls = _cycles(gaps, rng)
    journal = int(stalls[3]) + 300
    cycles[journal] = _PASS_MS / 2
    found = turns.apart(cycles, np.sort(np.append(stalls, journal)))
    assert found, f"seed {seed}"
    assert found.low <= 1200 <= found.high, f"seed {seed}"
    durable = turns.apart(*_cycles(np.full(12, 600), rng))
    more = turns.times_as_many(found, durable)
    assert more and more.value == pytest.approx(2, rel=0.06), f"seed {seed}"


def test_few_passes_tell_nothing() -> None:
    cycles, stalls = _cycles(np.full(4, 600), np.random.default_rng(0))
    assert turns.apart(cycles, stalls) is None
    assert turns.times_as_many(None, turns.apart(*_cycles(np.full(12, 600), np.random.default_rng(0)))) is None


def test_bands_between_visits_are_told(tmp_path: Path) -> None:
    truth = known("st8000as0002")
    twin = measured(truth, tmp_path).twin
    assert twin.value("translation.cleaning", "ration_bands") == truth.values["translation.cleaning.ration_bands"]
    assert {"translation.cleaning.ration_appends", "translation.cleaning.ration_until"} <= {*twin.unidentified()}
    # Beside a record that may have to be written of what is put aside.
    if "translation.cleaning.merge_bytes" not in twin.unidentified():
        low, high = (
            float(end) for end in twin.sections["translation.cleaning"]["merge_bytes"][1].split()[1].split("..")
        )
        assert low <= truth.values["translation.cleaning.merge_bytes"] <= high


@pytest.mark.parametrize("bands", [1, 2])
def test_one_that_cleans_no_more_for_a_host_that_goes_on_has_none(bands: int, tmp_path: Path) -> None:
    twin = measured(changed("st5000as0011", translation__cleaning__bands_per_pass=bands), tmp_path).twin
    assert "ration_bands" not in twin.sections["translation.cleaning"]
