"""fio as a child process that never outlives us."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from shakedown.die_with import die_with
from shakedown.errors import EnvironmentFailure

_PIPE_BYTES: Final = 1 << 20
_CHUNK_BYTES: Final = 1 << 16
_REAP_LIMIT_S: Final = 30


class Child:
    """A started fio: in a session of its own, so that a Ctrl-C in the terminal is ours to pass on."""

    def __init__(self, arguments: Sequence[str | Path], folder: Path, inherit: Sequence[int] = ()) -> None:
        """Start it in ``folder``, where ``stderr.txt`` takes what it complains. Raises EnvironmentFailure."""
        ours = os.getpid()
        try:
            with (folder / "stderr.txt").open("wb") as complaints:
                self._process = subprocess.Popen(
                    arguments,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=complaints,
                    cwd=folder,
                    env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
                    start_new_session=True,
                    pass_fds=inherit,
                    preexec_fn=lambda: die_with(ours),  # noqa: PLW1509 - nothing but two system calls
                )
        except OSError as error:
            raise EnvironmentFailure(f"{arguments[0]} cannot be started: {error}") from error
        self._policy = _let_others_go_first()
        assert self._process.stdout is not None
        self._output = self._process.stdout
        # Room for some documents, so that a moment of ours without reading does not hold fio's clock up; a user's pipes
        # may have no more between them.
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with contextlib.suppress(PermissionError):
                fcntl.fcntl(self._output.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    @property
    def pid(self) -> int:
        """The process id, which is also that of its process group."""
        return self._process.pid

    def read(self, timeout_s: float) -> bytes | None:
        """What it printed; None if it printed nothing within the time; empty at the end."""
        ready, _, _ = select.select([self._output], [], [], timeout_s)
        return os.read(self._output.fileno(), _CHUNK_BYTES) if ready else None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it and whatever it started."""
        with contextlib.suppress(ProcessLookupError):  # it has ended, which is what every signal of ours asks for
            os.killpg(self.pid, number)

    def wait(self) -> int:
        """Exit status once the output has ended, negative for a signal. Raises EnvironmentFailure if it cannot end."""
        try:
            return self._process.wait(_REAP_LIMIT_S)
        except subprocess.TimeoutExpired as error:
            raise EnvironmentFailure(
                f"fio (process {self.pid}) cannot be ended: it is stuck in the kernel",
                hint="the target does not answer; look at the kernel log",
            ) from error

    def kill(self) -> None:
        """End it at once, unless it has been seen to end: its number may be another's by then."""
        if self._process.returncode is None:
            self.signal(signal.SIGKILL)

    def close(self) -> None:
        """Leave nothing running, whatever state it is in."""
        try:
            self.kill()
            self._output.close()
            self.wait()
        finally:
            if self._policy is not None:
                os.sched_setscheduler(0, self._policy, os.sched_param(0))


def _let_others_go_first() -> int | None:
    """Do not take the processor from whoever has it; returns what the rule was, if it was changed.

    fio prints a document line by line. Where there is one processor, a reader that each line wakes would go before the
    threads that make the load, which then are late by a fifth of a millisecond: long enough for a drive to believe that
    nobody wants anything, and to begin with its housekeeping.
    """
    if not hasattr(os, "sched_setscheduler") or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return None
    try:
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    except PermissionError:  # a container's seccomp profile
        return None
    return os.SCHED_OTHER
