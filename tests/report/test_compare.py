from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from shakedown.errors import UsageError
from shakedown.report.compare import compare
from shakedown.result.folder import Run, read_run

from . import synthetic


def test_runs_and_their_baselines_stand_beside_the_first(runs: list[Run], snapshot: Callable[[str, str], None]) -> None:
    snapshot("compare.txt", compare(runs).to_text())


def test_the_document_holds_what_the_table_shows(runs: list[Run]) -> None:
    document = json.loads(json.dumps(compare(runs).to_json()))
    assert document["format_version"] == 1
    sequential = document["protocols"][1]
    assert sequential["protocol"] == "sequential-32k"
    first, second = sequential["findings"][0]["values"]
    assert first["ratio"] == 1
    assert second["ratio"] == pytest.approx(second["value"] / first["value"])


def test_a_protocol_that_differs_is_said_aloud(tmp_path: Path) -> None:
    paths = [synthetic.day(tmp_path / name, None) for name in ("a", "b")]
    record = paths[1] / "run.json"
    assert "compare with care" not in compare([read_run(path) for path in paths]).to_text()
    record.write_text(record.read_text().replace('"span": "100%"', '"span": "50%"'))
    text = compare([read_run(path) for path in paths]).to_text()
    assert "these differ, compare with care: span (100% in [1], 50% in [2])." in text
    assert text.index("compare with care") < text.index("throughput")  # before the figures that it is about


def test_a_text_that_differs_is_named_and_not_shown(tmp_path: Path) -> None:
    runs = [read_run(synthetic.day(tmp_path / name, None)) for name in ("a", "b")]
    protocol = runs[1].record.protocol.model_copy(update={"sha256": "other"})
    details = runs[1].record.target.details | {"scale_divisor": "100"}
    scaled = runs[1].record.target.model_copy(update={"details": details})
    runs[1] = replace(runs[1], record=runs[1].record.model_copy(update={"protocol": protocol, "target": scaled}))
    whole = " ".join(compare(runs).to_text().split())
    assert "compare with care: the text of the protocol; scale (whole in [1], 1/100 in [2])." in whole


def test_a_run_beside_itself_is_refused(runs: list[Run]) -> None:
    with pytest.raises(UsageError, match="given twice"):
        compare([runs[0], runs[1], runs[0]])


@pytest.mark.parametrize("side", [".", "baseline"])
def test_a_damaged_run_is_refused(tmp_path: Path, side: str) -> None:
    good, bad = (synthetic.sequential(tmp_path / name) for name in ("good", "bad"))
    file = bad / side / "samples.parquet"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(UsageError, match=re.escape("samples.parquet")):
        compare([read_run(good), replace(read_run(bad), record=read_run(bad).record.model_copy(update={"seed": 9}))])
    file.unlink()
    with pytest.raises(UsageError, match="is missing"):
        compare([read_run(bad), read_run(good)])


def test_many_runs_keep_to_80_columns_and_a_lonely_one_is_named(tmp_path: Path, runs: list[Run]) -> None:
    days = [read_run(synthetic.day(tmp_path / f"{seed}", None, seed=seed)) for seed in range(7)]
    alone = read_run(synthetic.cliff(tmp_path / "cliff") / "baseline")
    compared = compare([*days, alone])
    text = compared.to_text()
    assert max(map(len, text.splitlines())) <= 80
    assert all(text.count(f"[{number}]") >= 2 for number in range(1, 8))
    assert "Nothing to compare with: [8]" in text
    assert compared.to_json()["alone"] == [7]


def test_a_baseline_of_several_runs_is_shown_once(tmp_path: Path) -> None:
    both = [read_run(synthetic.sequential(tmp_path / name)) for name in ("a", "b")]
    both[1] = replace(both[1], record=both[1].record.model_copy(update={"seed": 99}))
    assert len(compare(both).names) == 3


def test_runs_that_share_nothing_but_with_their_baselines_are_told_so(tmp_path: Path) -> None:
    """Each has a table, and none of them has both."""
    cliff, first, second = (
        synthetic.cliff(tmp_path / "cliff"),
        *(synthetic.sequential(tmp_path / name) for name in "ab"),
    )
    others = [read_run(second), replace(read_run(first), record=read_run(first).record.model_copy(update={"seed": 9}))]
    says = "No two of the runs that were given have a protocol in common"
    apart, together = compare([read_run(cliff), others[0]]), compare([read_run(cliff), *others])
    assert says in " ".join(apart.to_text().split())
    assert apart.to_json()["apart"]
    assert says not in " ".join(together.to_text().split())
    assert not together.to_json()["apart"]
    assert not compare(others[:1]).apart


def test_nothing_in_common_is_refused_with_a_hint(tmp_path: Path, runs: list[Run]) -> None:
    alone = read_run(synthetic.day(tmp_path / "day", None))
    with pytest.raises(UsageError, match="nothing to compare") as caught:
        compare([alone])
    assert "same protocol" in caught.value.hint
    with pytest.raises(UsageError, match="no run at all"):
        compare([])
