"""Ctrl-C at moments that a person hits by chance: each is brought about by the import of a module."""

from __future__ import annotations

import subprocess
import sys

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
    program = [*before, sys.executable, "-c", INTERRUPTED, module, "triage", "--help"]
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
