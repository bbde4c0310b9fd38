from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.analysis.finding import Finding, FindingKind
from shakedown.reference import Row
from shakedown.report import published
from shakedown.report.published import beside
from shakedown.report.summary import render
from shakedown.result.folder import Run, read_run
from shakedown.result.run_record import Published

from . import synthetic


def row(value: str, unit: str, quantity: str = "") -> Row:
    return Row("R1", quantity, value, unit, "an account", "a drive", "as told")


CASES: list[tuple[FindingKind, float | None, str, Row, str, float | None]] = [
    ("throughput-ratio", 0.0625, "ratio", row("15.9", "ratio", "slowdown vs other"), "15.9× slower", 16 / 15.9 - 1),
    ("throughput-ratio", 0.8, "ratio", row("-16.7", "percent"), "1.20× slower", 0.833 / 0.8 - 1),
    ("latency-ratio", 1.688, "ratio", row("68.8", "percent"), "1.69× longer", 0.0),
    ("worst-latency", 2600, "ms", row("1.3", "s"), "1.3 s", 1.0),
    ("cliff", 5520, "s", row("92", "min"), "92 min", 0.0),
    ("throughput", 100.0, "MiB/s", row("100", "MB/s"), "100 MB/s", 2**20 / 1e6 - 1),
    ("throughput", 1.5, "IOPS", row("1-20", "IOPS"), "1-20 IOPS", None),
    ("throughput", 10.0, "IOPS", row("13.2", "MiB/s"), "13.2 MiB/s", None),
    ("cliff", None, "s", row("92", "min"), "92 min", None),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[3].value}")
def test_units_meet(
    runs: list[Run],
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[FindingKind, float | None, str, Row, str, float | None],
) -> None:
    kind, value, unit, published_row, text, error = case
    monkeypatch.setattr(published, "read_rows", lambda _path: {"R1": published_row})
    wanted = Published(finding=kind, step="new", row="R1", subject="wd40efax")
    record = runs[0].record
    record = record.model_copy(update={"protocol": record.protocol.model_copy(update={"published": (wanted,)})})
    finding = Finding(kind=kind, step="new", value=value, unit=unit, text="")
    comparison = beside(record, finding)
    assert comparison is not None
    assert comparison.text == text
    assert comparison.error == (None if error is None else pytest.approx(error, abs=1e-9))
    other = record.model_copy(update={"target": record.target.model_copy(update={"name": "another"})})
    assert beside(other, finding) is None


@pytest.mark.parametrize(
    ("kind", "error", "text"),
    [
        ("throughput", -0.426, "42.6 % lower"),
        ("throughput-ratio", 18.9 / 15.9 - 1, "18.9 % more"),
        ("throughput-ratio", -0.521, "2.09× less"),
        ("latency-ratio", -0.288, "28.8 % less"),
        ("worst-latency", 1.5, "2.50× longer"),
        ("cliff", 0.004, "the same within 0.5 %"),
        ("recovery", None, ""),
    ],
)
def test_the_difference_names_its_direction(kind: str, error: float | None, text: str) -> None:
    words = published._WORDS.get(kind, ("longer", "shorter"))
    assert published.Comparison(row("1", "s"), "1 s", error, words).error_text == text


def test_what_the_protocol_remarks_on_a_row_is_shown(runs: list[Run]) -> None:
    wanted = Published(finding="throughput-ratio", step="new", row="R006", subject="wd40efax", note="Mind the gap.")
    record = runs[0].record
    record = record.model_copy(update={"protocol": record.protocol.model_copy(update={"published": (wanted,)})})
    finding = next(finding for finding in record.findings if finding.kind == "throughput-ratio")
    comparison = beside(record, finding)
    assert comparison is not None
    assert comparison.note == "Mind the gap."


def test_times_of_a_scaled_drive_are_not_held_against_published_ones(runs: list[Run]) -> None:
    record = runs[2].record
    cliff = next(finding for finding in record.findings if finding.kind == "cliff")
    smaller = record.target.model_copy(update={"details": {"scale_divisor": "100"}})
    whole, scaled = beside(record, cliff), beside(record.model_copy(update={"target": smaller}), cliff)
    assert whole is not None
    assert scaled is not None
    assert whole.error is not None
    assert scaled.error is None


def test_a_published_share_stands_beside_the_baseline_that_it_is_of_and_no_other(runs: list[Run]) -> None:
    wanted = Published(finding="throughput-ratio", step="new", row="R006", subject="wd40efax", beside="st12000vn0007")
    record = runs[0].record
    record = record.model_copy(update={"protocol": record.protocol.model_copy(update={"published": (wanted,)})})
    finding = next(finding for finding in record.findings if finding.kind == "throughput-ratio")
    assert beside(record, finding, "st12000vn0007") is not None
    assert beside(record, finding, "wd40efax") is None
    assert beside(record, finding) is None


def test_with_other_settings_than_the_protocols_own_nothing_is_held_against_what_was_published(runs: list[Run]) -> None:
    text = '[parameters]\nduration = "300s"\nspan = "100%"\n'
    wanted = Published(finding="throughput", step="new", row="R011", subject="wd40efax")
    record = runs[0].record
    protocol = record.protocol.model_copy(update={"published": (wanted,), "text": text})
    finding = next(finding for finding in record.findings if finding.kind == "throughput" and finding.step == "new")

    def of(duration: str) -> published.Comparison | None:
        parameters = {"duration": duration, "span": "100%"}
        return beside(record.model_copy(update={"protocol": protocol, "parameters": parameters}), finding)

    own, other = of("300s"), of("7s")
    assert own is not None
    assert other is not None
    assert own.error is not None
    assert not own.differs
    assert other.error is None
    assert other.differs == other.remark == "Ours is with duration=7s: not what was published."


def test_how_ours_differs_is_said_once_and_not_with_each_row(tmp_path: Path) -> None:
    folder = synthetic.random_1m(tmp_path / "run")
    record = read_run(folder).record
    wanted = tuple(
        Published(finding="throughput", step=step, row=row, subject="wd40efax", note=f"Mind {row}.")
        for step, row in (("new", "R011"), ("used", "R011"))
    )
    target = record.target.model_copy(update={"details": {**record.target.details, "scale_divisor": "100"}})
    protocol = record.protocol.model_copy(update={"published": wanted})
    scaled = record.model_copy(update={"protocol": protocol, "target": target})
    (folder / "run.json").write_bytes(scaled.to_json())
    told = " ".join(render([read_run(folder)]).split())
    assert told.count("Published of a whole drive, ours is of 1/100 of one") == 1
    assert told.count("Ours differs as said above. Mind R011.") == 1
