"""docs/conformance.md says how far model and lab agree now. Where this fails: ``make conformance``."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import conformance_table as script
from conformance_table import Row, Scatter
from lab.test_run import allowed as allowed  # noqa: PLC0414 - a fixture
from lab.test_run import built
from made_part import END
from shakedown.errors import EnvironmentFailure

ROOT = Path(__file__).resolve().parents[2]


def test_no_row_was_made_from_something_else() -> None:
    stale = set(script.stale())
    assert [row for row in script.kept() if (row.protocol, row.drive) in stale] == []


def test_the_documents_have_the_rows_and_those_that_miss_and_name_what_is_missing() -> None:
    rows = script.kept()
    missed = script.table([row for row in rows if row.holds is False])
    assert f"{script.BEGIN}{script.summary(rows)}\n{missed}{END}" in script.DOCUMENT.read_text(encoding="utf-8")
    assert script.BEGIN + script.table(rows) + END in script.TABLE.read_text(encoding="utf-8")


@built
@pytest.mark.parametrize(("protocol", "drive"), [("random-1m", "wd40efax"), ("sequential-32k", "canvio-3tb")])
def test_model_and_lab_still_find_what_the_table_says(protocol: str, drive: str) -> None:
    table = {(row.kind, row.step): row for row in script.kept() if (row.protocol, row.drive) == (protocol, drive)}
    found = script.compare(protocol, drive)
    assert len(table) == len(found) >= 5
    for row in found:
        before = table[row.kind, row.step]
        assert row.holds is not False, row
        assert row.model == pytest.approx(before.model, rel=0.01)
        assert row.lab == pytest.approx(before.lab, rel=0.01)


def test_a_figure_that_only_one_arena_states_misses_its_goal() -> None:
    def row(kind: str, model: float | None, lab: float | None) -> Row:
        return Row("cliff", "a", kind, "s", "s", model, lab, "")

    judged = [
        *(row("cliff", 100.0, 103.1), row("cliff", 100.0, 97.1), row("cliff", None, 5.0), row("cliff", None, None)),
        *(row("throughput", 100.0, 95.1), row("recovery", 20.0, 21.0), row("recovery", 200.0, 211.0)),
        row("worst-latency", 1.0, 9.0),
    ]
    assert [each.holds for each in judged] == [False, True, False, None, True, True, False, None]


def test_a_pair_that_fails_is_told_of_and_the_others_are_played(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept: list[list[Row]] = []

    def compare(protocol: str, drive: str, *, only_scatter: bool) -> list[Row]:
        assert not only_scatter
        if drive == "hd103uj":
            raise EnvironmentFailure("the guest does not answer")
        return [Row(protocol, drive, "throughput", "s", "MiB/s", 1.0, 1.0, "")]

    monkeypatch.setattr(script, "compare", compare)
    monkeypatch.setattr(script, "keep", kept.append)
    monkeypatch.setattr("sys.argv", ["", "random-1m", "hd103uj", "wd40efax"])
    with pytest.raises(SystemExit, match="1 of 2 pairs failed"):
        script.main()
    assert [rows[0].drive for rows in kept] == ["wd40efax"]
    assert "random-1m hd103uj failed: the guest does not answer" in capsys.readouterr().err


def test_the_model_plays_again_beside_the_labs_figures_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[list[Row]] = []
    before = [row for row in script.kept() if (row.protocol, row.drive) == ("random-1m", "wd40efax")]

    def play(arena: str, protocol: str, drive: str, seed: int) -> list[SimpleNamespace]:
        assert (arena, protocol, drive, seed) == ("model", "random-1m", "wd40efax", 1)
        return [SimpleNamespace(kind=row.kind, step=row.step, value=1.25, evidence={}) for row in before]

    monkeypatch.setattr(script, "play", play)
    monkeypatch.setattr(script, "keep", kept.append)
    monkeypatch.setattr("sys.argv", ["", "--model", "random-1m", "wd40efax"])
    script.main()
    [rows] = kept
    assert [(row.kind, row.step, row.model, row.lab) for row in rows] == [
        (row.kind, row.step, 1.25, row.lab) for row in before
    ]


def test_a_pair_that_scatters_is_played_several_times_in_both_arenas(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {
        ("model", "wd40efax"): [100.0, 120.0, 80.0],
        ("lab", "wd40efax"): [90.0, 110.0, 100.0],
        ("model", "hd103uj"): [100.0, 104.0, 101.0],
        ("lab", "hd103uj"): [94.0],
    }

    def play(arena: str, protocol: str, drive: str, seed: int) -> tuple[SimpleNamespace, ...]:
        assert protocol == "atto"
        return (
            SimpleNamespace(kind="throughput", step="s", unit="MiB/s", value=said[arena, drive][seed - 1], evidence={}),
        )

    monkeypatch.setattr(script, "play", play)
    [scattered], [plain] = (script.compare("atto", drive) for drive in ("wd40efax", "hd103uj"))
    assert (scattered.plays, scattered.model, scattered.lab, scattered.holds) == (3, 100.0, 100.0, True)
    assert [scattered.model_least, scattered.model_most, scattered.lab_least, scattered.lab_most] == [80, 120, 90, 110]
    assert (plain.plays, plain.model, plain.lab, plain.holds, plain.lab_least) == (1, 100.0, 94.0, False, None)
    assert script.compare("atto", "hd103uj", only_scatter=True) == []


def test_what_most_plays_do_not_state_is_not_stated() -> None:
    said: tuple[list[float | None], ...] = ([1.0, None, 3.0], [None, 2.0, None], [None] * 3, [4.0])
    scatters = [Scatter.of(values) for values in said]
    assert [(each.mean, each.most) for each in scatters] == [(2.0, 3.0), (None, None), (None, None), (4.0, None)]
    assert [each.exceeds(0.05) for each in scatters] == [True, True, False, False]
