"""Who waits how long for a drive's longest command, and for a flush."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from arrays.test_rebuild import IRONWOLF, order
from shakedown.analysis.finding import Finding
from shakedown.analysis.kick import judge_patience
from shakedown.array import run
from shakedown.array.find import findings
from shakedown.array.order import RebuildOrder
from shakedown.array.rebuild import simulate
from shakedown.array.zfs import ZfsOptions
from shakedown.report.outcome import outcome
from shakedown.report.rebuild import render_rebuild

ROOT = Path(__file__).resolve().parents[2]


def test_patience_is_judged_against_the_longest_command() -> None:
    def judged(longest_ms: float, *, is_lost: bool = False) -> list[str]:
        return [each.kicked for each in judge_patience(longest_ms, is_lost=is_lost)]

    assert judged(100) == ["no", "no", "no"]
    assert judged(5_000) == ["close", "no", "no"]
    assert judged(20_000) == ["yes", "close", "no"]
    # Linux aborts and asks again, ZFS's deadman logs: what comes of it decides.
    assert judged(400_000) == ["yes", "close", "close"]
    assert judged(400_000, is_lost=True) == ["yes", "yes", "close"]
    assert judged(20_000, is_lost=True) == ["yes", "close", "no"]
    # Controllers give a drive 8 s, Linux 30 s: who takes just as long is kicked, who takes half of it is close.
    assert [judged(ms)[0] for ms in (3_999, 4_000, 7_999, 8_000)] == ["no", "close", "close", "yes"]
    assert [judged(ms, is_lost=True)[1] for ms in (14_999, 15_000, 29_999, 30_000)] == ["no", "close", "close", "yes"]
    assert [judged(ms, is_lost=True)[2] for ms in (149_999, 150_000, 300_000)] == ["no", "close", "close"]


def test_linux_waits_twice_as_long_for_a_flush() -> None:
    linux = [
        next(each for each in judge_patience(ms, is_lost=True, is_flush=True) if "Linux" in each.patience.who)
        for ms in (14_999, 15_000, 29_999, 30_000, 59_999, 60_000)
    ]
    assert [each.kicked for each in linux] == ["no", "no", "no", "close", "close", "yes"]
    assert [each.patience.who.endswith("layer, for a flush") for each in linux[:2]] == [False, True]
    assert [each.patience.limit_ms for each in linux[:2]] == [30_000, 60_000]


@pytest.mark.parametrize(("is_lost", "kicked"), [(True, "yes"), (False, "close")])
def test_a_flush_within_its_limit_excuses_no_command_that_was_given_up(kicked: str, *, is_lost: bool) -> None:
    def linux(longest_ms: float, *, given_up: bool = True) -> tuple[str, float, str]:
        judged = judge_patience(longest_ms, is_lost=is_lost, is_flush=True, given_up=given_up)[1]
        return judged.patience.who.removeprefix("Linux's SCSI layer"), judged.patience.limit_ms, judged.kicked

    assert linux(38_000) == (", for all but flushes", 30_000, kicked)
    assert linux(60_000) == (", for a flush", 60_000, kicked)
    assert linux(38_000, given_up=False) == (", for a flush", 60_000, "close")


@pytest.mark.parametrize(
    ("is_lost", "row", "sentence"),
    [(True, "YES", ""), (False, "passed, kept", "Linux's SCSI layer, for all but flushes, aborts the command")],
)
def test_who_was_given_up_for_others_than_its_longest_flush_had_no_near_miss(
    row: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_lost: bool
) -> None:
    one = simulate(order())
    columns = {"longest_command_ns": 38 * 10**9, "longest_flush_ns": 38 * 10**9, "timeouts": 2}
    late = replace(one, members=one.members.with_columns(**{name: pl.lit(value) for name, value in columns.items()}))
    if is_lost:
        late = replace(late, ended="failed", failed_member=one.replacement)
    monkeypatch.setattr(run, "simulate", lambda *_: late)
    kept = run.run_rebuild(order(scale_divisor=1), None, 1, tmp_path / "run", lambda _: None)
    text = render_rebuild(kept)
    assert re.search(rf"^Linux's SCSI layer, for all but flushes +30 s +{row}$", text, re.MULTILINE)
    told = " ".join(text.split())
    assert sentence in told
    judged = outcome(kept)
    assert judged is not None
    kicks = "For a command that takes 30 s Linux's SCSI layer, for all but flushes, kicks drive 3 out: it waits 30 s."
    assert (kicks in judged.sentences[0]) is is_lost
    assert "near miss" not in told + judged.sentences[0]


def test_a_flush_that_took_longest_is_called_one() -> None:
    drive = "model:wd40efrx"
    one = simulate(RebuildOrder("raid6", (drive,) * 4, drive, scale_divisor=1000))
    place = one.replacement

    def longest(flush_ns: int) -> Finding:
        row = pl.int_range(pl.len()) == place
        columns = {"longest_command_ns": 45 * 10**9, "longest_flush_ns": flush_ns}
        values = (pl.when(row).then(value).otherwise(name).alias(name) for name, value in columns.items())
        told = findings([replace(one, members=one.members.with_columns(*values))], ["a", "b", "c", "d"])
        return next(each for each in told if each.kind == "worst-latency")

    assert longest(45 * 10**9).text == "The replacement's longest command, a flush, takes 45 s."
    assert longest(44 * 10**9).text == "The replacement's longest command takes 45 s."


def test_who_waited_too_long_and_kicks_nobody_is_not_told_to_be_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ZFS's deadman logs: of md's array in another box, of a pool in its own."""
    one = simulate(order())
    silent = replace(one, members=one.members.with_columns(longest_command_ns=pl.lit(356 * 10**9)))
    monkeypatch.setattr(run, "simulate", lambda *_: silent)
    for layout, where in (("raid6", "in another box: "), ("raidz2", "")):
        options = {"options": ZfsOptions()} if where == "" else {}
        ordered = order(layout=layout, scale_divisor=1, **options)
        told = render_rebuild(run.run_rebuild(ordered, None, 1, tmp_path / layout, lambda _: None))
        assert re.search(rf"^{where}ZFS's deadman +5 min +passed, kept$", told, re.MULTILINE)
        whole = " ".join(told.split())
        assert f"{where.capitalize()}ZFS's deadman logs an event and waits on (failmode wait)." in whole


def test_what_is_said_of_who_waits_is_set_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flush, for which Linux waits twice as long; and what is just under a limit is not told as that."""
    one = simulate(order())
    for flush_ns, said in (
        (61 * 10**9, "Linux's SCSI layer, for a flush, aborts the command"),
        (59_956 * 10**6, "a command took just under 60 s, and Linux's SCSI layer, for a flush, waits 60 s."),
    ):
        columns = {"longest_command_ns": flush_ns, "longest_flush_ns": flush_ns}
        slow = replace(one, members=one.members.with_columns(**{name: pl.lit(ns) for name, ns in columns.items()}))
        monkeypatch.setattr(run, "simulate", lambda *_, slow=slow: slow)
        kept = run.run_rebuild(order(scale_divisor=1), None, 1, tmp_path / str(flush_ns), lambda _: None)
        assert said in " ".join(render_rebuild(kept).split())


def test_the_red_beside_users_fails_as_the_document_says() -> None:
    """A seed of the known case in which a flush is given up, with the load of the prose."""
    prose = " ".join((ROOT / "docs" / "rebuild.md").read_text(encoding="utf-8").split())
    said = re.search(
        r"fails after (\d+) to (\d+) min, ([\d.]+) to ([\d.]+) % done: "
        r"Linux has given it up after (\d+) to (\d+)",
        prose,
    )
    assert said
    soonest, latest, least_done, most_done, least, most = map(float, said.groups())
    done = simulate(
        RebuildOrder(
            layout="raid6",
            members=(IRONWOLF,) * 8,
            replacement="model:wd40efax",
            member_bytes=3500 << 30,
            fill=0.75,
            load="[users]\nrw=randrw\nrwmixread=70\nbs=16k\niodepth=4\n",
            seed=2,
        )
    )
    red = done.members.to_dicts()[7]
    assert (done.ended, done.failed_member) == ("failed", 7)
    assert soonest <= round(done.duration_s / 60) <= latest
    assert least_done <= round(done.done * 100, 1) <= most_done
    assert least <= red["timeouts"] <= most
    # Nobody waits for a flush longer than Linux does, whatever the drive still does. Others are asked for again.
    assert red["longest_flush_ns"] == 60 * 10**9
    assert red["longest_command_ns"] >= 60 * 10**9
