"""``explain`` through the entry point, on typed-in figures and on a run of its own."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from cli.test_contract import needs_core
from serving import shakedown
from shakedown.analysis.explain.ceiling import Box
from shakedown.analysis.explain.layout import Layout
from shakedown.analysis.explain.limiter import prove
from shakedown.analysis.explain.load import Load, Measured
from shakedown.target.ability import ModelledDrive
from shakedown.target.model import ModelArena
from shakedown.units import NS_PER_S

pytestmark = needs_core

PAGE = (Path(__file__).parents[2] / "docs" / "explain.md").read_text(encoding="utf-8")
BOX = ("--layout", "raid5", "--width", "4", "--drive", "50IOPS,95MB/s", "--link", "1Gb/s")


def test_the_account_is_explained(tmp_path: Path) -> None:
    answer = shakedown(
        "explain", *BOX, "--measured", "001b: 8KiB 65R 60rand depth 64 = 89 IOPS", "--json", cwd=tmp_path
    )
    assert answer.returncode == 0
    (load,) = json.loads(answer.stdout)["loads"]
    assert (load["name"], load["limiter"], load["sure"]) == ("001b", "drives", True)


def test_a_modelled_drive_explains_the_account_as_the_rule_of_thumb_does(tmp_path: Path) -> None:
    measured = (
        "001a: 32KiB 100R 0rand depth 64 = 1761 IOPS",
        "001b: 8KiB 65R 60rand depth 64 = 89 IOPS",
        "001c: 32KiB 50R 0rand depth 64 = 705 IOPS",
        "001d: 8KiB 70R 100rand depth 64 = 64 IOPS",
    )
    words = [word for each in measured for word in ("--measured", each)]
    found = []
    for drive in ("50IOPS,95MB/s", "model:st31000520as"):
        box = [drive if word.endswith("MB/s") else word for word in BOX]
        told = json.loads(shakedown("explain", *box, *words, "--json", cwd=tmp_path).stdout)
        loads = [(each["name"], each["limiter"], each["sure"], each["cached"]) for each in told["loads"]]
        raid10 = told["changes"][0]
        found.append((loads, raid10["label"], [each and round(each) for each in raid10["iops"]]))
    assert found[0] == found[1]
    assert [limiter for _, limiter, _, _ in found[0][0]] == ["elsewhere", "drives", "unknown", "drives"]


def test_the_page_shows_what_is_printed(tmp_path: Path) -> None:
    """Its first sample is all of it; its second, of a modelled drive, some of its paragraphs."""
    in_one_line = PAGE.replace("\\\n", "")
    (command,) = re.findall(r"^    shakedown (explain .*--instead .*)$", in_one_line, re.MULTILINE)
    words = shlex.split(command)
    whole, some = re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert shakedown(*words, cwd=tmp_path).stdout == whole
    words[words.index("50IOPS,95MB/s")] = "model:st31000520as"
    printed = shakedown(*words, cwd=tmp_path).stdout.rstrip("\n").split("\n\n")
    assert [paragraph for paragraph in some.rstrip("\n").split("\n\n") if paragraph not in printed] == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("raidz2", "--set", "recordsize=4KiB"), "4096"),
        (("mirror", "--set", "copies=4"), '"copies": 4'),
        (("raid5", "--set", "recordsize=4KiB"), "`recordsize=4KiB` is no option of raid5"),
        (("raid5", "--set", "chunk=64KiB"), '"chunk_bytes": 65536'),
        (("raid10", "--set", "chunk=48KiB"), "`chunk=48KiB` cannot be read"),
        (("raid1", "--set", "chunk=64KiB"), "raid1 has no options here"),
        (("raidz2", "--set", "recordsize=5KiB"), "`recordsize=5KiB` cannot be read"),
        (("raid10", "--set", "copies=n3"), "its drives are 3 together here"),
        (("raid10", "--set", "copies=3"), "what it does lies between --width 6 and --width 9"),
    ],
)
def test_what_an_array_is_made_of_is_set_as_for_rebuild(words: tuple[str, ...], says: str, tmp_path: Path) -> None:
    measured = ("--width", "8", "--drive", "75IOPS,150MB/s", "--measured", "4KiB 100R 100rand = 99 IOPS", "--json")
    assert says in shakedown("explain", "--layout", *words, *measured, cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("001b: 8KiB 65R 60rand depth 64 = 89 IOPS", "001b: 8KiB 65R 60rand depth 64 = 300 IOPS"),
        ("8KiB 65R 60rand depth 64 = 89 IOPS", "8 KiB 65% reads 60rand depth 64 = 89 IOPS"),
    ],
)
def test_two_figures_of_one_load_are_refused(first: str, second: str, tmp_path: Path) -> None:
    refused = shakedown("explain", *BOX, "--measured", first, "--measured", second, cwd=tmp_path)
    assert refused.returncode == 2
    assert "has two figures, one of them" in refused.stderr
    named = [word for name in ("before", "after") for word in ("--measured", f"{name}: 8KiB 65R 60rand = 89 IOPS")]
    assert shakedown("explain", *BOX, *named, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("block_kib", "depth", "limiter"),
    [(64, 1, "unknown"), (512, 8, "unknown"), (1024, 8, "unknown"), (3584, 1, "drives"), (4096, 8, "unknown")],
)
def test_drives_are_not_acquitted_of_a_stream_that_they_alone_hold(block_kib: int, depth: int, limiter: str) -> None:
    """Around a modelled array there is nothing, and md reads what parity needs for every part of a stripe."""
    arena = ModelArena("model:raid5:8xst8000vn004", seed=1)
    job = f"rw=write\nbs={block_kib}k\niodepth={depth}\nsize=100%\ntime_based\nruntime=10s\n"
    with arena.start("stream", job, NS_PER_S, watched=False) as load:
        moved = sum(sample.bytes for batch in load for sample in batch)
    box = Box(Layout("raid5", 8), ModelledDrive("model:st8000vn004"))
    measured = Measured("stream", Load(block_kib << 10, 0, 0, depth), moved / 10 / (block_kib << 10), stated=())
    assert prove(box, measured).limiter == limiter


UNKNOWN = ("--measured", "32KiB 50R 0rand depth 64 = 705 IOPS")
DRIVES = ("--measured", "8KiB 70R 100rand depth 64 = 64 IOPS")


@pytest.mark.parametrize(
    ("layout", "drive", "asked"),
    [
        ("raid6", "model:wd40efrx", "`shakedown run PROTOCOL model:raid6:8xwd40efrx:write-cache=1GiB`"),
        ("raid10", "75IOPS,150MB/s", "`shakedown run PROTOCOL model:raid10:8xNAME:write-cache=1GiB`"),
        ("raidz2", "model:wd40efrx", "a pool of modelled drives in the lab can be asked: docs/lab.md."),
    ],
)
def test_what_no_ceiling_tells_is_asked_of_what_runs_that_layout(
    layout: str, drive: str, asked: str, tmp_path: Path
) -> None:
    box = ("--layout", layout, "--width", "8", "--drive", drive)
    told = " ".join(shakedown("explain", *box, *UNKNOWN, cwd=tmp_path).stdout.split())
    assert asked in told
    assert ("model:raid" in told) == (layout != "raidz2"), "no modelled box runs ZFS"


@pytest.mark.parametrize(
    ("drive", "instead", "told"),
    [
        ("model:st31000520as", "75IOPS,100MB/s", True),
        ("50IOPS,95MB/s", "model:st31000520as", True),
        ("50IOPS,95MB/s", "75IOPS,100MB/s", False),
        ("model:st31000520as", "model:wd40efrx", False),
    ],
)
def test_a_rule_of_thumb_beside_a_modelled_drive_is_told(drive: str, instead: str, told: bool, tmp_path: Path) -> None:
    box = ("--layout", "raid5", "--width", "4", "--drive", drive, "--instead", instead)
    answer = " ".join(shakedown("explain", *box, *DRIVES, cwd=tmp_path).stdout.split())
    assert ("is a rule of thumb" in answer) == told
    [*_, change] = json.loads(shakedown("explain", *box, *DRIVES, "--json", cwd=tmp_path).stdout)["changes"]
    assert bool(change["caveat"]) == told


def test_a_drive_explains_its_own_run(tmp_path: Path) -> None:
    target = "model:st31000520as"
    made = shakedown("run", "iometer-random-8k", target, "--quiet", "--out", "run", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    answer = shakedown("explain", "run", "--layout", "single", "--drive", target, "--json", cwd=tmp_path)
    (load,) = json.loads(answer.stdout)["loads"]
    used = {each["part"]: each["used"] for each in load["ceilings"]}
    assert (load["limiter"], load["outstanding"], load["block_bytes"]) == ("drives", 64, 8192)
    assert used["drives"] == pytest.approx(1, abs=0.1)
    assert "63.8 of 64 requests were in flight" in "".join(load["statements"])


def test_of_several_runs_those_that_cannot_be_explained_are_left_out(tmp_path: Path) -> None:
    made = shakedown("run", "iometer-random-8k", "model:raid5:4xst31000520as", "--quiet", "--out", "load", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    order = ("rebuild", "raid1", "model:wd40efrx", "--width", "2", "--scale", "1/1000", "--seeds", "1", "--quiet")
    assert shakedown(*order, "--out", "rebuilt", cwd=tmp_path).returncode == 3
    box = ("--layout", "raid5", "--width", "4", "--drive", "model:st31000520as", "--json")
    both = shakedown("explain", "load", "rebuilt", *box, cwd=tmp_path)
    assert "left out: `rebuilt` holds no step that can be explained" in both.stderr
    assert [each["name"] for each in json.loads(both.stdout)["loads"]] == ["random-8k"]
    for alone in (("rebuilt",), ("rebuilt", "rebuilt")):
        answer = shakedown("explain", *alone, *box, cwd=tmp_path)
        assert answer.returncode == 2
        assert "holds no step that can be explained" in answer.stderr or "none of these runs" in answer.stderr


def test_runs_of_one_job_are_told_apart(tmp_path: Path) -> None:
    for name in ("one", "two"):
        made = shakedown("run", "iometer-random-8k", "model:st31000520as", "--quiet", "--out", name, cwd=tmp_path)
        assert made.returncode == 0, made.stderr
    box = ("--layout", "single", "--drive", "model:st31000520as", "--json")
    loads = json.loads(shakedown("explain", "one", "two", *box, cwd=tmp_path).stdout)["loads"]
    assert [each["name"] for each in loads] == ["one random-8k", "two random-8k"]


@pytest.mark.parametrize(
    "arguments",
    [
        BOX,
        (*BOX, "--measured", "fast"),
        (*BOX, "no-such-run"),
        (*BOX[:-2], "--link", "wet string", "--measured", "8K 1R 1rand = 1 IOPS"),
        ("--layout", "raid5", "--width", "1", "--drive", "50IOPS,95MB/s", "--measured", "8K 1R 1rand = 1 IOPS"),
        ("--layout", "single", "--drive", "model:none", "--measured", "8K 1R 1rand = 1 IOPS"),
        ("--layout", "single", "--drive", "0IOPS,95MB/s", "--measured", "8K 1R 1rand = 1 IOPS"),
    ],
)
def test_what_cannot_be_explained_is_refused(arguments: tuple[str, ...], tmp_path: Path) -> None:
    answer = shakedown("explain", *arguments, cwd=tmp_path)
    assert answer.returncode == 2
    assert answer.stderr.startswith("error: ")
    assert "Traceback" not in answer.stderr


def test_a_figure_that_cannot_be_is_inconclusive(tmp_path: Path) -> None:
    answer = shakedown("explain", *BOX, "--measured", "x: 32KiB 100R 0rand depth 64 = 100000 IOPS", cwd=tmp_path)
    assert answer.returncode == 3
    assert "This cannot be" in answer.stdout


@pytest.mark.parametrize(
    ("drive", "load", "is_told"),
    [
        ("model:wd40efax", "16KiB 0R 100rand depth 8 = 20 IOPS", True),
        ("model:wd40efax", "16KiB 100R 100rand depth 8 = 20 IOPS", False),
        ("model:wd40efrx", "16KiB 0R 100rand depth 8 = 20 IOPS", False),
    ],
)
def test_what_a_full_shingled_drive_does_is_not_forgotten(drive: str, load: str, is_told: bool, tmp_path: Path) -> None:
    box = ("--layout", "single", "--drive", drive, "--measured", load)
    answer = " ".join(shakedown("explain", *box, cwd=tmp_path).stdout.split())
    assert ("`model:wd40efax` is shingled, and its ceilings are those of one as delivered." in answer) == is_told


def test_a_name_of_a_modelled_drive_is_told_how_it_is_given(tmp_path: Path) -> None:
    box = ("--layout", "single", "--drive", "WD40EFAX", "--measured", "4KiB 100R 100rand = 60 IOPS")
    assert "did you mean the modelled drive, `model:WD40EFAX`?" in shakedown("explain", *box, cwd=tmp_path).stderr


def test_what_a_modelled_box_states_is_a_ceiling_without_being_typed_again(tmp_path: Path) -> None:
    box = ("--layout", "raid5", "--width", "4", "--drive", "model:st31000520as", "--json")
    for name in ("link=1.5Gb/s", "round-trip=20ms"):
        out = name.partition("=")[0]
        words = ("run", "iometer-max-read", f"model:raid5:4xst31000520as:{name}", "--set", "duration=5s")
        assert shakedown(*words, "--out", out, "--quiet", cwd=tmp_path).returncode in (0, 3)
        told = json.loads(shakedown("explain", out, *box, cwd=tmp_path).stdout)
        assert told["loads"][0]["limiter"] == out.replace("-", " ")
        wider = next(each for each in told["changes"] if each["label"] == "RAID5 of 6")
        assert wider["iops"][0] == pytest.approx(told["loads"][0]["iops"], rel=0.01)
        assert "another drive's ceilings" not in str(told)
        others = [word.replace("st31000520as", "st8000vn004") for word in box]
        told = json.loads(shakedown("explain", out, *others, cwd=tmp_path).stdout)
        assert "was measured on model:st31000520as, and is explained with model:st8000vn004" in str(told)
        assert told["changes"] == [], "of another drive's figure nothing is scaled"
    both = json.loads(shakedown("explain", "link", "round-trip", *box, cwd=tmp_path).stdout)
    assert {each["limiter"] for each in both["loads"]}.isdisjoint({"link", "round trip"})
