"""The matrix of resilvers: resumable, in any order, and account D's four statements over all of it."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from serving import shakedown
from shakedown.analysis.matrix import Cell, observations
from shakedown.array.cells import CellsBrokenError, Place, cell_of
from shakedown.array.matrix import CSV_NAME, ORDER_NAME, MatrixOrder, run_matrix, to_csv
from shakedown.array.order import RebuildOrder
from shakedown.array.rebuild import simulate
from shakedown.array.settings import parse_zfs_options
from shakedown.cli import main
from shakedown.errors import EnvironmentFailure, UsageError
from shakedown.parallel import on_every_core
from shakedown.report.matrix import matrix_notes, matrix_svg, matrix_text

pytestmark = pytest.mark.xdist_group("matrix")

D = MatrixOrder(
    layouts=("mirror", "raidz1", "raidz2", "raidz3"),
    widths=(3, 5, 11),
    fills=(0.25, 0.5),
    targets=("model:hd103uj",),
    settings=("release=0.6",),
)


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[Cell]:
    """Account D's drives and the ZFS of its day, at three widths."""
    return run_matrix(D, tmp_path_factory.mktemp("matrix"), lambda _line: None)


def test_account_d_is_right_over_the_whole_matrix(cells: list[Cell]) -> None:
    """R044 and R045 hold in every cell, R043 as far as the account could tell, R046 in the mean of each layout."""
    seen = {each.row: each for each in observations(cells)}
    for row in ("R044", "R045"):
        assert seen[row].holds, seen[row].evidence
    mirrors = {cell.fill: cell.time_s for cell in cells if cell.layout == "mirror"}
    # The ZFS of its day told whole minutes. In the model a raidz2 of 3, which has each record on each drive as a mirror
    # of 3 has, is 3 s faster than one at 25 %.
    assert all(cell.time_s > mirrors[cell.fill] - 60 for cell in cells), seen["R043"].evidence
    times = {(cell.layout, cell.width, cell.fill): cell.time_s for cell in cells}
    for layout in D.layouts:
        ratios = [
            times[layout, width, 0.5] / times[layout, width, 0.25]
            for width in D.widths
            if (layout, width, 0.5) in times
        ]
        assert 2.0 < sum(ratios) / len(ratios) < 2.2, (layout, ratios)


@pytest.mark.parametrize("unlike", [{"fill": 0.0, "time_s": 0.0}, {"time_s": 40.0, "ended": "lost"}])
def test_what_took_no_time_is_compared_with_nothing(unlike: dict[str, Any]) -> None:
    """A pool of nothing, or a resilver that came to no end: neither fast nor slow, and nothing is divided by it."""

    def cell(layout: str, width: int, **changed: Any) -> Cell:
        like = Cell(layout, width, 0.5, 9000.0, 0.0, "drive 0 (x)", 1, 1, None, "complete")
        return replace(like, **changed)

    whole = [cell("mirror", 3), cell("raidz1", 3), cell("mirror", 9), cell("raidz1", 9, time_s=12000.0)]
    empty = [cell(layout, width, **unlike) for layout in ("mirror", "raidz1") for width in (4, 12)]
    assert [each.holds for each in observations(empty)] == [None] * 4
    assert observations([*whole, *empty]) == observations(whole)


def test_a_tie_with_the_same_pair_of_drives_is_no_counterexample() -> None:
    """All mirrors are one pair: what they differ by is chance."""

    def cell(layout: str, width: int, time_s: float) -> Cell:
        return Cell(layout, width, 0.25, time_s, 0.0, "drive 0 (x)", 1, 1, None, "complete")

    mirrors = [cell("mirror", 4, 2363.4), cell("mirror", 5, 2362.1)]
    assert observations([*mirrors, cell("raidz3", 4, 2362.6)])[0].holds
    assert not observations([*mirrors, cell("raidz3", 4, 2361.9)])[0].holds


def test_a_cell_that_cannot_be_is_left_out(cells: list[Cell]) -> None:
    """raidz3 takes four drives."""
    assert {cell.width for cell in cells if cell.layout == "raidz3"} == {5, 11}
    assert all(cell.ended == "complete" for cell in cells)


def test_what_is_left_out_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["matrix", "model:hd103uj", "--layouts", "raidz2,raidz3", "--widths", "2-4", "--fills", "0%"]
    for options in (), ("--json",):
        with pytest.raises(SystemExit) as left:
            main([*arguments, "-o", str(tmp_path / "out"), *options])
        assert left.value.code == 0
        captured = capsys.readouterr()
        told = " ".join(captured.out.split())
        assert "raidz2: left out at 2 drives; it takes 3 or more." in told
        assert "raidz3: left out at 2 and 3 drives; it takes 4 or more." in told
    assert D.left_out == ("raidz3: left out at 3 drives; it takes 4 or more.",)
    assert replace(D, widths=(4, 5)).left_out == ()


def test_a_killed_matrix_goes_on(tmp_path: Path) -> None:
    """What was done stays as it was, a torn last line is done again, and the result is the same."""
    order = replace(D, layouts=("mirror", "raidz1"), widths=(3, 4), fills=(0.05,))
    told: list[str] = []
    whole = run_matrix(order, tmp_path / "one", told.append)
    assert len(told) == len(whole) == 4
    assert not told[0].endswith((" left", "nearly done")), (
        "how long the first took is mostly the beginning of processes"
    )
    # Of less than a second a fast machine is only "nearly done".
    assert told[1].endswith((" left", "nearly done"))
    assert not told[-1].endswith((" left", "nearly done"))
    text = (tmp_path / "one" / CSV_NAME).read_text()
    assert text == to_csv(whole)
    lines = text.splitlines(keepends=True)
    (tmp_path / "one" / CSV_NAME).write_text("".join(lines[:3]) + lines[3][:11])
    again: list[str] = []
    assert run_matrix(order, tmp_path / "one", again.append) == whole
    assert len(again) == 3
    assert "2 of 4" in again[0]


class Panic(BaseException):
    """As a panic of the core is one: no Exception, and from a module that nobody can import."""


Panic.__module__ = "pyo3_runtime"


class BrokenOrder(RebuildOrder):
    """Where it is computed, a bug shows."""

    def to_core(self) -> dict[str, Any]:
        """Fine where it is looked at first, and not in a process of its own."""
        if multiprocessing.parent_process() is not None:
            raise Panic("index out of bounds")
        return super().to_core()


class KilledOrder(RebuildOrder):
    """Where it is computed, memory is short."""

    def to_core(self) -> dict[str, Any]:
        """As the kernel does it."""
        if multiprocessing.parent_process() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().to_core()


def _with_one(kind: type[RebuildOrder], monkeypatch: pytest.MonkeyPatch) -> MatrixOrder:
    """Six small cells, of which one is of that kind. It is the first to begin."""
    order = replace(D, layouts=("mirror", "raidz1"), widths=(3, 4, 5), fills=(0.0,), scale_divisor=100)
    cells = order.cells()
    place = Place("raidz1", 5, 0.0)
    cells[place] = kind(**vars(cells[place]))
    monkeypatch.setattr(MatrixOrder, "cells", lambda _self: cells)
    return order


def test_a_bug_in_one_cell_loses_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All others are done and kept; the same command tries that one again."""
    with monkeypatch.context() as patch:
        order = _with_one(BrokenOrder, patch)
        with pytest.raises(CellsBrokenError, match=r"1 of 6 cells .* raidz1 of 5, 0% full: Panic: index out") as raised:
            run_matrix(order, tmp_path / "one", lambda _line: None)
    assert "to_core" in raised.value.__notes__[0]
    assert len((tmp_path / "one" / CSV_NAME).read_text().splitlines()) == 1 + 5
    told: list[str] = []
    assert len(run_matrix(order, tmp_path / "one", told.append)) == 6
    assert "5 of 6 cells are there" in told[0]


def test_md_rebuilds_once_what_is_the_same_at_every_fill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cells stand at every fill, each as if it had been made alone; of ZFS every fill is another cell."""
    order = replace(D, layouts=("raid1", "mirror"), widths=(2,), fills=(0.05, 0.1, 0.2), settings=(), scale_divisor=100)
    made: list[Any] = []

    @contextmanager
    def counted(function: Any, jobs: Any, **options: Any) -> Iterator[Any]:
        made.extend(place.layout for place, _ in jobs)
        with on_every_core(function, jobs, **options) as pending:
            yield pending

    monkeypatch.setattr("shakedown.array.cells.on_every_core", counted)
    cells = run_matrix(order, tmp_path / "all", lambda _line: None)
    assert sorted(made) == ["mirror"] * 3 + ["raid1"]
    [alone] = run_matrix(replace(order, layouts=("raid1",), fills=(0.2,)), tmp_path / "alone", lambda _line: None)
    md = [cell for cell in cells if cell.layout == "raid1"]
    assert [replace(alone, fill=fill) for fill in order.fills] == md


def test_account_d_says_nothing_of_md() -> None:
    """Neither a line of it under a matrix of md, nor a row of md in what it says of pools."""

    def cell(layout: str, fill: float, time_s: float) -> Cell:
        return Cell(layout, 4, fill, time_s, 0.0, "drive 0 (x)", 1, 1, None, "complete")

    md = [cell("raid5", 0.25, 9000.0), cell("raid5", 0.5, 9000.0)]
    assert observations(md) == []
    assert "account D" not in matrix_text(md, observations(md))
    pools = [cell("raidz1", 0.25, 4000.0), cell("raidz1", 0.5, 8400.0)]
    assert observations([*pools, *md]) == observations(pools)
    assert observations(pools)[3].holds


def test_what_a_row_of_widths_lacks_is_told() -> None:
    one = Cell("raidz1", 3, 0.25, 2400.0, 0.0, "drive 0 (x)", 1, 1, None, "complete")
    seen = {each.row: each for each in observations([replace(one, width=width) for width in range(3, 7)])}
    assert seen["R045"].holds is None
    assert seen["R045"].evidence == "no raidz both of 5 drives or fewer and of 8 or more"


def test_a_killed_process_is_told_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is nobody's bug, and what is done is kept."""
    with monkeypatch.context() as patch:
        order = _with_one(KilledOrder, patch)
        with pytest.raises(EnvironmentFailure, match="ended from outside"):
            run_matrix(order, tmp_path / "one", lambda _line: None)
    assert len(run_matrix(order, tmp_path / "one", lambda _line: None)) == 6


SOUND = b"mirror,2,0.05,100.5,0.0,drive 0 (hd103uj),1,1,,complete,0.25,0,\n"


@pytest.mark.parametrize(
    ("damage", "line", "why"),
    [
        (b"garbage,\xff\xfe", 3, "can't decode"),
        (b"garbage,\xff\xfe\n" + SOUND, 3, "can't decode"),
        (b"garbage", 3, "as no cell does"),
        (b"\n", 3, "0 values"),
        (SOUND.replace(b"mirror", b"miror"), 3, "`miror` is no layout"),
        (SOUND.replace(b"100.5", b"nan"), 3, "`nan` is no number"),
        (SOUND.replace(b"100.5", b"long"), 3, "long"),
        (SOUND.replace(b"drive", b'"drive'), 3, "end of data"),
    ],
)
def test_a_damaged_csv_is_told_by_its_line_and_left_as_it_is(
    tmp_path: Path, damage: bytes, line: int, why: str
) -> None:
    order = replace(D, layouts=("mirror",), widths=(2, 3), fills=(0.0,))
    begin_folder(order, tmp_path)
    csv = tmp_path / CSV_NAME
    csv.write_bytes(csv.read_bytes() + SOUND + damage)
    before = csv.read_bytes()
    with pytest.raises(UsageError, match=f"matrix.csv` is damaged in line {line}: .*{why}") as refusal:
        run_matrix(order, tmp_path, lambda _line: None)
    assert "take that line out" in refusal.value.hint
    assert csv.read_bytes() == before


def test_a_damaged_head_or_order_is_no_bug(tmp_path: Path) -> None:
    order = replace(D, layouts=("mirror",), widths=(2,), fills=(0.0,))
    begin_folder(order, tmp_path)
    (tmp_path / CSV_NAME).write_bytes(b"\xff\n")
    with pytest.raises(UsageError, match="damaged in line 1"):
        run_matrix(order, tmp_path, lambda _line: None)
    for damaged in (b"\xff\n", b'{"trunc', b"[]"):
        (tmp_path / ORDER_NAME).write_bytes(damaged)
        with pytest.raises(UsageError, match=r"matrix\.json` is damaged"):
            run_matrix(order, tmp_path, lambda _line: None)


def test_nobody_holds_up_what_is_empty(tmp_path: Path) -> None:
    cells = run_matrix(replace(D, layouts=("raidz1",), widths=(3,), fills=(0.0,)), tmp_path, lambda _line: None)
    assert [(each.time_s, each.slowest) for each in cells] == [(0.0, "")]


def begin_folder(order: MatrixOrder, folder: Path) -> None:
    """As a matrix leaves it that was stopped at once."""
    (folder / ORDER_NAME).write_text(json.dumps(order.to_json(), indent=1, sort_keys=True))
    (folder / CSV_NAME).write_text(to_csv([]))


def test_every_request_is_gone_through_where_that_is_ordered(tmp_path: Path) -> None:
    sampled = replace(D, layouts=("raidz1",), widths=(3,), fills=(0.25,))
    whole = replace(sampled, whole=True)
    assert "whole" not in sampled.to_json(), "folders from before there was a choice are gone on with"
    [part], [every] = (
        run_matrix(each, tmp_path / name, lambda _line: None) for each, name in ((sampled, "a"), (whole, "b"))
    )
    assert every.deviation_s == 0 < (part.deviation_s or 0)
    assert part.time_s == pytest.approx(every.time_s, rel=0.05)
    with pytest.raises(UsageError, match="another matrix"):
        run_matrix(whole, tmp_path / "a", lambda _line: None)


def test_another_matrix_is_not_mixed_in(tmp_path: Path) -> None:
    """A folder holds one matrix, or something else and is left alone."""
    order = replace(D, layouts=("mirror",), widths=(2,), fills=(0.0,))
    run_matrix(order, tmp_path / "one", lambda _line: None)
    with pytest.raises(UsageError, match="another matrix"):
        run_matrix(replace(order, seed=2), tmp_path / "one", lambda _line: None)
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="something else"):
        run_matrix(order, tmp_path / "two", lambda _line: None)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"layouts": ("raid7",)}, "no layout that can be rebuilt"),
        ({"fills": (1.2,)}, "120% full"),
        ({"widths": (300,)}, "pool of 300"),
        ({"layouts": ("raidz3",), "widths": (3,)}, "no layout can have"),
        ({"layouts": ("mirror", "raid5"), "widths": (4, 200), "settings": ()}, "raid5 of 200 drives: at most 128"),
        ({"targets": ()}, "needs a drive"),
        ({"targets": ("lab:hd103uj",), "whole": True}, "`--whole` is for modelled drives"),
        ({"replacement": "model:hd103uj", "targets": ("model:wd40efrx",)}, "too small"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, change: dict[str, object], reason: str) -> None:
    """Before anything is made."""
    with pytest.raises(UsageError, match=reason):
        run_matrix(replace(D, **change), tmp_path / "none", lambda _line: None)  # type: ignore[arg-type]
    assert not (tmp_path / "none").exists()


def test_options_of_a_pool_are_read_or_refused() -> None:
    """As on the command line."""
    options = parse_zfs_options(("recordsize=1MiB", "draid=8d:1s", "second-failure=3@2h", "order=sequential"))
    assert (options.record_bytes, options.draid, options.order) == (2**20, (8, 1), "sequential")
    assert options.second_failure == (3, 7200 * 10**9)
    for wrong in ("recordsize", "colour=red", "order=upwards", "draid=8", "ashift=big"):
        with pytest.raises(UsageError):
            parse_zfs_options((wrong,))


def test_the_picture_and_the_tables_show_every_cell(cells: list[Cell]) -> None:
    """A dot a cell, a line a layout and fill."""
    picture = matrix_svg(cells, "<D>")
    assert picture.count("<circle") == len(cells)
    assert picture.count("<polyline") == 8
    assert "&lt;D&gt;" in picture
    text = matrix_text(cells, observations(cells))
    assert "25% full" in text
    assert "50% full" in text
    assert "yes R044" in text
    assert "holds if: more than 1.05 times, of each raidz and fill" in text
    assert "It tells no figures: where a statement holds is drawn by Shakedown." in " ".join(text.split())


def test_an_empty_pool_is_told_as_one(tmp_path: Path) -> None:
    """No table of zeros, and no hours left for what takes none."""
    told: list[str] = []
    order = replace(D, layouts=("raidz1",), widths=(3, 4), fills=(0.0, 0.01), scale_divisor=100)
    cells = run_matrix(order, tmp_path / "out", told.append)
    nothing = [line for line in told if "0% full" in line]
    assert all("nothing to resilver" in line for line in nothing)
    assert not any("left" in line for line in told), "behind the first that takes time there is one more"
    text = matrix_text(cells, observations(cells))
    assert "0 ms" not in text
    assert "3       nothing" in text
    assert "nothing: the pool is empty." in text
    assert matrix_svg(cells, "").count("<circle") == 2


def test_what_a_mirror_of_an_odd_number_is_is_said(cells: list[Cell]) -> None:
    text = " ".join(matrix_text(cells, ()).split())
    assert "one pair, whatever the number of drives; the other pairs of such a pool and, of an odd number," in text
    even = [replace(each, width=4) for each in cells if each.layout == "mirror"]
    assert "odd number" not in matrix_text(even, ())
    assert "one pair" not in matrix_text([replace(each, width=2) for each in even], ())


def test_the_verb_prints_tables_and_leaves_a_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The tables on standard output, where all lies on standard error, also if it is to be quiet."""
    out = tmp_path / "out"
    arguments = ["matrix", "model:hd103uj", "--layouts", "mirror", "--widths", "2", "--fills", "5%", "-o", str(out)]
    shown = []
    for quiet in (), ("--quiet",):
        with pytest.raises(SystemExit) as left:
            main([*arguments, *quiet])
        assert left.value.code == 0
        shown.append(capsys.readouterr())
    assert shown[0].out.startswith("model:hd103uj\n\n5% full\ndrives  mirror\n")
    assert shown[1].out == shown[0].out
    assert shown[1].err.splitlines() == [f"csv: {out / CSV_NAME}", f"picture: {out / 'matrix.svg'}"]
    assert (out / "matrix.svg").is_file()
    head, row = (out / CSV_NAME).read_text().splitlines()
    assert head.startswith("layout,width,fill,time_s")
    assert row.startswith("mirror,2,0.05,")


def test_the_new_drive_and_the_one_that_is_replaced_are_named() -> None:
    """A mirror is a pair, and so replaces another drive of a mix than a raidz of three does."""
    mixed = MatrixOrder(("mirror", "raidz1"), (3, 4), (0.1,), ("model:wd40efrx", "model:wd40efax"))
    orders = mixed.cells()
    [told] = mixed.replaced
    assert "wd40efax in mirror of 3, mirror of 4, raidz1 of 4; wd40efrx in raidz1 of 3." in told
    assert orders[Place("mirror", 3, 0.1)].replacement == "model:wd40efax"
    assert orders[Place("raidz1", 3, 0.1)].replacement == "model:wd40efrx"
    assert D.replaced == ()
    assert D.title == "model:hd103uj"
    assert replace(D, replacement="model:wd40efax", scale_divisor=10).title.endswith("of their size, onto wd40efax")


def test_a_cell_that_failed_is_told_below_the_table_and_stays_in_the_legend() -> None:
    done = Cell("raidz1", 4, 0.6, 9000.0, 0.0, "drive 0 (x)", 1, 1, None, "complete")
    failed = replace(done, layout="raidz2", width=8, time_s=1080.0, ended="failed")
    late = replace(failed, commands_given_up=3, failed_drive="replacement (x)")
    told = " ".join(matrix_text([done, failed, late], []).split())
    assert "failed: raidz2 of 8 drives, 60% full, after 18 min: a drive more is left out." in told
    assert "after 18 min: replacement (x) is left out: Linux gave up on 3 commands." in told
    picture = matrix_svg([done, failed], "x")
    assert "raidz2, 60% full: none ended well" in picture
    assert picture.count("<polyline") == picture.count("<circle") == 1


def test_what_a_cell_survived_and_what_it_nearly_did_not_is_told() -> None:
    done = Cell("raidz1", 4, 0.6, 9000.0, 0.0, "drive 0 (x)", 1, 1, None, "complete", longest_command_s=14.9)
    assert list(matrix_notes([done])) == []
    close = [replace(done, width=width, longest_command_s=width * 3.0) for width in (5, 6)]
    [told] = matrix_notes([done, *close])
    assert told.startswith("near misses: in 2 of 3 cells a command of the new drive took half of what Linux waits")
    assert "up to 18 s, in raidz1 of 6 drives, 60% full." in told
    [just] = matrix_notes([replace(done, longest_command_s=29.956)])
    assert "up to just under 30 s, in" in just
    late = replace(close[0], commands_given_up=1)
    lost = replace(late, commands_given_up=4, failed_drive="drive 1 (y)")
    assert list(matrix_notes([late, lost])) == [
        "survived: raidz1 of 5 drives, 60% full: Linux gave up on one command.",
        "survived: raidz1 of 5 drives, 60% full: Linux gave up on 4 commands, and drive 1 (y) was left out.",
    ]


def test_onto_a_shingled_drive_the_model_says_how_far_it_may_be_off_and_account_d_is_not_asked() -> None:
    """D speaks of pools of one model."""
    onto = replace(D, replacement="model:wd40efax")
    assert [D.is_of_like_drives, onto.is_of_like_drives] == [True, False]
    assert not replace(D, targets=("model:hd103uj", "model:wd40efrx")).is_of_like_drives

    def cautions(order: MatrixOrder, ended: str = "complete", off_s: float = 0.0) -> tuple[str, ...]:
        return order.cautions(
            [Cell(*place, 9000.0, off_s, "drive 0 (x)", 1, 1, None, ended) for place in order.cells()]
        )

    assert cautions(D) == ()
    [told] = cautions(D, off_s=9.0)
    assert told.startswith("CAUTION: the time of a sample was up to 11% off that of the whole, which `deviation_s`")
    assert "longest command" not in told
    assert cautions(onto)[0].startswith("CAUTION: onto a shingled drive the model's time was up to ")
    assert "The longest command is that of the sample" in cautions(onto, off_s=9.0)[1]
    assert len(cautions(onto)) == 1
    [*_, of_times, of_kicks] = cautions(replace(onto, scale_divisor=20))
    assert "cells that differ by a few percent need not differ with whole drives" in of_times
    assert "a question of whole drives" in of_kicks
    assert cautions(replace(D, scale_divisor=20)) == (of_times,)
    # Where all failed there is no time to be unsure of.
    [told] = cautions(onto, "failed")
    assert "whether and when a rebuild fails may differ" in told
    of_assumed = replace(onto, replacement="model:st8000dm004")
    for ended in ("complete", "failed"):
        [_, told] = cautions(of_assumed, ended)
        assert told.startswith("CAUTION: how st8000dm004 shingles has not been published; it is assumed to work like ")


def test_of_layouts_of_md_and_zfs_each_caution_is_told_once_and_says_of_which() -> None:
    """Six were told, and of two nobody could say of which layouts; one was of md, which is not sampled there."""
    layouts = ("raid1", "raid5", "raid10", "mirror", "raidz1")
    red = ("model:wd40efrx",)
    mixed = replace(D, layouts=layouts, widths=(4,), targets=red, replacement="model:wd40efax", settings=())

    def cautions(order: MatrixOrder, ended: str = "complete") -> tuple[str, ...]:
        cells = order.cells().items()
        off = {place: 9.0 if each.is_zfs else 0.0 for place, each in cells}
        return order.cautions([Cell(*place, 9000.0, off[place], "x", 1, 1, None, ended) for place, _ in cells])

    onto, sampled = cautions(mixed)
    assert (
        "was up to 5% (raid1, raid10), 7% (raid5) off the real md's and up to 9% off the real OpenZFS's, which "
        "`deviation_s` does not cover"
    ) in onto
    assert onto.count("The time of md also depends on the host.") == 1
    assert sampled.startswith("CAUTION: the time of a sample was up to 11% (mirror, raidz1) off that of the whole, ")
    [_, _, of_its_shingles] = cautions(replace(mixed, replacement="model:st8000dm004"))
    assert "took up to 19% longer (md) and 17 times as long (OpenZFS) with those of another" in of_its_shingles
    [told] = cautions(mixed, "failed")
    assert "differ from the real md's and OpenZFS's, so whether and when" in told


def test_of_many_cells_that_speak_against_a_statement_the_clearest_are_named() -> None:
    def cell(layout: str, width: int, time_s: float) -> Cell:
        return Cell(layout, width, 0.25, time_s, 0.0, "drive 0 (x)", 1, 1, None, "complete")

    mirrors = [cell("mirror", width, 1000.0) for width in range(3, 11)]
    seen = observations([*mirrors, *(cell("raidz1", width, 1000.0 - 10 * width) for width in range(3, 11))])
    [evidence] = [one.evidence for one in seen if one.row == "R043"]
    assert "not raidz1 of 10 at 25% (10.0% less), raidz1 of 9 at 25% (9.0% less), " in evidence
    assert evidence.endswith("raidz1 of 6 at 25% (6.0% less) and 3 more")


def test_which_drive_was_lost_and_how_long_the_new_one_was_silent_stand_in_the_cell() -> None:
    order = MatrixOrder(
        ("raidz2",), (8,), (0.3,), ("model:hd103uj",), replacement="model:wd40efax", scale_divisor=10
    ).cells()
    [(place, rebuild)] = order.items()
    cell = cell_of(place, rebuild, simulate(rebuild).to_json())
    assert (cell.ended, cell.failed_drive) == ("failed", "replacement (wd40efax)")
    assert cell.longest_command_s >= 30
    assert cell.commands_given_up > 0


def test_of_a_cell_that_failed_no_estimate_is_told() -> None:
    """Nobody knows what was left."""
    cell = MatrixOrder(("raidz1",), (3,), (0.1,), ("model:hd103uj",), member_bytes=2**30).cells()
    [(place, order)] = cell.items()
    done = simulate(order).to_json()
    progress = [
        {"at_ns": at_ns, "done_bytes": at_ns, "shown_bytes_per_s": 1.0, "left_ns": 50.0} for at_ns in (0, 50, 100)
    ]
    done |= {"progress": progress, "duration_ns": 100}
    assert cell_of(place, order, done).estimate_error is not None
    assert cell_of(place, order, done | {"ended": "failed"}).estimate_error is None


@pytest.mark.parametrize(
    ("widths", "says"),
    [
        ("12-3", "error: `12-3` goes backwards\nhint: did you mean `3-12`?"),
        ("1", "error: a pool of one drive cannot be\nhint: --widths takes 2 to "),
        ("100000", "error: a pool of 100000 drives cannot be\nhint: --widths takes 2 to "),
        ("3-1000000", "error: a pool of 1000000 drives cannot be\nhint: --widths takes 2 to "),
        ("few", "error: `few` is no number of drives\nhint: write widths like 3-12"),
    ],
)
def test_widths_that_cannot_be_are_refused_as_they_were_written(tmp_path: Path, widths: str, says: str) -> None:
    answer = shakedown("matrix", "model:hd103uj", "--widths", widths, "-o", tmp_path / "none", cwd=tmp_path)
    assert answer.returncode == 2
    assert answer.stderr.startswith(says)
    assert not (tmp_path / "none").exists()
