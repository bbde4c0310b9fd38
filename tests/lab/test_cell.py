"""The cell: what is behind the fence, what it sees, and that it dies with whoever started it."""

from __future__ import annotations

import errno
import os
import random
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from shakedown.errors import EnvironmentFailure
from shakedown.lab.fence import Fence
from shakedown.lab.folder import PRINTED, run_folder

SYSTEM = {name: Path(name) for name in ("/usr", "/bin", "/lib", "/lib64", "/dev/null") if Path(name).exists()}


def fenced(folder: Path, script: str) -> Fence:
    folder.chmod(0o711)
    (folder / "share").chmod(0o777)
    return Fence(
        folder,
        program=["/bin/sh", "-c", script],
        binds=SYSTEM | {"/share": folder / "share"},
        writable=("/dev/null", "/share"),
        start_in="/share",
        memory_bytes=64 << 20,
        printed=[folder / name for name in PRINTED],
    )


def status_of(fence: Fence) -> int:
    status = os.waitid(os.P_PID, fence.pid, os.WEXITED | os.WNOWAIT)
    assert status is not None
    return status.si_status


def ran(script: str) -> tuple[int, str]:
    with run_folder() as folder:
        with fenced(folder, script) as fence:
            status = status_of(fence)
        try:
            fence.raise_trouble()
        except EnvironmentFailure as error:
            pytest.skip(f"no cell on this machine: {error}")
        return status, (folder / "console").read_text()


def test_status_and_output_come_back() -> None:
    assert ran("echo out; echo err >&2; exit 7") == (7, "out\nerr\n")


def test_a_killed_program_gives_128_and_the_signal() -> None:
    assert ran("kill -9 $$")[0] == 128 + 9


def test_nothing_but_what_was_given_is_seen() -> None:
    _, text = ran("echo /*; ls /share")
    assert set(text.split()) <= {"/bin", "/dev", "/lib", "/lib64", "/share", "/tmp", "/usr"}


def test_what_was_given_cannot_be_changed_and_nobody_is_root() -> None:
    assert ran("touch /usr/shakedown-was-here")[0] == 1
    assert ran("test $(id -u) != 0")[0] == 0


def test_there_is_no_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        script = f"exec bash -c '</dev/tcp/127.0.0.1/{server.getsockname()[1]}'"
        assert subprocess.run(["sh", "-c", script], check=False).returncode == 0
        assert ran(script)[0] != 0


def test_leaving_kills_all_of_it() -> None:
    token = new_token()
    with run_folder() as folder, fenced(folder, f"setsid sleep {token} & sleep {token}"):
        assert sleeping_after_s(token) < 10
    assert not processes_with(token)


FRONT = """
import sys
sys.path[:0] = {path!r}
from lab.test_cell import fenced
from shakedown.lab.folder import run_folder
with run_folder() as folder:
    print(flush=True)
    with fenced(folder, sys.stdin.readline()):
        sys.stdin.read()
"""


def test_kill_9_of_the_front_at_any_moment_leaves_nothing() -> None:
    with run_folder() as folder, fenced(folder, f"setsid sleep {(token := new_token())}"):
        start_s = sleeping_after_s(token)
    chance = random.Random(4)
    tokens = [token]
    for _ in range(25):
        tokens.append(new_token())
        program = [sys.executable, "-c", FRONT.format(path=sys.path)]
        with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as front:
            assert front.stdin is not None and front.stdout is not None
            front.stdout.readline()
            front.stdin.write(f"setsid sleep {tokens[-1]} & sleep {tokens[-1]}\n")
            front.stdin.flush()
            time.sleep(chance.uniform(0, 2 * start_s))
            front.kill()
    until = time.monotonic() + 5
    while (left := [pid for token in tokens for pid in processes_with(token)]) and time.monotonic() < until:
        time.sleep(0.02)
    assert not left


def new_token() -> str:
    """A time to sleep that nobody else sleeps: it stands on the command line of all that belongs to one cell."""
    return f"1000.{uuid.uuid4().int % 10**15:015}"


def sleeping_after_s(token: str) -> float:
    """Wait for a cell to have started its ``sleep``; how long that took."""
    began_s = time.monotonic()
    while not any(Path(f"/proc/{pid}/comm").read_text() == "sleep\n" for pid in processes_with(token)):
        assert time.monotonic() < began_s + 20
        time.sleep(0.01)
    return time.monotonic() - began_s


def processes_with(token: str) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if token.encode() in (process / "cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def test_a_program_that_cannot_be_started_keeps_no_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    claimed = []

    def some_cpu() -> tuple[int, socket.socket]:
        claimed.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        return 0, claimed[0]

    def fails(*_: object, **__: object) -> None:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr("shakedown.lab.fence._some_cpu", some_cpu)
    with run_folder() as folder, monkeypatch.context() as full, pytest.raises(OSError, match="Resource temporarily"):
        full.setattr(subprocess, "Popen", fails)
        fenced(folder, "exit 0")
    assert claimed[0].fileno() == -1
