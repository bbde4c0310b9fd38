from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from shakedown.analysis.finding import Finding
from shakedown.errors import UsageError
from shakedown.report import html, words
from shakedown.report.figures import _longest, candidates, figures, highlights
from shakedown.result.folder import Run, read_run

from . import synthetic


@pytest.fixture(scope="module")
def page(run_dirs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("out") / "deep" / "report.html"
    assert html.write([read_run(each) for each in run_dirs], out) == out
    return out.read_text(encoding="utf-8")


def test_three_protocols_and_two_targets_stay_below_a_megabyte(page: str) -> None:
    assert len(page.encode()) < 1_000_000


def test_the_verdict_comes_before_the_findings_and_these_before_the_pictures(page: str) -> None:
    places = [page.index(word) for word in ("do not trust it", 'class="findings"', "<figure", ">Method<")]
    assert places == sorted(places)


def test_nothing_is_to_be_fetched(page: str) -> None:
    assert re.findall(r"""(?:src|href|srcset|action)\s*=\s*["'](?!#)""", page) == []
    assert not re.search(r"@import|url\(", page)
    assert "default-src 'none'" in unescape(page)


def test_several_drives_begin_side_by_side(runs: list[Run]) -> None:
    """The second is set beside the first, whatever the first has for a baseline of its own."""
    ours = runs[0]
    assert ours.baseline is not None
    page = html.render_page([ours, ours.baseline])
    top = page.partition("<article")[0]
    for number, candidate in enumerate(candidates([ours, ours.baseline]), start=1):
        assert f'<a href="#c{number}">{candidate.name}</a>' in top
        assert f'<h1 id="c{number}">{candidate.name}</h1>' in page
        sentences = [sentence for _, sentence in words.in_short(candidate.verdict.uses)]
        assert sentences
        assert all(sentence in unescape(top) for sentence in sentences)
        found = {(row.kind, row.step): row for row in figures(candidate.runs[0])}
        assert f">{found['throughput', 'new'].candidate_text()}" in top
    assert re.search(r"MiB/s <small>1\.\d+× faster</small>", top)


def test_one_drive_alone_and_drives_of_different_protocols_have_no_table_side_by_side(
    run_dirs: list[Path], tmp_path: Path
) -> None:
    one = [read_run(each) for each in run_dirs]
    assert "Side by side" not in html.render_page(one), "all are of one drive"
    other = read_run(synthetic.day(tmp_path / "day", None, model="Other"))
    assert "Side by side" not in html.render_page([one[0], other])


def test_the_published_figure_stands_beside_ours(page: str) -> None:
    assert "15.9× slower <small>R012</small>" in page


def test_the_same_runs_make_the_same_bytes(page: str, run_dirs: list[Path], tmp_path: Path) -> None:
    assert (
        html.write([read_run(each) for each in run_dirs], tmp_path / "again.html").read_text(encoding="utf-8") == page
    )


def test_hostile_text_is_escaped_in_markup_and_in_data(tmp_path: Path) -> None:
    folder = synthetic.day(tmp_path / "day", None, model="</script><script>alert(1)</script>")
    page = html.write([read_run(folder)], tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    data = re.search(r'<script type="application/json" id="[^"]+">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    assert json.loads(data[1])["candidate"] == "</script><script>alert(1)</script>"


@pytest.mark.parametrize("garbage", [b"", b"{}", b"[1, 2", b'{"format_version": 99}', b"\xff\xfe"])
def test_a_garbage_record_is_refused_by_name(tmp_path: Path, garbage: bytes) -> None:
    (tmp_path / "run.json").write_bytes(garbage)
    with pytest.raises(UsageError, match=re.escape("run.json")) as caught:
        html.write([read_run(tmp_path)], tmp_path / "report.html")
    assert caught.value.hint
    assert not (tmp_path / "report.html").exists()


def test_garbage_samples_are_refused_by_name(tmp_path: Path) -> None:
    folder = synthetic.day(tmp_path / "day", None)
    (folder / "samples.parquet").write_bytes(b"PAR1 this is not")
    with pytest.raises(UsageError, match=re.escape("samples.parquet")):
        html.write([read_run(folder)], tmp_path / "report.html")


def test_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run"):
        html.write([], tmp_path / "report.html")


def test_the_longest_request_is_set_beside_the_same_step_only(runs: list[Run]) -> None:
    (candidate,) = candidates(runs)
    (longest,) = (each for each in highlights(candidate) if each.of == "longest request")
    assert re.fullmatch(r"in \S+: (New|Used) drive; the baseline’s there: .* ms", longest.detail)
    own = next(each for each in figures(runs[0]) if each.kind == "worst-latency")
    assert own.baseline is not None
    nothing = own.baseline.model_copy(update={"value": None})
    (alone,) = _longest([(runs[0], replace(own, baseline=nothing))])
    assert alone.detail == "in random-1m: New drive"


def test_a_collapse_stands_out_before_a_ratio(runs: list[Run]) -> None:
    collapse = Finding(
        kind="cliff",
        step="collapse",
        value=53.0,
        unit="s",
        evidence={"rate_before": 121.0, "rate_after": 11.7, "rate_unit": "IOPS", "bytes_before": 4096},
        text="It collapsed.",
    )
    run = replace(runs[0], record=runs[0].record.model_copy(update={"findings": (*runs[0].record.findings, collapse)}))
    first, second, *_ = highlights(candidates([run])[0])
    assert (first.value, second.value[-6:]) == ("121 → 11.7 IOPS", "slower")


def test_that_the_baseline_is_scaled_is_said(runs: list[Run]) -> None:
    assert runs[0].baseline is not None
    beside = runs[0].baseline.record
    details = beside.target.details | {"scale_divisor": "100"}
    smaller = beside.model_copy(update={"target": beside.target.model_copy(update={"details": details})})
    run = replace(runs[0])
    vars(run)["baseline"] = replace(runs[0].baseline, record=smaller)
    (candidate,) = candidates([run])
    assert candidate.baselines == [f"{beside.target.model}, scaled down by 100"]


def test_what_is_typed_is_set_as_that() -> None:
    assert html._glossed("without `--scale <n>`.") == "without <code>--scale &lt;n&gt;</code>."


def test_what_not_everybody_knows_is_explained_where_it_stands(page: str) -> None:
    assert '<abbr title="requests completed in a second">IOPS</abbr>' in page
    assert "requests a second (IOPS), after" in page
    assert '<span class="step" title="New drive">new</span>' in page
    assert html._glossed("<IOPS>") == '&lt;<abbr title="requests completed in a second">IOPS</abbr>&gt;'
