"""The command line as scripts see it: exit statuses, help and messages, what goes where, through the entry point."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from serving import anew, shakedown

needs_core = pytest.mark.skipif(find_spec("shakedown._core") is None, reason="the Rust core is not built")
pytestmark = needs_core

ENTRY = "from shakedown.cli import main; main()"
VERBS = (
    "run",
    "demo",
    "serve",
    "compare",
    "report",
    "characterize",
    "validate",
    "triage",
    "identify",
    "profiles",
    "export",
    "explain",
    "matrix",
    "rebuild",
)
SNAPSHOTS = Path(__file__).parent / "snapshots"


QUICK = """
format_version = 1
name = "quick"
title = "Quick"
question = "Is it quick?"
uses = ["mdraid"]
[[steps]]
name = "write"
job = "rw=randwrite\\nbs=1M\\nsize=100%\\nnorandommap\\ntime_based\\nruntime=20s"
[[findings]]
kind = "throughput"
step = "write"
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "quick.toml").write_text(QUICK)
    return tmp_path


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, `a`, and that of its baseline; only to be read."""
    folder = tmp_path_factory.mktemp("compared")
    (folder / "quick.toml").write_text(QUICK)
    drives = ("model:wd40efax", "--baseline", "model:wd40efrx", "--scale", "1/100")
    answer = shakedown("run", "./quick.toml", *drives, "--out", "a", "--quiet", cwd=folder)
    assert (folder / "a" / "baseline" / "run.json").exists(), answer.stderr
    return folder


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_shows_an_example_and_reads_as_it_should(verb: str, tmp_path: Path) -> None:
    answer = shakedown(*verb.split(), "--help", cwd=tmp_path)
    assert answer.returncode == 0
    assert answer.stderr == ""
    if verb:
        assert f"shakedown {verb}" in answer.stdout.partition("For example:")[2]
    snapshot = SNAPSHOTS / f"help-{verb or 'all'}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        snapshot.parent.mkdir(exist_ok=True)
        snapshot.write_text(answer.stdout)
    assert answer.stdout == snapshot.read_text()


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ("rnu", 'Unknown command "rnu". Did you mean "run"?', "`shakedown --help`"),
        ("run --sede 3", "Unknown option: --sede.", "`shakedown run --help`"),
        ("run", "a protocol and a target must be given", "shakedown run cliff model:wd40efax"),
        ("run cliff", "a target must be given", "shakedown run cliff"),
        ("run clif model:wd40efax", "there is no protocol named `clif`", "did you mean `cliff`"),
        ("run ./no.toml model:wd40efax", "`./no.toml` is not a file", "a path"),
        ("run cliff model:wd40efx", "there is no profile named `wd40efx`", "shakedown profiles new"),
        ("run cliff model:wd40efax --set hodl=3s", "has no parameter `hodl`", "did you mean `hold`?"),
        ("run cliff model:wd40efax --set hold=1s --set hold=2s", "`hold` is given twice", "leave one of them out"),
        ("run cliff model:wd40efax --set hold", "`hold` is not NAME=VALUE", "--set hold=30s"),
        ("run cliff model:wd40efax --set hold=never", "`steps[2].until.duration` is 'never'", "writing-your-own"),
        ("run cliff model:wd40efax --set limit=2weeks", "(from `--set limit=2weeks`)", "docs/fio-options.md"),
        ("run cliff model:wd40efax --scale 100", "`--scale 100` is not a scale", "`1/100`"),
        ("run cliff model:wd40efax --size much", "--size: `much` is not a size", "10GiB"),
        ("run cliff model:wd40efax --set span=200%", "size=200%: it must be 1% to 100%", "docs/fio-options.md"),
        (
            "run cliff model:wd40efax --scale 1/100000",
            "a scale of 1/100000 makes wd40efax too small",
            "the smallest it can be: 1/",
        ),
        ("run cliff model:./quick.toml --scale 1/9", "quick.toml: ", "docs/profiles.md"),
        ("run cliff wd40efax", "there is no file `wd40efax`", "`model:wd40efax`"),
        ("run cliff a:b", "`a:b` is not a target", "`./a:b`"),
        ("run random-1m new.img --size 50KiB", "does not fit into the 48.0 KiB", "a larger `--size`"),
        ("run cliff new.img --size 10B", "a file of 10 B is too small", "`--size 4KiB`"),
        ("run cliff model:wd40efax --destroy-data-on WD-WX00", "there is nothing to destroy", "leave `--destroy"),
        ("run cliff model:wd40efax --use zfs", "says nothing on the use `zfs`", "desktop"),
        ("run cliff model:wd40efax --use nas", 'Invalid value "nas" for --use', "`shakedown run --help`"),
        ("run --hlep", "Unknown option: --hlep. Did you mean --help?", "`shakedown run --help`"),
        (
            "rebuild raid5 --lost=1",
            "Unknown option: --lost=1. Did you mean --replace PLACE?",
            "`shakedown rebuild --help`",
        ),
        (
            "rebuild raidz1 --second-failure 1@2h",
            "Unknown option: --second-failure. It is set: --set second-failure=VALUE",
            "`shakedown rebuild --help`",
        ),
        (
            "matrix --recordsize=1MiB",
            "Unknown option: --recordsize=1MiB. It is set: --set recordsize=VALUE",
            "`shakedown matrix --help`",
        ),
        ("--hlep", "Unknown option: --hlep. Did you mean --help?", "`shakedown --help`"),
        (
            "run cliff model:wd40efax --sede=3",
            "Unknown option: --sede=3. Did you mean --seed?",
            "`shakedown run --help`",
        ),
        ("demo one two", "`one`, `two` are more than it takes", "`shakedown demo --help`"),
        ("run cliff model:wd40efax --seed", "--seed needs a value", "`shakedown run --help`"),
        ("rebuild raid5 model:wd40efrx --width 3 --fill -5%", "is written --fill=-5%", "`shakedown rebuild --help`"),
        ("rebuild raid5 model:wd40efrx --width 4 --member-size 3500", "--member-size: `3500` has no", "`3500GiB`?"),
        ("matrix model:wd40efrx --member-size 900", "--member-size: `900` has no unit", "`900GiB`?"),
        ("run cliff new.img --size 64", "--size: `64` has no unit", "`64GiB`?"),
        ("rebuild raid5 model:wd40efrx --width 4 --set chunk=64", "`chunk=64`: `64` has no unit", "`64KiB`?"),
        ("rebuild raid5 model:wd40efrx --width 3 --member-size -- -3", "is written --member-size=-3", "rebuild --help"),
        ("rebuild radiz2 model:wd40efrx --width 4", "`radiz2` is no layout", "did you mean `raidz2`?"),
        ("matrix model:wd40efrx --layouts radi6", "`radi6` is no layout", "did you mean `raid6`?"),
        ("rebuild raid5 model:wd40efrx --width 3 --replace-with wd40efax", "no file `wd40efax`", "`model:wd40efax`"),
        ("rebuild raid5 model:wd40efrx --width 4 --set second-failure=3@2h", "is of pools of ZFS", "--faults PLACE="),
        ("explain --layout raid5 --width 100000000 --drive 50IOPS,95MB/s", "takes 1920 at the most", "--width"),
        ("explain --layout raidz1 --width 256 --drive 50IOPS,95MB/s", "takes 255 at the most", "--width"),
        ("serve model:wd40efax", "--nbd must be given", "`shakedown serve --help`"),
        (f"serve model:wd40efax --nbd {'a' * 108}", "has 108 bytes: the kernel takes 107 at most", "a shorter one"),
        ("rebuild raid5 model:wd40efrx --width 4 --fill 75", "--fill: `75` is not a share", "did you mean `75%`?"),
        ("rebuild raid5 model:wd40efrx --width 4 --fill 120", "an array cannot be 120% full", "from nothing, 0%"),
        ("rebuild raid5 model:wd40efrx --width 4 --fill 120%", "an array cannot be 120% full", "from nothing, 0%"),
        ("matrix model:wd40efrx --fills 25%,120", "an array cannot be 120% full", "from nothing, 0%"),
        ("explain nowhere", "there is no folder `nowhere`", "shakedown run"),
        ("explain --layout raid5 --width 4 --drive 50IOPS,95MB/s --link 10GbE", "speed of a link", "`10Gb/s`?"),
        ("report nowhere -o elsewhere/x.html", "there is no folder `elsewhere`", "make it first"),
        ("rebuild raid1 model:wd40efrx --width 2 --csv no/x.csv", "there is no folder `no` for `no/x.csv`", "make it"),
        ("characterize model:wd40efax -o no/x.toml", "there is no folder `no` for `no/x.toml`", "make it first"),
        ("serve model:wd40efax --nbd no/drive.sock", "there is no folder `no` for `no/drive.sock`", "make it first"),
        ("serve model:wd40efax --nbd x --store no/data", "there is no folder `no` for `no/data`", "make it first"),
        ("validate --row r012", "there is no row `r012`", "did you mean `R012`?"),
        ("run --resume nowhere", "there is no folder `nowhere`", "shakedown run"),
        ("run cliff --resume nowhere", "`--resume` goes on with a run as it was ordered", "--resume nowhere"),
        ("run --resume nowhere --seed 5", "none of --baseline, --out, --set, --seed", "--resume nowhere"),
        ("run --resume nowhere --size 1GiB", "`--resume` goes on with a run as it was ordered", "--resume nowhere"),
        ("rebuild raid1 --resume nowhere", "`--resume` goes on with a rebuild as it was ordered", "leave the layout"),
        (
            "rebuild --resume nowhere --seeds 7 --set hz=100",
            "goes on with a rebuild",
            "leave `--seeds` and `--set` out",
        ),
        ("lab run --bring-out /lab --out quick.toml -- true", "`quick.toml` cannot be a folder", "another folder"),
        ("lab run --drvie model:wd40efax -- lsblk", "there is no option `--drvie`", "stands behind `--`"),
        ("matrix", "the drives must be given", "shakedown matrix model:"),
        ("report nowhere", "there is no folder `nowhere`", "shakedown run"),
        ("compare nowhere elsewhere", "there is no folder `nowhere`", "shakedown run"),
        ("demo --out .", "`.` is not empty and was not made by a demo", "--out"),
    ],
)
def test_a_usage_error_is_told_with_a_hint(arguments: str, message: str, hint: str, here: Path) -> None:
    answer = shakedown(*arguments.split(), cwd=here)
    assert answer.returncode == 2
    assert answer.stdout == ""
    said, hinted = answer.stderr.strip().split("\nhint: ")
    assert said.startswith("error: ")
    assert message in said
    assert hint in hinted
    assert [path.name for path in here.iterdir()] == ["quick.toml"]


def test_nothing_asked_shows_the_help_as_a_usage_error(tmp_path: Path) -> None:
    answer = shakedown(cwd=tmp_path)
    assert (answer.returncode, answer.stdout) == (2, (SNAPSHOTS / "help-all.txt").read_text())
    answer, asked = shakedown("lab", cwd=tmp_path), shakedown("lab", "--help", cwd=tmp_path)
    assert (answer.returncode, asked.returncode, answer.stdout) == (2, 0, asked.stdout)


@pytest.mark.parametrize(
    "command", [[str(Path(sys.executable).with_name("shakedown"))], [sys.executable, "-m", "shakedown"]]
)
def test_the_version_that_the_installed_command_tells_is_one_line(command: list[str | Path], tmp_path: Path) -> None:
    command = [*command, "--version"]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert answer.returncode == 0
    assert answer.stdout.startswith("shakedown ")
    assert len(answer.stdout.splitlines()) == 1


def test_the_largest_scale_that_is_named_works_and_the_next_does_not(here: Path) -> None:
    refused = shakedown("run", "./quick.toml", "model:wd40efax", "--scale", "1/100000", cwd=here)
    divisor = int(refused.stderr.rpartition("1/")[2].rstrip("`\n"))
    statuses = [
        shakedown("run", "./quick.toml", "model:wd40efax", "--scale", f"1/{each}", cwd=here).returncode
        for each in (divisor, divisor + 1)
    ]
    assert statuses == [3, 2]


def test_a_protocol_that_asks_for_no_verdict_is_content_to_have_run(here: Path) -> None:
    (here / "quick.toml").write_text(QUICK.replace('["mdraid"]', "[]"))
    answer = shakedown("run", "./quick.toml", "model:wd40efax", "--out", "run", cwd=here)
    assert answer.returncode == 0, answer.stderr
    assert "there is nothing to judge" in answer.stdout
    assert json.loads((here / "run" / "run.json").read_text())["verdict"] is None


def test_an_array_is_not_judged_as_a_drive(here: Path) -> None:
    (here / "quick.toml").write_text(QUICK)
    answer = shakedown("run", "./quick.toml", "model:raid5:3xwd40efrx", cwd=here)
    assert answer.returncode == 0, answer.stderr
    assert "the rules of these uses are of single drives" in answer.stdout
    assert "An array was tested, and no drive." in answer.stdout
    for options in (
        ["model:raid5:3xwd40efrx", "--use", "mdraid"],
        ["model:wd40efrx", "--baseline", "model:raid0:3xwd40efrx"],
    ):
        refused = shakedown("run", "./quick.toml", *options, cwd=here)
        assert refused.returncode == 2
        assert "is an array" in refused.stderr


def test_a_baseline_of_none_is_no_file(here: Path) -> None:
    """As in `rebuild`; a file of that name is written with its folder."""
    (here / "quick.toml").write_text(QUICK)
    order = ("run", "./quick.toml", "model:wd40efax", "--json", "--out")
    answer = shakedown(*order, "alone", "--baseline", "none", cwd=here)
    assert answer.returncode == 3, answer.stderr
    assert json.loads(answer.stdout)["baseline"] is None
    assert not (here / "none").exists()
    (here / "none").write_text("precious data\n")
    refused = shakedown(*order, "beside", "--baseline", "./none", cwd=here)
    assert refused.returncode == 4
    assert "none holds data that is not Shakedown's" in refused.stderr


def test_a_little_of_the_users_data_is_refused_like_much(here: Path) -> None:
    (here / "precious.txt").write_text("precious data\n")
    answer = shakedown("run", "./quick.toml", "precious.txt", cwd=here)
    assert answer.returncode == 4
    assert "holds data that is not Shakedown's" in answer.stderr
    assert (here / "precious.txt").read_text() == "precious data\n"


def test_what_cannot_listen_is_not_announced(here: Path) -> None:
    answer = shakedown("serve", "model:wd40efax", "--scale", "1/10000", "--nbd", "quick.toml", cwd=here)
    assert answer.returncode == 4
    assert answer.stderr.startswith("error: quick.toml exists and is not a socket")


def test_a_report_tells_once_more_what_the_run_came_to(here: Path) -> None:
    """On the screen, too, as when it was done; the page's path is the last line."""
    run = shakedown("run", "./quick.toml", "model:wd40efax", "--scale", "1/100", "--out", "a", cwd=here)
    answer = shakedown("report", "a", "-o", "page.html", cwd=here)
    assert answer.stdout == f"{run.stdout}\npage.html\n"


def test_a_report_replaces_nothing_but_a_report(compared: Path, here: Path) -> None:
    for _ in range(2):
        assert shakedown("report", compared / "a", "-o", "page.html", cwd=here).returncode == 0
    (here / "link").symlink_to("quick.toml")
    (here / "folder").mkdir()
    for name in ("quick.toml", "link", "folder", "/dev/null"):
        answer = shakedown("report", compared / "a", "-o", name, cwd=here)
        assert answer.returncode == 2
        assert "is not a report of Shakedown" in answer.stderr
    assert (here / "quick.toml").read_text() == QUICK


@pytest.mark.parametrize("name", ["a\x1b[31mb", "a\nb", "a\udcffb"])
@pytest.mark.parametrize("place", ["target", "--out"])
def test_an_unprintable_name_is_refused_before_anything_is_made(name: str, place: str, here: Path) -> None:
    arguments = [name, "--size", "1MiB"] if place == "target" else ["model:wd40efax", "--out", name]
    answer = shakedown("run", "./quick.toml", *arguments, cwd=here)
    assert answer.returncode == 2
    assert answer.stderr.startswith(f"error: {name!a} holds unprintable characters\n")
    assert [path.name for path in here.iterdir()] == ["quick.toml"]


def test_names_from_outside_do_not_reach_the_terminal_raw(here: Path) -> None:
    (here / "quick.toml").write_text(QUICK.replace('"Quick"', '"Quick\\u009b31m"'))
    answer = shakedown("run", "./quick.toml", "model:wd40efax", cwd=here)
    assert answer.returncode == 3
    assert answer.stderr.startswith("quick on wd40efax: Quick\\x9b31m\n")
    assert "\x9b" not in answer.stdout + answer.stderr


def test_a_block_device_is_refused_for_safety(here: Path) -> None:
    devices = [path for path in Path("/dev").iterdir() if path.is_block_device()]
    if not devices:
        pytest.skip("there is no block device here")
    answer = shakedown("run", "./quick.toml", str(devices[0]), "--quiet", cwd=here)
    assert answer.returncode == 4


def test_without_a_baseline_nothing_can_be_judged(here: Path) -> None:
    answer = shakedown("run", "./quick.toml", "model:wd40efax", "--json", cwd=here)
    assert answer.returncode == 3, answer.stderr
    document = json.loads(answer.stdout)
    assert (document["format_version"], document["command"], document["exit_status"]) == (1, "run", 3)
    assert document["folder"] == "runs/quick-wd40efax"
    assert document["run"]["findings"][0]["value"] > 0
    assert (here / "runs" / "quick-wd40efax" / "samples.parquet").exists()


def test_progress_is_plain_lines_on_standard_error(here: Path) -> None:
    answer = shakedown("run", "./quick.toml", "model:wd40efax", cwd=here)
    assert answer.stderr.splitlines()[:2] == ["quick on wd40efax: Quick", "wd40efax write: done after 20 s"]
    assert "\x1b" not in answer.stderr + answer.stdout
    assert "done after" not in answer.stdout


def test_quiet_leaves_only_where_the_run_is(here: Path) -> None:
    answer = shakedown("run", "./quick.toml", "model:wd40efax", "--quiet", cwd=here)
    assert answer.stderr == "run: runs/quick-wd40efax\n"


def test_a_second_run_gets_a_folder_of_its_own(here: Path) -> None:
    for _ in range(2):
        shakedown("run", "./quick.toml", "model:wd40efax", "--quiet", cwd=here)
    assert sorted(path.name for path in (here / "runs").iterdir()) == ["quick-wd40efax", "quick-wd40efax-2"]


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others(here: Path) -> None:
    for name, seed in (("a", "5"), ("b", "5"), ("c", "6")):
        anew("run", "./quick.toml", "model:wd40efax", "--seed", seed, "--out", name, "--quiet", cwd=here)
    for name in ("run.json", "samples.parquet"):
        assert (here / "a" / name).read_bytes() == (here / "b" / name).read_bytes()
    assert (here / "a" / "samples.parquet").read_bytes() != (here / "c" / "samples.parquet").read_bytes()


def test_a_record_names_no_place(here: Path) -> None:
    shakedown("run", "./quick.toml", "model:wd40efax", "--out", "a", "--quiet", cwd=here)
    record = (here / "a" / "run.json").read_text()
    assert str(here) not in record
    assert os.uname().nodename not in json.dumps(json.loads(record)["environment"])


def test_reports_and_comparisons_come_from_folders_alone(compared: Path, here: Path) -> None:
    shutil.copytree(compared / "a", here / "a")
    page = shakedown("report", "a", "-o", "page.html", "--json", cwd=here)
    assert json.loads(page.stdout) == {"format_version": 1, "command": "report", "report": "page.html", "runs": ["a"]}
    assert (here / "page.html").read_text().startswith("<!")
    table = shakedown("compare", "a", "a/baseline", "--json", cwd=here)
    assert json.loads(table.stdout)["format_version"] == 1


def test_a_reader_that_has_enough_is_no_error(here: Path) -> None:
    command = f'"{sys.executable}" -c "{ENTRY}" run --help | head -n 1; echo "${{PIPESTATUS[0]}}"'
    answer = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=here, check=True)
    assert answer.stdout.splitlines()[-1] == "0"
    assert answer.stderr == ""


@pytest.mark.parametrize("options", ["", "--json"])
def test_a_reader_that_has_enough_leaves_the_status_as_it_is(options: str, here: Path) -> None:
    measured = [f' --measured "{name}: 1MiB 100R 0rand depth 1 = 9000 IOPS"' for name in range(20)]
    # Twenty are more than is kept back until the end.
    for many in (measured[0], "".join(measured)):
        verb = f"explain --layout single --drive 50IOPS,95MB/s --link 1Gb/s {many} {options}"
        command = f'"{sys.executable}" -c "{ENTRY}" {verb} | true; echo "${{PIPESTATUS[0]}}"'
        answer = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=here, check=True)
        assert (answer.stdout, answer.stderr) == ("3\n", "")


def test_a_document_that_nobody_can_get_is_refused_at_once(here: Path) -> None:
    command = f'"{sys.executable}" -c "{ENTRY}" run ./quick.toml model:wd40efax --out a --json >&-'
    answer = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=here, check=False)
    assert answer.returncode == 5
    said, hint = answer.stderr.splitlines()
    assert said.startswith("error: standard output is closed")
    assert hint.startswith("hint: ")
    assert not (here / "a").exists()


def test_a_bug_of_ours_is_told_as_one(here: Path) -> None:
    entry = "import shakedown.protocol.load as load; load.read_named_file = None; " + ENTRY
    command = [sys.executable, "-c", entry, "run", "./quick.toml", "model:wd40efax"]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=here, check=False)
    assert answer.returncode == 70
    assert answer.stderr.startswith("error: a bug in Shakedown: TypeError")
    assert "Traceback" not in answer.stderr
    assert "with what SHAKEDOWN_TRACEBACK=1 prints" in answer.stderr
    environment = os.environ | {"SHAKEDOWN_TRACEBACK": "1"}
    answer = subprocess.run(command, capture_output=True, text=True, cwd=here, check=False, env=environment)
    assert answer.returncode == 70
    assert answer.stderr.startswith("Traceback")
    assert "\nerror: a bug in Shakedown: TypeError" in answer.stderr


def test_a_panic_of_the_core_is_a_bug_of_ours(here: Path) -> None:
    panics = "class PanicException(BaseException): pass\ndef panic(*_): raise PanicException('divided by zero')\n"
    entry = f"{panics}import shakedown.array.run as run; run.simulate = panic; {ENTRY}"
    arguments = [
        "rebuild",
        "raid5",
        "model:wd40efrx",
        "--width",
        "3",
        "--scale",
        "1/1000",
        "--seeds",
        "1",
        "--out",
        "run",
    ]
    command = [sys.executable, "-c", entry, *arguments]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=here, check=False)
    assert answer.returncode == 70
    assert answer.stderr.startswith("error: a bug in Shakedown: PanicException: divided by zero\nhint: ")
    assert not (here / "run").exists()


@pytest.mark.parametrize(
    "arguments",
    ["run --help", "--version", "compare a a/baseline", "compare a a/baseline --json", "report nowhere --json"],
)
def test_output_that_cannot_be_written_is_the_environments_failure(arguments: str, compared: Path) -> None:
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(
            [sys.executable, "-c", ENTRY, *arguments.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=compared,
            check=False,
        )
    assert answer.returncode == (2 if "nowhere" in arguments else 5)
    said, hint = answer.stderr.splitlines()
    assert said.startswith("error: ")
    assert hint.startswith("hint: ")


def test_what_stands_behind_two_hyphens_asks_for_no_document_of_ours(here: Path) -> None:
    for before, document in (("", False), (" --json", True)):
        arguments = f"lab run --bring-out /lab --out quick.toml{before} -- smartctl --json /dev/sda"
        answer = shakedown(*arguments.split(), cwd=here)
        assert answer.returncode == 2
        assert bool(answer.stdout) == document


def test_a_failure_is_told_to_a_closed_pipe_in_silence(here: Path) -> None:
    command = f'"{sys.executable}" -c "{ENTRY}" report nowhere --json | true; echo "${{PIPESTATUS[0]}}"'
    answer = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=here, check=True)
    assert answer.stdout == "2\n"
    assert answer.stderr.splitlines()[0].startswith("error: there is no folder")
    assert len(answer.stderr.splitlines()) == 2
