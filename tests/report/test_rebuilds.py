"""A report and a comparison of rebuilds say how they ended: what the command printed, out of the run folder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from report import synthetic
from shakedown.analysis.finding import Finding
from shakedown.report import words
from shakedown.report.apart import told_apart
from shakedown.report.compare import compare
from shakedown.report.figures import candidates, highlights
from shakedown.report.html import render_page
from shakedown.report.outcome import outcome
from shakedown.report.pictures import pictures
from shakedown.report.played import samples_of
from shakedown.report.rebuild import _progress
from shakedown.report.series import Line, decode
from shakedown.report.summary import render
from shakedown.result.folder import Run, read_run

LOST = "The rebuild takes 6 min; 4096 bytes could not be rebuilt, being unreadable elsewhere."
LONGEST = {
    "kind": "worst-latency",
    "step": "rebuild",
    "value": 272.0,
    "unit": "ms",
    "text": "The replacement's longest command takes 272 ms.",
}
FAILED = "The rebuild fails after 2 min: drive 0, wd40efrx, fails, and that is one too many."
COMPLETE = "The rebuild takes 6 min."


def rebuilt(
    folder: Path,
    text: str,
    *,
    lost_bytes: int = 0,
    array_lost: int = 0,
    kicked: str = "no",
    elsewhere: bool | None = None,
    title: str = "raid5 of 3",
    ratio: float | None = None,
    limit_ms: float = 8000,
) -> Run:
    """A run folder as ``shakedown rebuild`` leaves it behind, made of numbers."""
    step = synthetic.Step("rebuild", "Rebuild", synthetic.noisy(3, 360, 100), 2**20)
    path = synthetic.write(folder, synthetic.Recipe("day", *synthetic.WOLF, [step]))
    record = read_run(path).record
    value = None if text == FAILED else 360.0
    evidence: dict[str, float | int | str] = {"lost_bytes": lost_bytes, "array_lost": array_lost, "seeds": 3}
    found = [
        Finding(
            kind="rebuild-time", step="rebuild", value=value, unit="s", low=300, high=420, text=text, evidence=evidence
        ),
        Finding(kind="bottleneck", step="rebuild", value=0.433, unit="share", text="It waits for drive 1."),
        Finding(
            kind="estimate-error",
            step="rebuild",
            value=-0.0509,
            unit="share",
            text="It is off.",
            evidence={"least": -0.06, "most": -0.04},
        ),
        Finding(kind="latency", step="rebuild-load", value=93.0, unit="ms", text="A request takes 93 ms on average."),
        Finding(kind="latency", step="load-alone", value=14.0, unit="ms", text="A request takes 14 ms on average."),
    ]
    if ratio is not None:
        found += [Finding(kind="rebuild-time-ratio", step="rebuild", value=ratio, unit="ratio", text="It is longer.")]
    protocol = record.protocol.model_copy(update={"name": "rebuild", "title": title, "uses": (), "sha256": title})
    record = record.model_copy(update={"protocol": protocol, "findings": tuple(found)})
    (path / "run.json").write_bytes(record.to_json())
    (path / "raw").mkdir()
    (path / "raw" / "rebuild.json").write_text(json.dumps(_answers(kicked, elsewhere, limit_ms)))
    return read_run(path)


def _answers(kicked: str, elsewhere: bool | None, limit_ms: float) -> dict[str, Any]:
    looks = [{"at_ns": at * 10**9, "done_bytes": at * 10**8, "left_ns": (300 - at) * 10**9} for at in range(0, 360, 9)]
    patience = [{"who": "a hardware RAID controller", "limit_ms": limit_ms, "longest_ms": 15900.0, "kicked": kicked}]
    if elsewhere is not None:  # folders of old do not say
        patience[0] |= {"in_another_box": elsewhere}
    one = {"ended": "complete", "duration_ns": 360 * 10**9, "progress": looks, "allocated_bytes": 0}
    return {"rebuilds": [one], "patience": patience}


@pytest.mark.parametrize(
    ("made", "status", "headline"),
    [
        ({"text": COMPLETE}, "pass", "The rebuild is complete."),
        ({"text": LOST, "lost_bytes": 4096}, "fail", "DATA IS LOST."),
        ({"text": FAILED}, "fail", "THE REBUILD FAILS."),
        ({"text": FAILED, "array_lost": 1}, "fail", "THE ARRAY IS LOST."),
        ({"text": COMPLETE, "kicked": "yes"}, "fail", "A DRIVE WOULD BE KICKED OUT."),
        ({"text": COMPLETE, "kicked": "yes", "elsewhere": False}, "fail", "A DRIVE WOULD BE KICKED OUT."),
        ({"text": COMPLETE, "kicked": "yes", "elsewhere": True}, "pass", "The rebuild is complete."),
    ],
)
def test_how_it_ended_comes_first_everywhere(tmp_path: Path, made: dict[str, Any], status: str, headline: str) -> None:
    run, other = rebuilt(tmp_path / "run", **made), rebuilt(tmp_path / "other", COMPLETE, title="raid6 of 8")
    told = outcome(run)
    assert told is not None
    assert (told.status, told.headline) == (status, headline)
    side_by_side = compare([run, other])
    for shown in (render_page([run]), render([run]), side_by_side.to_text()):
        whole = " ".join(shown.split())
        assert headline in whole
        assert made["text"] in whole
        assert "93 ms on average beside the rebuild and 14 ms on the healthy array" in whole
        assert "nothing to judge" not in whole
    assert side_by_side.to_json()["outcomes"][0]["status"] == status


def test_a_good_headline_has_what_it_cost_beneath(tmp_path: Path) -> None:
    run = rebuilt(tmp_path / "run", COMPLETE, kicked="yes", elsewhere=True, ratio=1.47)
    told = outcome(run)
    assert told is not None
    assert told.beneath == (
        "It takes 1.47× longer than the baseline. In another box a hardware RAID controller would kick a drive out."
    )
    page = render_page([run])
    assert f"</span></p> <p>{told.beneath}</p>" in " ".join(page.split())
    text = " ".join(render([run]).split())
    assert "It takes 1.47× longer than the baseline." in text
    assert text.count("a hardware RAID controller kicks the replacement out") == 1
    assert "would kick a drive out" not in text, "how it ended says so before"
    for name, ratio in (("same", 1.001), ("shorter", 0.7)):
        plain = outcome(rebuilt(tmp_path / name, COMPLETE, ratio=ratio))
        assert plain is not None
        assert plain.beneath == ""


def test_a_good_headline_has_a_near_miss_of_its_own_box_beneath(tmp_path: Path) -> None:
    near, far = (
        outcome(rebuilt(tmp_path / str(elsewhere), COMPLETE, kicked="close", elsewhere=elsewhere, limit_ms=30_000))
        for elsewhere in (False, True)
    )
    assert near is not None
    assert far is not None
    assert near.beneath == "A command came close to what a hardware RAID controller puts up with."
    assert far.beneath == ""
    passed = outcome(rebuilt(tmp_path / "passed", COMPLETE, kicked="close", elsewhere=False))
    assert passed is not None
    assert passed.beneath == "", "it was silent for longer, and kept: that is no near miss"


def test_faults_that_were_ordered_are_no_prediction(tmp_path: Path) -> None:
    runs = [rebuilt(tmp_path / "plain", COMPLETE), rebuilt(tmp_path / "faults", FAILED)]
    record = runs[1].record
    faults = "drive 0 gone from 60 min on for good"
    record = record.model_copy(update={"parameters": {**record.parameters, "faults": faults}})
    (runs[1].path / "run.json").write_bytes(record.to_json())
    runs[1] = read_run(runs[1].path)
    assert told_apart([run.record for run in runs]) == ["no faults", f"faults: {faults}"]
    compared = " ".join(compare(runs).to_text().split())
    assert compared.count(faults) == 2, "in its name, and as what differs"
    assert "Its faults were ordered, not predicted." in compared
    for shown in (render([runs[1]]), re.sub(r"<[^>]*>", " ", render_page([runs[1]]))):
        assert f"Faults that were ordered, not predicted: {faults}." in " ".join(shown.split())
    overview = render_page(runs).partition("<article")[0]
    assert f"raid5 of 3, faults: {faults}</a>" in overview
    assert "raid5 of 3, no faults</a>" in overview


def test_how_each_of_several_rebuilds_of_one_array_ended_is_told_with_what_differs(tmp_path: Path) -> None:
    runs = [rebuilt(tmp_path / "a", COMPLETE), rebuilt(tmp_path / "b", FAILED)]
    for run, state in zip(runs, ("new", "used"), strict=True):
        (run.path / "run.json").write_bytes(run.record.model_copy(update={"parameters": {"state": state}}).to_json())
    page = " ".join(re.sub(r"<[^>]*>", "", render_page([read_run(run.path) for run in runs])).split())
    assert f"state=new: The rebuild is complete. {COMPLETE}" in page
    assert f"state=used: THE REBUILD FAILS. {FAILED}" in page
    text = " ".join(render([read_run(run.path) for run in runs]).split())
    assert f"state=used: THE REBUILD FAILS. {FAILED}" in text
    page = " ".join(re.sub(r"<[^>]*>", "", render_page(runs[:1])).split())
    assert f"Verdict The rebuild is complete. {COMPLETE}" in page


def test_no_label_says_rebuild_twice(tmp_path: Path) -> None:
    page = " ".join(re.sub(r"<[^>]*>", " ", render_page([rebuilt(tmp_path / "run", COMPLETE)])).split())
    assert "time to rebuild rebuild" not in page
    assert "mean latency rebuild-load" in page  # elsewhere the step tells something
    assert "in rebuild: Rebuild" not in page


def test_who_would_be_kicked_and_the_estimates_are_shown(tmp_path: Path) -> None:
    run = rebuilt(tmp_path / "run", COMPLETE, kicked="yes")
    page = render_page([run])
    assert '<th scope="row">a hardware RAID controller</th><td>8 s</td><td>YES</td>' in page
    assert '<th scope="col">/proc/mdstat</th><th scope="col">says is left</th>' in page
    assert "-----" not in page.partition("<main")[2].partition("<script")[0]  # no ruled text
    for shown in (re.sub(r"<[^>]*>", " ", page), render([run])):
        whole = " ".join(shown.split())
        assert "a hardware RAID controller 8 s YES" in whole
        assert "/proc/mdstat says is left is left" in whole
        assert "For a command that takes 15.9 s a hardware RAID controller kicks the replacement out" in whole
    assert "\n\n  /proc/mdstat  says is left" in render([run])


def test_a_failed_rebuild_says_so_where_its_time_would_stand(tmp_path: Path) -> None:
    runs = [rebuilt(tmp_path / name, text) for name, text in (("a", COMPLETE), ("b", FAILED))]
    (row,) = [line for line in compare(runs).to_text().splitlines() if line.startswith("time to rebuild (rebuild)")]
    assert row.split()[4:] == ["6", "min", "failed", "–"]


def test_shares_are_plain_figures(tmp_path: Path) -> None:
    text = compare([rebuilt(tmp_path / name, COMPLETE) for name in ("a", "b")]).to_text()
    assert "43 %" in text
    assert "5% too short" in text
    assert "share" not in text


def test_the_array_is_named(tmp_path: Path) -> None:
    text = compare([rebuilt(tmp_path / kind, COMPLETE, title=kind) for kind in ("raid5 of 3", "raid6 of 8")]).to_text()
    whole = " ".join(text.split())
    assert "rebuild, raid5 of 3: " in whole
    assert "rebuild, raid6 of 8: " in whole
    assert "these differ, compare with care: the array." in whole


def test_several_rebuilds_are_told_apart_and_begin_with_an_overview(tmp_path: Path) -> None:
    runs = [rebuilt(tmp_path / "a", COMPLETE, title="raid5 of 3"), rebuilt(tmp_path / "b", FAILED, title="raid6 of 8")]
    for run, width in zip(runs, ("3", "8"), strict=True):
        record = json.loads((run.path / "run.json").read_text())
        record["target"]["details"]["width"] = width
        others_ms = 30_000.0 if width == "8" else 100.0
        evidence = {"member": int(width) - 1, "silence_ms": 200.0, "others_ms": others_ms, "others_longest": 1}
        record["findings"].append(LONGEST | {"evidence": evidence})
        (run.path / "run.json").write_text(json.dumps(record))
    page = render_page([read_run(run.path) for run in runs])
    name = runs[0].record.target.model
    title, _, rest = page.partition("</title>")
    assert f"{name}: raid5 of 3, {name}: raid6 of 8" in title
    table = rest.partition("<article")[0]
    assert f'<a href="#c1">{name}: raid5 of 3</a>' in table
    assert f'<a href="#c2">{name}: raid6 of 8</a>' in table
    assert "THE REBUILD FAILS." in table
    assert ">6 min</td>" in table
    assert '"Longest command of any drive">272 ms, the replacement</td>' in table
    assert '"Longest command of any drive">30 s, drive 1</td>' in table
    assert f'<h1 id="c2">{name}: raid6 of 8</h1>' in rest
    assert "All rebuilds" not in render_page([runs[0]])


def test_faults_and_near_misses_are_told_once_each(tmp_path: Path) -> None:
    """Of several rebuilds that differ by their faults, their names tell these already."""
    runs = []
    for place in "12":
        run = rebuilt(tmp_path / place, COMPLETE, kicked="close", elsewhere=False, limit_ms=30_000)
        parameters = run.record.parameters | {"faults": f"drive {place} gone from the beginning on"}
        runs.append(Run(run.path, run.record.model_copy(update={"parameters": parameters})))
    told = " ".join(render(runs).split())
    verdict = told.partition("VERDICT")[2].partition("REBUILD:")[0]
    page = re.sub(r"<[^>]*>", " ", render_page(runs).partition("<main")[2])
    for text in (told, " ".join(page.split())):
        assert text.count("A near miss:") == 2
        assert "Faults that were ordered" not in text
        assert text.count("Its faults were ordered, not predicted.") == 2
    assert [verdict.count(f"drive {place} gone from") for place in "12"] == [1, 1]
    assert "Faults that were ordered, not predicted: drive 1 gone" in " ".join(render(runs[:1]).split())


def test_a_caution_stands_beside_the_verdict(tmp_path: Path) -> None:
    run = rebuilt(tmp_path / "run", COMPLETE)
    record = run.record.model_copy(update={"notes": ("CAUTION: much is moved.", "Something else.")})
    (run.path / "run.json").write_bytes(record.to_json())
    run = read_run(run.path)
    verdict = render_page([run]).partition(">Verdict<")[2].partition(">Findings<")[0]
    assert "CAUTION: much is moved." in verdict
    assert "Something else." not in verdict


def test_steps_are_those_of_one_seed_and_findings_of_all(tmp_path: Path) -> None:
    page = render_page([rebuilt(tmp_path / "run", COMPLETE)])
    assert "of the first of 3 seeds; findings are the mean of all" in page


def test_a_rebuild_without_its_answers_is_told_from_its_findings(tmp_path: Path) -> None:
    run = rebuilt(tmp_path / "run", LOST, lost_bytes=4096)
    (run.path / "raw" / "rebuild.json").unlink()
    assert "DATA IS LOST" in render_page([run])


def loaded(folder: Path) -> Run:
    """A rebuild of 3600 s with two stretches of a load beside it, each standing for half, and the load alone."""
    run = rebuilt(folder, COMPLETE)
    first, stretch = run.record.steps[0], 25 * synthetic.S
    rebuild = first.model_copy(update={"end_ns": 3600 * synthetic.S, "interval_ns": 10 * synthetic.S})
    load = first.model_copy(update={"name": "rebuild-load", "end_ns": rebuild.end_ns, "interval_ns": stretch})
    alone = load.model_copy(
        update={"name": "load-alone", "start_ns": load.end_ns, "end_ns": load.end_ns + 60 * synthetic.S}
    )
    rows = run.samples.head(360).with_columns(start_ns=run.samples["start_ns"] * 10, duration_ns=10 * synthetic.S)
    users = run.samples.head(2).with_columns(
        step=pl.lit("rebuild-load"),
        start_ns=pl.Series([0, 1800 * synthetic.S]),
        duration_ns=stretch,
        count=25 * 44,
        bytes=25 * 44 * 16384,
    )
    calm = users.head(1).with_columns(step=pl.lit("load-alone"), start_ns=alone.start_ns, duration_ns=60 * synthetic.S)
    parts = [part.cast(dict(run.samples.schema)) for part in (rows, users, calm)]  # type: ignore[arg-type]
    pl.concat(parts).write_parquet(run.path / "samples.parquet")
    record = run.record.model_copy(update={"steps": (rebuild, load, alone)})
    (run.path / "run.json").write_bytes(record.to_json())
    return read_run(run.path)


def test_the_time_is_the_headline_and_shown_with_its_interval(tmp_path: Path) -> None:
    run = rebuilt(tmp_path / "run", COMPLETE)
    first, *_ = highlights(candidates([run])[0])
    assert (first.value, first.of, first.detail) == ("6 min", "to rebuild", "95 % interval 5 min to 7 min")
    assert '6 min <small title="95 % interval">5 min to 7 min</small>' in render_page([run])


def test_an_interval_whose_ends_read_the_same_is_told_by_its_width(tmp_path: Path) -> None:
    run = rebuilt(tmp_path / "run", COMPLETE)
    close = {"value": 125.6, "low": 125.57, "high": 125.67}
    found = [each.model_copy(update=close) if each.kind == "rebuild-time" else each for each in run.record.findings]
    (run.path / "run.json").write_bytes(run.record.model_copy(update={"findings": tuple(found)}).to_json())
    first, *_ = highlights(candidates([read_run(run.path)])[0])
    assert (first.value, first.detail) == ("2 min 6 s", "95 % interval ± 50 ms")
    assert words.bounds(400.0, 360.0, 420.0, "s") == "6 min to 7 min"
    assert words.bounds(1100.0, 900.0, 1200.0, "ms") == "0.9 s to 1.2 s"
    assert words.bounds(77_700.0, 23_800.0, 252_000.0, "s") == "6 h 37 min to 70 h 0 min"
    assert words.bounds(73.2, 73.1960, 73.2041, "MiB/s") == "± 0.004 MiB/s"
    assert words.bounds(0.4995, 0.4991, 0.4999, "share") == "± 0.04 %"
    assert words.bounds(360.0, 360.0, 360.0, "s") == words.bounds(360.0, None, 360.0, "s") == ""


def test_whose_longest_command_stands_out_is_said(tmp_path: Path) -> None:
    run = rebuilt(tmp_path / "run", COMPLETE)
    target = run.record.target.model_copy(update={"details": run.record.target.details | {"width": "3"}})
    for member, whose in ((2, "the replacement"), (0, "drive 0")):
        longest = Finding.model_validate(LONGEST | {"evidence": {"member": member}})
        record = run.record.model_copy(update={"findings": (longest,), "target": target})
        (run.path / "run.json").write_bytes(record.to_json())
        (told,) = highlights(candidates([read_run(run.path)])[0])
        assert told.of == f"longest command of {whose}"


def test_latencies_that_nobody_knows_are_not_drawn(tmp_path: Path) -> None:
    run = loaded(tmp_path / "run")
    unknown = [
        pl.when(pl.col("step") != "rebuild").then(pl.col(f"latency_{name}_ns")).alias(f"latency_{name}_ns")
        for name in ("mean", "p50", "p99", "p999", "max")
    ]
    run.samples.with_columns(unknown).write_parquet(run.path / "samples.parquet")
    (picture,) = pictures([read_run(run.path)])
    views = {view["name"]: view for view in picture["views"]}
    assert views["rebuild-load"]["latencies"] == ["mean", "p99", "max"]
    assert views["rebuild"]["latencies"] == []
    assert set(views["rebuild"]["sides"][0]["lines"]) == set(views["rebuild"]["rates"])


def test_the_text_draws_the_rebuild_in_what_it_fills(tmp_path: Path) -> None:
    text = render([rebuilt(tmp_path / "run", COMPLETE)])
    assert "rebuild: MiB/s over 6 min" in text
    assert "rebuild: IOPS" not in text


def test_of_two_looks_no_course_is_drawn(tmp_path: Path) -> None:
    run = rebuilt(tmp_path / "run", COMPLETE)
    assert "full height" in _progress("candidate", run)
    kept = run.path / "raw" / "rebuild.json"
    answers = json.loads(kept.read_text())
    looks = answers["rebuilds"][0]["progress"]
    answers["rebuilds"][0]["progress"] = [looks[0], looks[-1], looks[-1]]
    kept.write_text(json.dumps(answers))
    assert _progress("candidate", read_run(run.path)) == ""


def test_stretches_are_drawn_over_all_that_they_stand_for(tmp_path: Path) -> None:
    run = loaded(tmp_path / "run")
    users = samples_of(run, run.record.steps[1:2])
    assert users["start_ns"].to_list() == [0, 1800 * synthetic.S]
    assert users["duration_ns"].to_list() == [1800 * synthetic.S] * 2
    assert users["count"].to_list() == [1800 * 44] * 2
    assert samples_of(run, run.record.steps[:1]).equals(run.samples.head(360))


def test_the_load_lies_over_the_rebuild_each_in_its_own_unit(tmp_path: Path) -> None:
    (picture,) = pictures([loaded(tmp_path / "run")])
    whole = picture["views"][0]
    (side,) = whole["sides"]
    both, alone = side["bands"]
    assert (both["name"], both["from_s"], both["to_s"]) == ("rebuild + rebuild-load", 0, 3600)
    assert (alone["from_s"], whole["span_s"]) == (3600, 3660)
    assert set(whole["rates"]) == {"mib", "iops"}
    drawn = {name: decode(Line(**side["lines"][name]), whole["slots"]) for name in ("mib", "iops")}
    during = int(3600 / whole["slot_s"]) - 1
    assert np.nanmin(drawn["mib"][:during]) > 5  # nothing of the users' 0.7 MiB/s
    assert np.isfinite(drawn["iops"]).all()
    assert drawn["iops"][:during] == pytest.approx(44, rel=0.01)  # and no gap between stretches


def test_rebuilds_that_differ_by_their_seed_alone_are_not_told_to_differ(tmp_path: Path) -> None:
    """What differs is in the document, too."""

    def ordered(name: str, seed: int, fill: float) -> Run:
        run = rebuilt(tmp_path / name, COMPLETE)
        text = json.dumps({"layout": "raid6", "fill": fill, "seed": seed})
        protocol = run.record.protocol.model_copy(update={"text": text, "sha256": text})
        record = run.record.model_copy(update={"protocol": protocol, "seed": seed})
        (run.path / "run.json").write_bytes(record.to_json())
        return read_run(run.path)

    first = ordered("first", 1, 0.5)
    for other, is_same in ((ordered("seed", 2, 0.5), True), (ordered("fill", 1, 0.6), False)):
        compared = compare([first, other])
        assert ("compare with care: fill (50% in [1], 60% in [2])." in compared.to_text()) == (not is_same)
        [group] = compared.to_json()["protocols"]
        assert (group["same_text"], any("compare with care" in note for note in group["notes"])) == (
            is_same,
            not is_same,
        )
