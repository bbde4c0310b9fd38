"""The command line as a child process, and a modelled drive served by it, for tests that need the real thing."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

PREPARED = Path(__file__).with_name("prepared.py")
COMMAND = [sys.executable, "-c", "from shakedown.cli import main; main()"]
# Of an answer, which is a number.
MOST_BYTES = 64


def environment(**more: str) -> dict[str, str]:
    """Surroundings in which what is printed does not depend on the terminal."""
    return os.environ | {"COLUMNS": "100", "NO_COLOR": "1"} | more


@cache
def prepared() -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Who starts commands that need not wait for the libraries that all of them import, and the way to it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        number = theirs.fileno()
        # As text, since a child that is spawned imports the file of its parent's main module.
        starter = subprocess.Popen([sys.executable, "-c", PREPARED.read_text(), str(number)], pass_fds=(number,))
    return starter, ours


def shakedown(
    *arguments: str | Path, cwd: Path, timeout_s: float = 120, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    words, (_, server) = [*map(str, arguments)], prepared()
    order = json.dumps({"arguments": words, "cwd": str(cwd), "environment": environment(**more)})
    with Path(os.devnull).open() as null, TemporaryFile("w+") as output, TemporaryFile("w+") as errors:
        server.settimeout(timeout_s)
        socket.send_fds(server, [order.encode()], [each.fileno() for each in (null, output, errors)])
        process = int(server.recv(MOST_BYTES))
        try:
            status = int(server.recv(MOST_BYTES))
        except TimeoutError as error:
            os.kill(process, signal.SIGKILL)
            server.recv(MOST_BYTES)
            raise subprocess.TimeoutExpired(words, timeout_s) from error
        for stream in (output, errors):
            stream.seek(0)
        return subprocess.CompletedProcess(words, status, output.read(), errors.read())


def anew(*arguments: str | Path, cwd: Path, timeout_s: float = 120, **more: str) -> subprocess.CompletedProcess[str]:
    """The same in a Python of its own, where sets, for one, have an order of their own."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment(**more),
        timeout=timeout_s,
        check=False,
    )


def begin(*arguments: str | Path, cwd: Path, **more: str) -> subprocess.Popen[str]:
    """Start a command in a process group of its own, for tests that do something to it."""
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=environment(**more),
        start_new_session=True,
    )


def wait_until(happened: Any, what: str, timeout_s: float = 30) -> None:
    """Wait for ``happened()`` to be true; fail with ``what`` if it never is."""
    deadline = time.monotonic() + timeout_s
    while not happened():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)


def children(pid: int) -> dict[int, str]:
    """The name of each living child of a process, by process id.

    Threads and children may end at any moment, also between two reads of theirs, and are then left out.
    """
    found: dict[int, str] = {}
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):
                for child in map(int, (task / "children").read_text().split()):
                    found |= living(child)
    return found


def living(pid: int) -> dict[int, str]:
    """A process's name by its id; nothing for one that has ended, also if nobody has waited for it yet."""
    with suppress(FileNotFoundError, ProcessLookupError):
        before, _, after = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")
        return {} if after[0] in "ZX" else {pid: before.partition("(")[2]}
    return {}


class Server:
    """A `shakedown serve` that runs; ``report`` is what it says of itself once it has ended."""

    def __init__(self, process: subprocess.Popen[str], uri: str) -> None:
        self.process = process
        self.uri = uri
        self.report: dict[str, Any] = {}

    def end(self) -> None:
        """Let it end as a user would, and keep its report."""
        self.process.send_signal(signal.SIGTERM)
        out, errors = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, errors
        self.report = json.loads(out)["report"]


@contextmanager
def served(target: str, folder: Path, *, scale: str, seed: int = 1) -> Iterator[Server]:
    """Serve a modelled drive at a socket in ``folder`` for a while."""
    address = folder / "drive.sock"
    options = ("--scale", scale, "--seed", str(seed), "--json")
    process = begin("serve", target, "--nbd", address, *options, cwd=folder)
    try:
        wait_until(lambda: address.exists() or process.poll() is not None, "the server's socket")
        assert process.poll() is None, process.communicate()[1]
        server = Server(process, f"nbd+unix://{address}")
        yield server
        if process.poll() is None:
            server.end()
    finally:
        process.kill()
        process.communicate()
