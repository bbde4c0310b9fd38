"""Drives that clean whatever they hold, and at once: what is looked at is written behind ballast."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from characterize.blind import Truth, restless
from characterize.measured import measured, told_span
from shakedown.fit.cleaning.ballast import Ballasted
from shakedown.fit.course.behind_ballast import whole_bands
from shakedown.fit.estimate import Estimate
from shakedown.fit.trace import FLUSH, Log, Trace, Uninterrupted
from shakedown.fit.twin import Twin

TOLD = ("cleaning.when", "cleaning.driven", "cleaning.order", "cache.place", "mapping", "cache.journal_every")
# Of these it shows how many bands a pass has.
PASSES = (8200, 8203)
# Everything that decides when such a drive is full.
MEASURED = ("tracks_per_band", "cache.bytes", "cache.packet_writes")


@pytest.mark.parametrize("seed", [8200, 8102, 8203])
def test_its_insides_are_found(seed: int, tmp_path: Path) -> None:
    """They were refused: all that was written was home before the first look."""
    truth = restless(seed)
    assert truth.values["translation.cleaning.driven"] == "pressure"
    assert truth.values["translation.cleaning.when"] == "aggressive"
    outcome = measured(truth, tmp_path)
    twin = outcome.twin
    assert outcome.refusal is None
    assert outcome.facts.cleans_at_once
    for key in TOLD:
        section, _, name = f"translation.{key}".rpartition(".")
        assert f"translation.{key}" not in twin.unidentified()
        assert twin.value(section, name) == truth.values.get(f"translation.{key}", "static")
    for key in MEASURED:
        section, _, name = f"translation.{key}".rpartition(".")
        assert f"translation.{key}" not in twin.unidentified()
        assert twin.number(section, name) == pytest.approx(truth.values[f"translation.{key}"], rel=0.05)
    _holds(twin, truth, "translation.cache.entries")
    _holds(twin, truth, "translation.cleaning.collect_turns")
    assert "translation.cleaning.collect_turns" not in twin.unidentified()
    if seed in PASSES:
        assert "translation.cleaning.bands_per_pass" not in twin.unidentified()
        bands = twin.number("translation.cleaning", "bands_per_pass")
        assert bands == truth.values["translation.cleaning.bands_per_pass"]


def _holds(twin: Twin, truth: Truth, key: str) -> None:
    if key not in twin.unidentified():
        low, high = told_span(twin, key)
        assert low <= truth.values[key] <= high


def test_what_has_gone_home_before_it_stalled_is_no_number_of_entries(tmp_path: Path) -> None:
    """Each write is a packet, so the drive cleans faster than it is filled: 226,189 were told for 164,000."""
    twin = measured(restless(8605), tmp_path).twin
    assert {"translation.cache.entries", "translation.cleaning.bands_per_pass"} <= {*twin.unidentified()}


def test_of_several_logs_the_one_is_filled_of_which_it_is_known_what_a_write_takes(tmp_path: Path) -> None:
    """The outermost was, whose tracks are longer: 19.9 GB of twelve logs were told for 23.0."""
    truth = restless(8337)
    twin = measured(truth, tmp_path).twin
    assert twin.number("translation.cache", "bytes") == pytest.approx(truth.values["translation.cache.bytes"], rel=0.05)


@pytest.mark.parametrize(
    ("writes", "bands"),
    [
        (Estimate(132.0 * 8, 132.0 * 7.5, 132.0 * 8.5), 8),
        # A pass may have one band more, which was under way.
        (Estimate(132.0 * 2, 132.0 * 2, 132.0 * 3), 2),
        # Other bands than those were cleaned.
        (Estimate(132.0 * 2.4, 132.0 * 2.3, 132.0 * 2.5), None),
        (Estimate(132.0 * 3, 132.0 * 2, 132.0 * 3), None),
        (Estimate(11.0, 11.0, 11.0), None),
        (None, None),
    ],
)
def test_a_pass_makes_room_for_the_writes_of_whole_bands(writes: Estimate | None, bands: int | None) -> None:
    assert whole_bands(writes, 132) == bands


@dataclass
class _Heard(Uninterrupted):
    """A bench that hears what it is to play."""

    capacity_bytes: int = 4 << 40
    heard: list[str] = field(default_factory=list)

    def play(self, name: str, trace: Trace) -> Log:
        self.heard.append(name)
        asked = trace.verbs != FLUSH
        none = np.zeros(int(asked.sum()), np.int64)
        return Log(none, none, trace.offsets[asked], trace.lengths[asked], trace.verbs[asked], 0)

    def idle(self, duration_ns: int) -> None:
        self.heard.append(f"{duration_ns / 1e9:.1f} s")


def test_the_first_that_is_written_behind_a_silence_comes_behind_ballast() -> None:
    bench = _Heard()
    ballasted = Ballasted(bench, bands=100, band_bytes=100e6)
    places = np.arange(8) << 30
    ballasted.play("look", Trace.reads(places))
    ballasted.play("write", Trace.writes(places))
    ballasted.play("more", Trace.writes(places))
    ballasted.idle(200_000_000)
    ballasted.play("short", Trace.writes(places))
    ballasted.idle(20_000_000_000)
    ballasted.play("long", Trace.writes(places))
    # All of ballast's bands have to be home: 100 of 100 MB, each as long as three times at 100 MB/s.
    assert bench.heard == ["look", "ballast", "write", "more", "0.2 s", "short", "315.0 s", "ballast", "long"]


def test_ballast_that_may_be_home_is_laid_anew() -> None:
    bench = _Heard()
    ballasted = Ballasted(bench, bands=10)
    for _ in range(4):
        ballasted.play("write", Trace.writes(np.arange(16) << 30))
    # Ten bands are thirty operations at least.
    assert bench.heard == ["ballast", "write", "write", "ballast", "write", "write"]


def test_each_band_of_ballast_gets_as_many_writes_all_bands_in_turn() -> None:
    places = Ballasted(_Heard()).places(50, 3)
    assert len(set(places)) == 150
    steps = np.diff(places[:50])
    assert (steps == steps[0]).all()
    assert steps[0] > 256 << 20
    assert (places[50:100] - places[:50] == places[50] - places[0]).all()
    assert places[50] - places[0] < 1 << 20
