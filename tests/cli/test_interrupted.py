"""Ctrl-C and SIGTERM at moments that a person hits by chance, and in the midst of every verb that takes long."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.test_contract import needs_core
from shakedown.cli.runs import runs_of
from shakedown.errors import UsageError

pytestmark = needs_core

INTERRUPTED = """
import os, sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == sys.argv[2]:
            os.kill(os.getpid(), int(sys.argv[1]))
sys.meta_path.insert(0, Interrupt())
from shakedown.cli import main
main(sys.argv[3:])
"""


def interrupted(module: str, number: signal.Signals, *before: str) -> subprocess.CompletedProcess[str]:
    # Who starts the tests in a shell's background ignores Ctrl-C, and so would they.
    heard = ["env", "--default-signal=INT", *before]
    program = [*heard, sys.executable, "-c", INTERRUPTED, str(int(number)), module, "triage", "--help"]
    return subprocess.run(program, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("module", ["shakedown.cli.command_line", "cyclopts", "rich.console", "shakedown.cli.triage"])
def test_an_end_while_it_starts_leaves_with_130_and_no_traceback(module: str, number: signal.Signals) -> None:
    ended = interrupted(module, number)
    assert ended.returncode == 130
    assert ended.stderr in ("", "error: interrupted\n")
    assert ended.stdout == ""


@pytest.mark.parametrize("module", ["cyclopts", "shakedown.cli.triage"])
def test_ctrl_c_that_is_ignored_stays_so(module: str) -> None:
    ended = interrupted(module, signal.SIGINT, "bash", "-c", "trap '' INT; exec \"$@\"", "bash")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("Usage: shakedown triage")


IN_A_GUEST = """
import sys, time
import shakedown.lab.run
def forever(*_):
    print("begun", flush=True)
    time.sleep(60)
shakedown.lab.run.run = forever
from shakedown.cli import main
main(sys.argv[1:])
"""


def ended(program: list[str], folder: Path, number: signal.Signals) -> tuple[int, str]:
    """Status and last words of what is sent a signal once it has begun."""
    with subprocess.Popen(program, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as front:
        assert front.stdout is not None
        assert front.stdout.readline() == "begun\n"
        front.send_signal(number)
        _, said = front.communicate(timeout=120)
    return front.returncode, said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize(
    "words",
    [["run", "random-1m", "lab:wd40efax"], ["rebuild", "raid1", "lab:wd40efrx", "--width", "2", "--fill", "1%"]],
)
def test_what_is_stopped_in_the_lab_says_how_to_go_on(tmp_path: Path, words: list[str], number: signal.Signals) -> None:
    program = [sys.executable, "-c", IN_A_GUEST, *words, "--scale", "1/1000", "--out", "stopped"]
    status, said = ended(program, tmp_path, number)
    assert status == 130
    assert f"`shakedown {words[0]} --resume stopped`" in said
    order = {"run": "lab-order.json", "rebuild": "lab-rebuild.json"}[words[0]]
    assert [path.name for path in (tmp_path / "stopped").iterdir()] == [order]
    with pytest.raises(UsageError, match=r"stopped` holds no run yet") as told:
        runs_of([tmp_path / "stopped"])
    assert told.value.hint == f"go on with it: `shakedown {words[0]} --resume {tmp_path / 'stopped'}`"


BUILDS = """
import importlib, time
from shakedown.cli import main

def begun(*_, **__):
    print("begun", flush=True)
    time.sleep(60)

importlib.import_module("shakedown.cli.lab.build").build_lab = begun
main()
"""


def test_a_build_of_the_lab_that_is_ended_says_how_to_go_on(tmp_path: Path) -> None:
    program = [sys.executable, "-c", BUILDS, "lab", "build"]
    assert ended(program, tmp_path, signal.SIGTERM) == (
        130,
        "error: interrupted\nhint: the same command goes on where this ended\n",
    )


IN_THE_MIDST = """
import importlib, sys, time
from shakedown.cli import main

def begun(*_, **__):
    print("begun", file=sys.stderr, flush=True)
    time.sleep(60)

where, name = sys.argv[1].rsplit(".", 1)
setattr(importlib.import_module(where), name, begun)
main(sys.argv[2:])
"""


E = ("--layout", "single", "--drive", "50IOPS,95MB/s", "--measured", "8KiB 65R 60rand = 89 IOPS")


@pytest.mark.parametrize(
    ("works", "words"),
    [
        ("shakedown.cli.validate.validate_rows", ["validate"]),
        ("shakedown.cli.demo._run_all", ["demo"]),
        ("shakedown.cli.characterize.measure", ["characterize", "model:wd40efax"]),
        ("shakedown.cli.triage.diagnose", ["triage", "/dev/null"]),
        ("shakedown.cli.explain.prove", ["explain", *E]),
        ("shakedown.cli.report.runs_of", ["report", "."]),
    ],
)
def test_sigterm_is_ctrl_c_whatever_the_verb(tmp_path: Path, works: str, words: list[str]) -> None:
    """Status 130 and one document, as of any other end."""
    program = [sys.executable, "-c", IN_THE_MIDST, works, *words, "--json"]
    with subprocess.Popen(program, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "begun\n"
        process.terminate()
        told, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert said.startswith("error: interrupted\n")
    document = json.loads(told)
    assert (document["command"], document["exit_status"]) == (words[0], 130)
    if words[0] in ("validate", "demo"):
        assert "the same command begins anew" in document["error"]["hint"]


INTERRUPTED_TWICE = """
import os, signal
from shakedown.cli import command_line, main

def interrupted(*_, **__):
    os.kill(os.getpid(), signal.SIGINT)

command_line._dispatch = command_line._tell = interrupted
main(["validate"])
"""


def test_a_second_ctrl_c_while_the_first_is_told_ends_without_a_traceback() -> None:
    program = ["env", "--default-signal=INT", sys.executable, "-c", INTERRUPTED_TWICE]
    ended = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "")


def test_sigterm_leaves_no_process_and_no_semaphore_behind(tmp_path: Path) -> None:
    """The demo works in processes of its own, which hold its standard error open until they end."""
    program = [sys.executable, "-c", "from shakedown.cli import main; main()", "demo", "--json"]
    with subprocess.Popen(program, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline()
        process.terminate()
        told, said = process.communicate(timeout=60)
    assert (process.returncode, json.loads(told)["exit_status"]) == (130, 130)
    assert "leaked" not in said


MEASURES = BUILDS.replace('"shakedown.cli.lab.build").build_lab', '"shakedown.characterize.run").find')


def test_a_characterisation_that_is_stopped_says_how_to_go_on(tmp_path: Path) -> None:
    words = ["characterize", "model:wd40efax", "--scale", "1/1000", "--out", "stopped", "-o", "my twin.toml", "--quiet"]
    status, said = ended([sys.executable, "-c", MEASURES, *words], tmp_path, signal.SIGTERM)
    assert status == 130
    assert said == (
        "error: interrupted; what was measured is in stopped\n"
        "hint: go on with `shakedown characterize --resume stopped -o 'my twin.toml'`\n"
    )
    assert (tmp_path / "stopped" / "characterize.json").is_file()
