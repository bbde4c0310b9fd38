import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shakedown.tools.fio.locate import Fio

_PRELUDE = """\
import json, os, signal, sys, time

def document(n, error=0, eta=9):
    latency = {"N": n, "mean": 5.0, "max": 6, "bins": {"5": n}}
    move = {"io_bytes": 4096 * n, "lat_ns": latency}
    job = {"jobname": "a", "groupid": 0, "error": error, "eta": eta, "job_runtime": n * 10, "read": move}
    return json.dumps({"timestamp_ms": time.time_ns() // 1_000_000, "jobs": [job]}, indent=1) + chr(10)

def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()

"""


@pytest.fixture
def fake_fio(tmp_path: Path) -> Callable[[str], Fio]:
    """A fio that plays a scene written in Python, with ``document(n)`` and ``say(text)`` at hand."""

    def make(scene: str) -> Fio:
        program = tmp_path / "fake-fio"
        program.write_text(f"#!{sys.executable}\n{_PRELUDE}{scene}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return Fio(program, "3.33", frozenset())

    return make
