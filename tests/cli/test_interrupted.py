"""Ctrl-C at moments that a person hits by chance: each is brought about by the import of a module."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.test_contract import needs_core

pytestmark = needs_core

INTERRUPTED = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from shakedown.cli import main
main(sys.argv[2:])
"""


def interrupted(module: str, *before: str) -> subprocess.CompletedProcess[str]:
    # Who starts the tests in a shell's background ignores Ctrl-C, and so would they.
    program = ["env", "--default-signal=INT", *before, sys.executable, "-c", INTERRUPTED, module, "triage", "--help"]
    return subprocess.run(program, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", ["shakedown.cli.command_line", "cyclopts", "rich.console", "shakedown.cli.triage"])
def test_ctrl_c_while_it_starts_leaves_with_130_and_no_traceback(module: str) -> None:
    ended = interrupted(module)
    assert ended.returncode == 130
    assert ended.stderr in ("", "error: interrupted\n")
    assert ended.stdout == ""


def test_ctrl_c_that_is_ignored_stays_so() -> None:
    ended = interrupted("cyclopts", "bash", "-c", "trap '' INT; exec \"$@\"", "bash")
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
    "words", [["run", "random-1m", "lab:wd40efax"], ["rebuild", "raid1", "lab:wd40efrx", "--width", "2"]]
)
def test_what_is_stopped_in_the_lab_says_how_to_go_on(tmp_path: Path, words: list[str], number: signal.Signals) -> None:
    program = [sys.executable, "-c", IN_A_GUEST, *words, "--scale", "1/1000", "--out", "stopped"]
    status, said = ended(program, tmp_path, number)
    assert status == 130
    assert f"`shakedown {words[0]} --resume stopped`" in said
    assert [path.name for path in (tmp_path / "stopped").iterdir()] == ["lab-order.json"]


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
