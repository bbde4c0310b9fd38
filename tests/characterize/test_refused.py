"""What was measured is never lost, also when it makes no profile."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from characterize.blind import restless
from characterize.measured import measured
from shakedown.characterize import run
from shakedown.cli import characterize as verb
from shakedown.fit.cache import Cache, space_bound
from shakedown.fit.drafting import calibrate
from shakedown.fit.drafting.entries import put_entries
from shakedown.fit.drive.dram import Bursts
from shakedown.fit.estimate import Estimate
from shakedown.fit.facts import Facts
from shakedown.fit.log.append import Append, Journal
from shakedown.fit.log.fill import Fill
from shakedown.fit.log.layout import Layout
from shakedown.fit.log.length import Length
from shakedown.fit.twin import Twin


def _twin(**limits: int) -> Twin:
    """One of a drive of which only the cache's limits are known."""
    twin = Twin("half", "Half a twin")
    for key, value in limits.items():
        twin.put("translation.cache", key, value, "measured: 7..9 by characterize")
    return twin


def test_a_drive_that_stalls_as_soon_as_memory_is_full_tells_nothing_of_its_entries() -> None:
    twin = _twin()
    put_entries(twin, Cache("outer", in_memory=192, small=Fill(192, written=1500)), 192, space_ends=False)
    assert twin.number("translation.cache", "entries") >= 1
    assert "translation.cache.entries" in twin.unidentified()


def test_where_memory_gives_a_burst_away_durable_writes_tell_the_entries() -> None:
    """1,629 were taken at once, of which memory held nobody knows how many: 1,628 until the first stall say little."""
    twin = _twin()
    log = Length(Estimate.around(180e6, 1e5), 300.0, 1.0, 9.0, 9.0, 192, 4 << 20, Journal(0, 0.0))
    cache = Cache("flash", in_memory=1629, layout=Layout.without_gaps(1e6), length=log)
    cache.small, cache.single = Fill(1628, written=4500), Fill(1500, written=4500)
    assert cache.burst_hides_log
    put_entries(twin, cache, 1629, space_ends=False)
    assert twin.value("translation.cache", "entries") == 1500
    assert "translation.cache.entries" not in twin.unidentified()


def test_writes_of_which_each_is_durable_before_the_next_share_no_packet() -> None:
    """Of 78,122 that filled the space, each a packet, a third was counted: 78,122 entries were told for 131,000."""
    log = Length(Estimate.around(25.6e9, 0.1e9), 300.0, 1.0, 9.0, 9.0, 192, 4 << 20, Journal(0, 0.0))
    layout = replace(Layout.without_gaps(1.8145e6), packet_tracks=Estimate.around(0.1795, 0.01))
    known = Estimate.around(3, 0)
    cost = Append(known, known, None, known, 0.0)
    cache = Cache("outer", in_memory=1, layout=layout, length=log, small=Fill(78_122, written=90_000), append=cost)
    assert space_bound(cache, 78_122)
    assert not space_bound(replace(cache, in_memory=128), 78_122)
    # So fewer of them do not tell either whether writes or packets are counted.
    fewer = Fill(36_600, written=90_000)
    put_entries(twin := _twin(), replace(cache, small=fewer, single=fewer), 0, space_ends=False)
    assert twin.value("translation.cache", "entries") == 36_600
    assert twin.unidentified() == ["translation.cache.entry_counts"]


def test_of_a_memory_that_is_not_known_as_much_is_allowed_for_as_it_may_hold() -> None:
    twin = _twin()
    log = Length(Estimate.around(300e6, 1e6), 300.0, 1.0, 9.0, 9.0, 192, 4 << 20, Journal(0, 0.0))
    layout = Layout.without_gaps(1e6)
    cache = Cache("outer", in_memory=None, layout=layout, length=log, small=Fill(1816, written=3000))
    put_entries(twin, cache, 128, space_ends=False)
    assert twin.sections["translation.cache"]["entries"][1].startswith("measured: 1548..1828 ")
    # A visit out of turn may be the first stall; what waits longer than a visit surely is.
    out_of_turn = Fill(1816, written=3000, surely=2229)
    put_entries(twin, replace(cache, small=out_of_turn), 128, space_ends=False)
    assert twin.sections["translation.cache"]["entries"][1].startswith("measured: 1548..2241 ")
    put_entries(twin, replace(cache, small=Fill(192, written=1500)), 128, space_ends=False)
    assert "translation.cache.entries" in twin.unidentified()


def test_a_twin_that_is_refused_is_kept_and_told_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    twin = _twin(bytes=40960, entries=0)
    monkeypatch.setattr(run, "draft", lambda *_: twin)
    monkeypatch.setattr(run, "calibrate", lambda twin, *_: twin)
    options = verb.CharacterizeOptions(out=tmp_path / "run", output=tmp_path / "twin.toml", quiet=True)
    assert verb.characterize("model:st12000vn0007", options=options) == 3
    told = capsys.readouterr()
    assert "bytes" in told.out
    assert "40960" in told.out
    assert "what was found makes no twin" in told.err
    assert "/tmp/shakedown-" not in told.err
    assert (tmp_path / "run" / "twin.toml").read_text() == twin.toml
    assert not (tmp_path / "twin.toml").exists()
    again = verb.CharacterizeOptions(resume=tmp_path / "run", json=True, quiet=True)
    assert verb.characterize(options=again) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["exit_status"] == 3
    assert document["refusal"]
    assert document["values"]["translation.cache.bytes"]["value"] == 40960


@pytest.mark.parametrize("seed", [702, 708])
def test_a_drive_that_cleans_without_waiting_for_silence_is_no_conventional_one(seed: int, tmp_path: Path) -> None:
    truth = restless(seed)
    assert truth.values["translation.cleaning.driven"] == "pressure"
    outcome = measured(truth, tmp_path)
    assert outcome.twin.value("translation", "kind") == "shingled"
    assert outcome.facts.cleans_at_once
    assert outcome.refusal is None, "what is looked at is kept in the log by ballast"
    assert outcome.twin.value("translation.cleaning", "when") == "aggressive"
    assert outcome.twin.value("translation.cleaning", "driven") == "pressure"
    for key in ("write_bytes", "write_segments"):
        if told := re.match(r"measured: (\d+)\.\.(\d+) ", outcome.twin.sections["dram"][key][1]):
            assert int(told[1]) <= truth.values[f"dram.{key}"] <= int(told[2]), (seed, key)


@pytest.mark.parametrize(
    ("wanted", "told"), [(8.0, ""), (12.0, "the twin does not do what the drive did: the burst (33% off)")]
)
def test_what_the_twin_does_otherwise_than_the_drive_is_told(
    wanted: float, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def shown(text: str) -> float:
        """Twice the value, of the twin's text, which stands for a bench here."""
        return 2.0 * float(text.partition("write_segments = { value = ")[2].partition(",")[0])

    def fitted(twin: Twin, *_: object) -> Twin:
        twin.put("dram", "write_segments", 4, "measured: 4..4 by characterize")
        stage = calibrate.Stage("dram", "write_segments", 1, (0.5, 1.0), wanted, 0.01, cast("Any", shown), "the burst")
        return calibrate._fitted(twin, stage, cast("Any", str))

    monkeypatch.setattr(run, "draft", lambda *_: _twin(bytes=40960, entries=0))
    monkeypatch.setattr(run, "calibrate", fitted)
    options = verb.CharacterizeOptions(out=tmp_path / "run", quiet=True)
    verb.characterize("model:st12000vn0007", options=options)
    out = capsys.readouterr().out
    assert out.rstrip().endswith(told)
    assert ("does not do" in out) == bool(told)


def test_how_many_bytes_memory_has_is_not_told_where_as_many_writes_may_have_filled_it() -> None:
    """Small writes left as fast as they came: 49.6 MB were told for 100.7, since memory holds 48 writes."""
    twin = Twin("mine", "mine")
    twin.put("dram", "write_bytes", 49_582_080, "measured: 46753036..51123584 by characterize")
    twin.put("dram", "write_segments", 128, "assumed: not identified; usual")
    facts = SimpleNamespace(cache=Cache("inner"), bursts=Bursts(True, None, 49_582_080))
    calibrate.doubt_bytes(twin, cast("Facts", facts))
    assert "dram.write_bytes" in twin.unidentified()
