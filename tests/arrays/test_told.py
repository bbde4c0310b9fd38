"""The words in which a rebuild is told: who held it up, why it failed, what the array holds."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from arrays.test_rebuild import IRONWOLF, JOB, RED, order
from shakedown.analysis.finding import Finding
from shakedown.array import run
from shakedown.array.bottleneck import held_up
from shakedown.array.capacity import Capacity
from shakedown.array.cells import Place, cell_of
from shakedown.array.find import findings
from shakedown.array.host import cautions
from shakedown.array.like_lab import like_lab
from shakedown.array.rebuild import Rebuild, simulate, slowest_of
from shakedown.array.settings import parse_options
from shakedown.array.unsure import OFF_BY, OFF_BY_OF_ZFS, SAMPLED_OFF_BY, unsure
from shakedown.array.users import users_otherwise
from shakedown.array.zfs import ZfsOptions
from shakedown.report.figures import candidates
from shakedown.report.html import render_page
from shakedown.report.overview import run_name
from shakedown.report.rebuild import render_rebuild
from shakedown.report.seeds import seeds_table
from shakedown.target.md_options import LINUX_HOST, MdOptions
from shakedown.units import format_duration

JOINED = "an error for every request of ZFS that was joined in the command"
ROOT = Path(__file__).resolve().parents[2]


def failing(**changed: object) -> Rebuild:
    """A rebuild whose replacement, drive 3, fails; ``changed`` of its row."""
    done = simulate(order())
    rows = done.members.to_dicts()
    rows[3] |= changed
    return replace(done, ended="failed", failed_member=3, done=0.015, members=pl.DataFrame(rows))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, ""),
        (
            {"timeouts": 13, "is_faulted": True},
            f" ZFS has set it faulty, for 13 of its commands took longer than Linux waits, each {JOINED}.",
        ),
        (
            {"timeouts": 1, "is_faulted": True},
            f" ZFS has set it faulty, for one of its commands took longer than Linux waits, {JOINED}.",
        ),
        (
            {"bad_places": 1, "is_faulted": True},
            f" ZFS has set it faulty, for it could not be read at one place, {JOINED}.",
        ),
        (
            {"bad_places": 4, "timeouts": 1, "is_faulted": True},
            " ZFS has set it faulty, for one of its commands took longer than Linux waits and it could not be read at "
            f"4 places, each {JOINED}.",
        ),
        (
            {"timeouts": 6},
            " Linux has given it up: 6 of its commands took longer than Linux waits, and were asked again in vain.",
        ),
    ],
)
def test_why_a_drive_was_left_out_is_told(changed: dict[str, object], told: str) -> None:
    failed, *_ = findings([failing(**changed)], ["a", "b", "c", "d"])
    assert failed.text.endswith(f", 1.5% done: drive 3, d, fails, and it is the one put in.{told}")
    survived = replace(failing(failed_at_ns=5, **changed), replacement=0, ended="complete")
    assert findings([survived], ["a", "b", "c", "d"])[0].text.endswith(f", which the array survives.{told}")


@pytest.mark.parametrize(
    ("awaited", "busy", "told"),
    [
        (
            [0.1, 0.5, 0.0, 0.0],
            [0.5, 0.95, 0.5, 0.5],
            "The rebuild waits for drive 1, b, 50% of the time: it cannot read faster",
        ),
        (
            [0.0, 0.0, 0.1, 0.2],
            [0.97, 0.96, 0.97, 0.26],
            "those that are read do so together: 1 x a, 1 x b, 1 x c are busy 9",
        ),
        (
            [0.0, 0.0, 0.1, 0.2],
            [0.97, 0.96, 0.97, 0.25],
            "the replacement 25% (it has commands; what it writes from DRAM between them is not counted). For 20% of",
        ),
        ([0.0, 0.0, 0.1, 0.2], [0.5, 0.96, 0.5, 0.5], "the busiest is drive 1, b, 96% of the time."),
        (
            [0.0, 0.0, 0.1, 0.2],
            [0.5, 0.5, 0.5, 0.5],
            "No drive holds the rebuild up; each could do more: the busiest is drive 0, a, 50% of the time.",
        ),
        (
            [0.0, 0.0, 0.1, 0.2],
            [0.5, 0.5, 0.5, 0.3],
            "drive 0, a, 50% of the time, the replacement 30%. Too few requests are outstanding to keep any of them "
            "busy.",
        ),
        (
            [0.0, 0.0, 0.1, 0.2],
            [0.8, 0.8, 0.8, 0.8],
            "1 x d are busy 80% of the time. For 20% of the time it waits for the replacement, d alone.",
        ),
        (
            [0.0, 0.0, 0.0, 0.19],
            [0.91, 0.91, 0.8, 0.45],
            "1 x a, 1 x b, of 3 that are read, are busy 91% of the time, the replacement 45% (it has commands; what "
            "it writes from DRAM between them is not counted). For 19% of the time it waits for the replacement, d "
            "alone.",
        ),
        (
            [0.0, 0.0, 0.0, 0.19],
            [0.91, 0.91, 0.91, 0.45],
            "No single drive holds the rebuild up most of the time; those",
        ),
        ([0.0, 0.0, 0.0, 0.09], [0.91, 0.91, 0.91, 0.45], "No single drive holds the rebuild up; those that are read"),
        ([0.0] * 4, [0.0] * 4, "What holds the rebuild up is not known: these drives, like loop devices"),
    ],
)
def test_who_is_waited_for_alone_holds_it_up_or_else_the_busiest(
    awaited: list[float], busy: list[float], told: str
) -> None:
    done = simulate(order())
    busy_ns = [round(share * done.duration_ns) for share in busy]
    members = done.members.with_columns(awaited=pl.Series(awaited), busy_ns=pl.Series(busy_ns))
    slow = replace(done, members=members, slowest=slowest_of(members))
    bottleneck = next(each for each in findings([slow], ["a", "b", "c", "d"]) if each.kind == "bottleneck")
    assert told in bottleneck.text
    assert slow.slowest == (awaited.index(max(awaited)) if max(awaited) > 0.25 else busy.index(max(busy)))


def test_of_a_failed_rebuild_is_shown_what_is_known_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The baseline's time, and what users felt until it failed."""
    loaded = order(load=JOB, fill=0.5)
    done = simulate(loaded)
    failed = replace(done, ended="failed", failed_member=3, done=0.015)
    monkeypatch.setattr(run, "simulate", lambda each, _share, _seed: failed if each.state == "used" else done)
    kept = run.run_rebuild(replace(loaded, state="used"), loaded, 1, tmp_path / "run", lambda _: None)
    whole = render_rebuild(kept)
    rows = {name: rest for name, *rest in (re.split(r" {2,}", line) for line in whole.splitlines())}
    assert rows["time to rebuild"][0] == "failed"
    assert rows["time to rebuild"][-1] == format_duration(done.duration_ns)
    during, alone = rows["users' mean latency"], rows["their mean latency alone"]
    assert during[0] == during[-1] != alone[0] == alone[-1] != "–"
    assert "users' longest wait" in rows
    assert whole.count("The rebuild fails after") == 1


def test_of_a_failed_rebuild_each_seed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In how many it failed, when, by whom; and the longest command, whoever waits for it."""
    done = simulate(order())
    soon = failing(timeouts=13, longest_command_ns=31 * 10**9)
    late = replace(failing(failed_at_ns=2 * 10**9), failed_member=2, duration_ns=9 * 10**9, done=0.5)
    ends = {1: done, 2: late, 3: replace(soon, duration_ns=4 * 10**9)}
    monkeypatch.setattr(run, "simulate", lambda _order, _share, seed: ends[seed])
    kept = run.run_rebuild(order(), None, 3, tmp_path / "run", lambda _: None)
    whole = render_rebuild(kept)
    said = "The rebuild fails in 2 of 3 seeds, the soonest after 4 s, 1.5% done: drive 3, "
    assert said in " ".join(whole.split())
    rows = {name: rest for name, *rest in (re.split(r" {2,}", line) for line in whole.splitlines())}
    assert rows["its longest command"] == ["31 s"]
    assert rows["1"][:3] == ["complete", format_duration(done.duration_ns), "100%"]
    assert (rows["2"][:3], rows["2"][-1]) == (["failed", "9 s", "50%"], "3, then 2")
    assert rows["3"] == ["failed", "4 s", "1.5%", "31 s, drive 3", "3 (13 timeouts)"]
    assert "<td>3 (13 timeouts)</td>" in re.sub(r"\s*(</?t[dh]>)\s*", r"\1", render_page([kept]))


def late(counts: Sequence[int], longest_ns: int) -> Rebuild:
    """A rebuild that is survived though commands are given up, ``counts`` by drive; it waits for drive 3 alone."""
    done = simulate(order())
    last = [0.0, 0.0, 0.0, 1.0]
    busy = [round(share * done.duration_ns) for share in last]
    changed = {"timeouts": counts, "longest_command_ns": [longest_ns] * 4, "awaited": last, "busy_ns": busy}
    return replace(done, members=done.members.with_columns(**{key: pl.Series(each) for key, each in changed.items()}))


@pytest.mark.parametrize(("share", "why"), [(0.6, "it lets commands hang until"), (0.1, "it cannot write faster")])
def test_who_hangs_for_a_small_part_of_the_wait_holds_nothing_up_by_that(share: float, why: str) -> None:
    done = simulate(order())
    told = held_up([late([0, 0, 0, 2], round(share / 2 * done.duration_ns))], ["a", "b", "c", "d"]).text
    assert told.startswith(f"The rebuild waits for the replacement, d, 100% of the time: {why}")


def test_of_commands_that_were_given_up_each_seed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In how many seeds, under which, and of which drive."""
    ends = {1: late([0] * 4, 10**9), 2: late([0, 0, 0, 7], 82 * 10**9), 3: late([0, 1, 0, 2], 61 * 10**9)}
    monkeypatch.setattr(run, "simulate", lambda _order, _share, seed: ends[seed])
    kept = run.run_rebuild(order(), None, 3, tmp_path / "run", lambda _: None)
    whole = " ".join(render_rebuild(kept).split())
    assert "Linux gave up on one command of drive 1, st12000vn0007, in one of 3 seeds: it was not" in whole
    assert "Linux gave up on up to 7 commands of drive 3, st12000vn0007, in 2 of 3 seeds: they were not" in whole
    table = seeds_table(kept)
    assert table is not None
    assert table.head[-1] == "given up"
    assert [row[-1] for row in table.rows] == ["", "7 of drive 3", "1 of drive 1, 2 of drive 3"]


def test_seeds_that_all_end_well_need_no_table(tmp_path: Path) -> None:
    kept = run.run_rebuild(order(), None, 2, tmp_path / "run", lambda _: None)
    assert seeds_table(kept) is None


def test_how_far_rebuilds_onto_shingled_drives_were_off_is_what_the_table_says() -> None:
    worst: dict[tuple[str, ...], float] = {}
    with (ROOT / "docs" / "conformance-arrays.csv").open() as file:
        for row in csv.DictReader(file):
            layout, _, kind, *_ = row["case"].split("-")
            if kind == "smr":
                family = next((layouts for layouts in OFF_BY if layout in layouts), ())
                worst[family] = max(worst.get(family, 0.0), abs(float(row["time_error"])))
    assert {family: f"{share:.0%}" for family, share in worst.items()} == {
        family: f"{share:.0%}" for family, share in {**OFF_BY, (): OFF_BY_OF_ZFS}.items()
    }


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (MdOptions(), "up to 168 segments, 250 kernel ticks a second, 4 processors."),
        (MdOptions(max_segments=254, jiffy_ns=10**7), "up to 254 segments, 100 kernel ticks a second, 4 processors."),
        (MdOptions(max_segments=1, processors=1), "up to 1 segment, 250 kernel ticks a second, 1 processor."),
        (ZfsOptions(), ""),
    ],
)
def test_onto_a_shingled_drive_the_host_that_md_is_taken_to_have_is_told(
    options: MdOptions | ZfsOptions, told: str
) -> None:
    layout = "raid6" if isinstance(options, MdOptions) else "raidz2"
    [caution] = unsure(order(layout=layout, replacement=RED, options=options), is_whole=True)
    assert told in caution
    assert ("--set segments=" in caution) == bool(told)


@pytest.mark.parametrize(
    ("members", "replacement", "baseline", "told"),
    [
        (IRONWOLF, "model:st8000dm004", IRONWOLF, ["how st8000dm004 shingles has"]),
        (
            "model:st4000dm004",
            RED,
            "model:st4000dm004",
            ["how st4000dm004 shingles, onto which the baseline rebuilds,"],
        ),
        ("model:st4000dm004", IRONWOLF, None, ["how st4000dm004 shingles has"]),
        (IRONWOLF, RED, "model:wd20efax", ["how wd20efax shingles, onto which the baseline rebuilds, has"]),
        (IRONWOLF, RED, IRONWOLF, []),
    ],
)
@pytest.mark.parametrize("ended", ["complete", "failed"])
def test_drives_that_nobody_has_published_the_shingles_of_are_told_however_it_ended(
    members: str,
    replacement: str,
    baseline: str | None,
    told: list[str],
    ended: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = order(members=(members,) * 4, replacement=replacement, member_bytes=2**30)
    beside = None if baseline is None else replace(given, replacement=baseline)
    done = simulate(order())
    ends = replace(done, ended=ended, failed_member=done.replacement if ended == "failed" else None)
    monkeypatch.setattr(run, "simulate", lambda *_: ends)
    kept = run.run_rebuild(given, beside, 1, tmp_path / "run", lambda _: None)
    notes = [note for note in kept.record.notes if "not been published" in note]
    assert [note.partition(" not been")[0] for note in notes] == [
        f"CAUTION: {each.removesuffix(' has')} has" for each in told
    ]
    text = " ".join(render_rebuild(kept).split())
    assert all(note in text for note in notes)


def test_which_drive_is_the_baseline_stands_above_the_table(tmp_path: Path) -> None:
    given = order(replacement=RED, member_bytes=2**30)
    kept = run.run_rebuild(given, replace(given, replacement=IRONWOLF), 1, tmp_path / "run", lambda _: None)
    put_in, beside = render_rebuild(kept).splitlines()[1:3]
    assert put_in.endswith(f"({RED}, new)")
    assert re.fullmatch(rf"beside ST12000VN0007\S* \({IRONWOLF}, new\), the baseline", beside)
    alone = run.run_rebuild(given, None, 1, tmp_path / "alone", lambda _: None)
    assert "the baseline" not in render_rebuild(alone)


def test_that_host_is_the_cores_own() -> None:
    host = MdOptions(
        max_segments=LINUX_HOST.max_segments, jiffy_ns=LINUX_HOST.jiffy_ns, processors=LINUX_HOST.processors
    )
    small = order(replacement=RED, member_bytes=2**30)
    given = (host, MdOptions(), replace(host, max_segments=254))
    told, own, other = (simulate(replace(small, options=options)).duration_ns for options in given)
    assert told == own != other


@pytest.mark.parametrize(
    ("layout", "replacement", "told"),
    [
        ("raid6", RED, "up to 7% off the real md's"),
        ("raid1", RED, "up to 5% off the real md's"),
        ("raidz1", RED, "up to 9% off the real OpenZFS's"),
        ("raid6", IRONWOLF, ""),
        ("mirror", IRONWOLF, ""),
    ],
)
def test_where_the_model_is_less_certain_than_its_interval_it_says_so(
    layout: str, replacement: str, told: str, tmp_path: Path
) -> None:
    given = order(layout=layout, member_bytes=2**30, fill=0.1, options=parse_options(layout, ()))
    kept = run.run_rebuild(replace(given, replacement=replacement), None, 1, tmp_path / "run", lambda _: None)
    shown = (render_rebuild(kept), render_page([kept]), " ".join(kept.record.notes))
    for each in shown:
        whole = " ".join(each.split())
        assert ("CAUTION: onto a shingled drive" in whole) == bool(told)
        assert told in whole.replace("&#39;", "'")


def test_a_host_like_the_labs_is_told_on_the_screen_and_in_a_row(tmp_path: Path) -> None:
    given = order(member_bytes=2**30, options=parse_options("raid6", like_lab("raid6")))
    kept = run.run_rebuild(given, None, 1, tmp_path / "run", lambda _: None)
    told = "segments=254, hz=100, processors=1"
    assert f"Set: {told}." in render_rebuild(kept)
    [candidate] = candidates([kept])
    assert run_name(candidate, 0).endswith(f"is replaced, scaled down by 1000, {told}")


def test_a_sample_is_told_with_what_it_may_be_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = simulate(order())
    for number, (whole, says) in enumerate(((False, True), (True, False))):
        monkeypatch.setattr(run, "simulate", lambda _order, _share, _seed, whole=whole: replace(done, whole=whole))
        kept = run.run_rebuild(order(), None, 1, tmp_path / str(number), lambda _: None)
        assert ("CAUTION: the time of a sample was up to 2.7% off" in " ".join(render_rebuild(kept).split())) == says


@pytest.mark.parametrize(("real", "document"), [("md", "rebuild.md"), ("OpenZFS", "zfs.md")])
def test_what_a_sample_may_be_off_is_the_most_that_the_document_has_seen(real: str, document: str) -> None:
    """Rounded up at the most by one percent."""
    text = (Path(__file__).parents[2] / "docs" / document).read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?:mirror|d?raid)\w* .*$", text, re.MULTILINE)
    most = max(float(found) for row in rows for found in re.findall(r"[−+](\d+\.\d+)", row))
    told = float(SAMPLED_OFF_BY[real].removesuffix("%"))
    assert most <= told < most + 1


def test_no_time_is_doubted_where_none_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of two seeds fails, and so the rebuild: how far a time may be off is of no account, but the failure is."""
    for target, is_doubtful in ((RED, True), (IRONWOLF, False)):
        onto = order(replacement=target, member_bytes=2**30)
        done = simulate(onto)
        for first, is_timed in ((done, True), (replace(done, ended="failed", failed_member=3, done=0.5), False)):
            monkeypatch.setattr(
                run, "simulate", lambda _order, _share, seed, one=first, other=done: one if seed == 1 else other
            )
            kept = run.run_rebuild(onto, None, 2, tmp_path / f"{is_doubtful}-{is_timed}", lambda _: None)
            told = " ".join(render_rebuild(kept).split())
            assert ("the model's time was up to" in told) == (is_timed and is_doubtful)
            assert ("whether and when a rebuild fails may differ" in told) == (is_doubtful and not is_timed)


def test_a_load_that_is_seen_for_longer_than_the_rebuild_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = order(load=JOB, fill=0.5)
    done = replace(simulate(loaded), duration_ns=70 * 10**9, ended="failed", failed_member=3, done=0.5)
    monkeypatch.setattr(run, "simulate", lambda _order, _share, _seed: done)
    kept = run.run_rebuild(loaded, None, 1, tmp_path / "run", lambda _: None)
    beside = next(step for step in kept.record.steps if step.name == "rebuild-load")
    assert beside.end_ns > done.duration_ns
    assert beside.detail is not None
    assert "goes on behind the rebuild's end" in beside.detail


def held_up_by(awaited: Sequence[Sequence[float]], names: Sequence[str], busy: float = 0.95) -> Finding:
    """What is said of a rebuild that waited so much for each drive, a list for each seed."""
    done = simulate(order())
    busy_ns = pl.lit(round(busy * done.duration_ns))
    rebuilds = [
        replace(done, members=done.members.with_columns(awaited=pl.Series(each), busy_ns=busy_ns)) for each in awaited
    ]
    return next(each for each in findings(rebuilds, names) if each.kind == "bottleneck")


def test_of_drives_that_are_alike_none_is_blamed_for_what_chance_did() -> None:
    told = held_up_by([[0.38, 0.31, 0.0, 0.14], [0.15, 0.59, 0.0, 0.14]], ["red", "red", "blue", "red"])
    assert told.text == (
        "The rebuild waits for one or another of 2 x red, 72% of the time: they are alike, and each cannot read "
        "faster (busy 95%)."
    )
    assert told.value == pytest.approx(0.715)


@pytest.mark.parametrize(("most", "held_back"), [("20MiB", True), ("2GiB", False)])
def test_a_rebuild_that_holds_itself_back_says_so(most: str, *, held_back: bool, tmp_path: Path) -> None:
    given = order(layout="raid5", member_bytes=2**30, options=parse_options("raid5", (f"speed-max={most}",)))
    kept = run.run_rebuild(given, None, 1, tmp_path / "run", lambda _: None)
    told = " ".join(render_rebuild(kept).split())
    assert ("md limits itself to 20.0 MiB a second (`speed-max`)" in told) == held_back


@pytest.mark.parametrize(
    ("busy", "of_limit", "told"),
    [
        (0.94, 0.99, "each drive could hardly do more; the busiest is"),
        (0.94, 0.96, "No single drive holds the rebuild up"),
        (0.8, 0.96, "each drive could do more; the busiest is"),
        (0.8, 0.9, "No single drive holds the rebuild up"),
    ],
)
@pytest.mark.parametrize("awaited", [0.0, 0.4])
def test_whoever_fills_at_its_limit_is_held_by_that(busy: float, of_limit: float, told: str, awaited: float) -> None:
    """Whoever is waited for then; where the limit is not reached it is that drive."""
    done = simulate(order())
    waits = [0.0, 0.0, 0.0, awaited]
    members = done.members.with_columns(awaited=pl.Series(waits), busy_ns=pl.lit(round(busy * done.duration_ns)))
    limit = round(done.filled_bytes / done.duration_s / of_limit)
    even = pl.DataFrame({"at_ns": [0, done.duration_ns], "done_bytes": [0, done.filled_bytes]})
    held = held_up([replace(done, members=members, progress=even)], ["a", "b", "c", "d"], limit)
    assert ("The rebuild waits for" if awaited and not told.startswith("each") else told) in held.text
    assert ("`speed-max`" in held.text) == (told.startswith("each"))


def test_a_drive_that_is_waited_for_much_longer_than_its_like_is_named() -> None:
    told = held_up_by([[0.1, 0.6, 0.1, 0.0], [0.2, 0.6, 0.1, 0.0]], ["red"] * 4)
    assert told.text.startswith("The rebuild waits for drive 1, red, 60% of the time: it cannot read faster")


def test_who_holds_a_rebuild_up_is_said_of_all_seeds() -> None:
    told = held_up_by([[0.9, 0.0, 0.0, 0.0], [0.0, 0.8, 0.0, 0.0], [0.0, 0.8, 0.0, 0.0]], ["a", "b", "c", "d"])
    assert told.text.startswith("The rebuild waits for drive 1, b, 53% of the time")


def test_who_is_waited_for_now_and_then_is_named_where_no_drive_is_busy_throughout() -> None:
    awaited = [[0.0, 0.0, 0.02, 0.17]]
    told = held_up_by(awaited, ["red", "red", "red", "blue"], busy=0.76)
    assert told.text.startswith("The rebuild waits for one drive or another: ")
    assert told.text.endswith("17% of the time it waits for the replacement, blue alone.")
    assert "No single drive" in held_up_by(awaited, ["red", "red", "red", "blue"]).text


def test_what_no_host_may_carry_is_cautioned_about() -> None:
    done = simulate(order())
    assert cautions([done]) == ()
    much = [round(4.1e9 * done.duration_s), 0, 0, 0]
    fast = replace(done, members=done.members.with_columns(bytes_read=pl.Series(much), bytes_written=pl.lit(0)))
    assert "all drives together move 4.1 GB/s" in cautions([done, fast])[0]
    assert {each.kind: each.evidence for each in findings([fast], ["a"] * 4)}["throughput"][
        "together_bytes_per_s"
    ] == pytest.approx(4.1e9)


@pytest.mark.parametrize(
    ("layout", "options", "drives"),
    [
        ("raid1", MdOptions(), 1),
        ("raid5", MdOptions(), 5),
        ("raid6", MdOptions(), 4),
        ("raid10", MdOptions(), 3),
        ("raid10", MdOptions(copies=(1, 3, True)), 2),
        ("mirror", ZfsOptions(), 1),
        # A record of 32 sectors with two of parity to each row of four: 48, of which 32 are data.
        ("raidz2", ZfsOptions(), 4),
        # 32 and 7 of parity, rounded up to an even number.
        ("raidz1", ZfsOptions(), 6 * 32 / 40),
        ("draid1", ZfsOptions(draid=(2, 1)), 5 * 2 / 3),
    ],
)
def test_what_an_array_holds(layout: str, options: MdOptions | ZfsOptions, drives: float) -> None:
    small = 1_000_000_000_000
    given = order(layout=layout, members=(IRONWOLF,) * 6, options=options)
    capacity = Capacity.of(given, {"small": small, "large": 4 * small})
    if isinstance(options, ZfsOptions):
        # Whole metaslabs, of 8 GiB in a mirror and of 16 GiB elsewhere, less a 32nd or 128 GiB.
        raw, metaslab = (small, 2**33) if layout == "mirror" else ((5 if layout == "draid1" else 6) * small, 2**34)
        data = raw // metaslab * metaslab * drives * small / raw
        assert capacity.usable_bytes == pytest.approx(data - min(data / 32, 2**37), rel=1e-4)
    else:
        assert capacity.usable_bytes == pytest.approx(drives * small)
    assert set(capacity.unused_bytes) == {"large"}
    # ZFS lays partitions of whole MiB.
    assert capacity.unused_bytes["large"] == pytest.approx(3 * small, abs=2**20)
    assert "uses 931.3 GiB of each drive" in capacity.words
    assert capacity.words.endswith("Unused: 2.7 TiB of large.")
    for few, said in ((("large", "small"), "of large."), (("large", "large", "small"), "of each large.")):
        mixed = order(layout="raid1", members=few, replacement="small")
        assert Capacity.of(mixed, {"small": small, "large": 4 * small}).words.endswith(f"Unused: 2.7 TiB {said}")


def test_a_pool_of_terabyte_drives_shows_what_zfs_list_shows_of_one() -> None:
    # `zpool list` says 928G of such a drive, `zfs list` 899G.
    capacity = Capacity.of(
        order(layout="mirror", members=(IRONWOLF,) * 2, options=ZfsOptions()), {"a": 1_000_204_886_016}
    )
    assert capacity.usable_bytes == 899 * 2**30


def test_what_a_large_pool_keeps_back_ends_at_128_gib_of_data_since_2_1() -> None:
    # Of 44 sectors 32 are data.
    sizes = {"a": 16 * 10**12}
    today = Capacity.of(order(layout="raidz1", members=(IRONWOLF,) * 4, options=ZfsOptions()), sizes)
    data = 4 * 16 * 10**12 // 2**34 * 2**34 * 32 / 44
    assert today.usable_bytes == pytest.approx(data - 2**37, rel=1e-5)
    # Before 2.1 a 32nd of any pool; before 0.8 metaslabs of 512 GiB in one of this size.
    old = Capacity.of(order(layout="raidz1", members=(IRONWOLF,) * 4, options=ZfsOptions(release="0.6")), sizes)
    assert old.usable_bytes == pytest.approx(4 * 16 * 10**12 // 2**39 * 2**39 * 32 / 44 * 31 / 32, rel=1e-3)


@pytest.mark.parametrize(
    ("fill", "held", "told"),
    [
        (1.0, 2 * 10**12, "has room for 1.8 TiB of data and is full."),
        (0.75, 3 * 10**12 // 2, "has room for 1.8 TiB of data and holds 1.4 TiB."),
        (0.0, 0, "has room for 1.8 TiB of data and is empty."),
    ],
)
def test_how_full_it_is_told_beside_what_it_has_room_for(fill: float, held: int, told: str) -> None:
    capacity = Capacity.of(order(member_bytes=10**12, fill=fill), {"a": 10**12})
    assert (capacity.usable_bytes, capacity.held_bytes) == (2 * 10**12, held)
    assert capacity.words.endswith(told)


@pytest.mark.parametrize(("whole", "deviation_ns", "told"), [(True, 0, 0.0), (False, 2 * 10**9, 2.0), (False, 0, None)])
def test_of_a_sample_without_deviation_none_is_told(*, whole: bool, deviation_ns: int, told: float | None) -> None:
    rebuilt = simulate(order()).to_json() | {"whole": whole, "deviation_ns": deviation_ns}
    assert cell_of(Place("raid6", 4, 1.0), order(), rebuilt).deviation_s == told


@pytest.mark.parametrize(("deviation", "is_whole"), [(0.05, False), (0.2, True)])
def test_a_sample_that_may_be_far_off_is_gone_through_as_a_whole(
    monkeypatch: pytest.MonkeyPatch, *, deviation: float, is_whole: bool
) -> None:
    exact = simulate(order())
    part = replace(exact, whole=False, deviation_ns=int(deviation * exact.duration_ns))
    monkeypatch.setattr(
        "shakedown.array.rebuild._simulated", lambda ordered, _share, _seed: exact if ordered.whole else part
    )
    assert simulate(order()).whole == is_whole


def test_the_interval_holds_what_a_sample_may_be_off() -> None:
    exact = simulate(order())
    part = replace(exact, whole=False, deviation_ns=exact.duration_ns // 20)
    for rebuilds in ([part], [part, replace(part, duration_ns=part.duration_ns * 101 // 100)]):
        time = next(each for each in findings(rebuilds, list("abcd"), None) if each.kind == "rebuild-time")
        assert time.value is not None
        assert time.low is not None
        assert time.high is not None
        assert time.low < 0.93 * time.value < 1.07 * time.value < time.high
    alone = next(each for each in findings([exact], list("abcd"), None) if each.kind == "rebuild-time")
    assert (alone.low, alone.high) == (None, None)  # of one seed, and all of it


@pytest.mark.parametrize(("seeds", "has_interval"), [(1, False), (3, True)])
def test_of_one_seed_no_interval_is_shown(seeds: int, has_interval: bool, tmp_path: Path) -> None:
    kept = run.run_rebuild(order(scale_divisor=4000), None, seeds, tmp_path / "out", lambda _line: None)
    whole = " ".join(render_rebuild(kept).split())
    assert ("95 % interval" in whole) == has_interval
    assert ("Of one seed: there is no interval" in whole) == (not has_interval)
    timed = [each for each in kept.record.findings if each.kind in ("rebuild-time", "throughput")]
    assert [(each.low is None, each.high is None) for each in timed] == [(not has_interval,) * 2] * 2


@pytest.mark.parametrize(
    ("layout", "job", "unheeded"),
    [
        ("raid6", "[u]\nrw=randread\nruntime=10\niodepth=4\n", ["runtime"]),
        ("raidz1", "[global]\niodepth=4\n[u]\nrw=randread\n", []),
        ("raidz1", "[u]\nrw=randread\n[v]\nrw=randread\ntimeout=10\niodepth=2\n", ["runtime"]),
        ("raidz1", "[u]\nrw=randread\niodepth=1\n", []),
        ("raid6", "[u]\nrw=randread\nnumber_ios=10\n", ["number_ios"]),
        ("raidz1", "[u]\nrw=read\nio_size=1m\n[v]\nrw=read\nloops=3\n", ["io_size", "loops"]),
        ("raid6", "[u]\nrw=read\nsize=1m\nloops=1\n", []),
        ("raid6", None, []),
    ],
)
def test_what_users_do_not_heed_of_their_job_is_told(layout: str, job: str | None, unheeded: list[str]) -> None:
    told = list(users_otherwise(order(layout=layout, load=job, options=parse_options(layout, ()))))
    found = [re.findall("`([a-z_]+)` is ignored", each) for each in told if "`iodepth`" not in each]
    assert found == [[each] for each in unheeded]
    is_queued = layout == "raidz1" and re.search("iodepth=[24]", job or "") is not None
    assert any("The wait counts" in each for each in told) == is_queued


def test_a_load_that_ends_by_itself_is_told_of_on_the_screen(tmp_path: Path) -> None:
    """And it makes no difference: that is what the note says."""
    loaded = order(load=f"{JOB}runtime=1\ntime_based\n", fill=0.5, member_bytes=2**30)
    kept = run.run_rebuild(loaded, None, 1, tmp_path / "run", lambda _: None)
    assert "The load's `runtime` is ignored" in " ".join(render_rebuild(kept).split())
    assert simulate(loaded).duration_ns == simulate(replace(loaded, load=JOB)).duration_ns
