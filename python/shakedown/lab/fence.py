"""Starts a program in a cell (``cell.py``) and ends it: the side of the host."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final

from shakedown.errors import EnvironmentFailure
from shakedown.lab import cell

_END_LIMIT_S: Final = 10.0


class Fence(AbstractContextManager["Fence"]):
    """A program behind a fence. Use it as a context manager: leaving it leaves nothing running."""

    def __init__(
        self,
        folder: Path,
        *,
        program: Sequence[str],
        binds: Mapping[str, Path],
        writable: Sequence[str],
        start_in: str,
        memory_bytes: int,
        printed: Sequence[Path],
    ) -> None:
        """Start ``program`` in ``start_in``, with only ``binds`` (its path to ours) to be seen.

        ``printed`` are the files behind its standard output, with standard error, and behind its descriptors 3, 4...
        """
        with ExitStack() as files, ExitStack() as undo:
            self.cpu, self._claim = _some_cpu()
            if self._claim is not None:
                undo.enter_context(self._claim)
            self._trouble = undo.enter_context(tempfile.TemporaryFile())
            trouble = self._trouble.fileno()
            null = files.enter_context(Path(os.devnull).open("r+b"))
            first, *others = (files.enter_context(path.open("ab")) for path in printed)
            descriptors = [file.fileno() for file in (null, first, first, *others)]
            order = {
                "parent": os.getpid(),
                "cpu": self.cpu,
                "folder": str(folder),
                "binds": {target: str(path) for target, path in binds.items()},
                "writable": list(writable),
                "start_in": start_in,
                "memory_bytes": memory_bytes,
                "descriptors": descriptors,
                "trouble": trouble,
                "program": list(program),
                # A process that the kernel makes for its guest unmaps all it has; glibc's rseq area would be missed.
                "environment": {
                    "TMPDIR": "/tmp",
                    "HOME": "/tmp",
                    "PATH": "/usr/bin:/bin",
                    "GLIBC_TUNABLES": "glibc.pthread.rseq=0",
                },
            }
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", cell.__file__, json.dumps(order)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # A bug in the cell shows where the kernel's messages are.
                stderr=first,
                pass_fds=(*descriptors, trouble),
            )
            undo.pop_all()  # they live as long as the fence

    @property
    def pid(self) -> int:
        """Of the process whose end is the end of all that is behind the fence."""
        return self._process.pid

    def end(self) -> None:
        """Kill what is left, and return when it is gone."""
        self._process.terminate()
        try:
            self._process.wait(_END_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._claim is not None:
            self._claim.close()

    def raise_trouble(self) -> None:
        """Raise EnvironmentFailure if the program could not be started."""
        self._trouble.seek(0)
        if text := self._trouble.read():
            told = json.loads(text)
            raise EnvironmentFailure(f"the lab cannot run: {told['message']}", hint=told["hint"])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave nothing running."""
        self.end()


def _some_cpu() -> tuple[int, socket.socket | None]:
    """One of those we may use on which no other guest runs, and the name that says so while it is open; else any."""
    allowed = sorted(os.sched_getaffinity(0))
    for cpu in allowed:
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0shakedown-lab-cpu-{cpu}")
        except OSError:
            claim.close()
        else:
            return cpu, claim
    return allowed[os.getpid() % len(allowed)], None
