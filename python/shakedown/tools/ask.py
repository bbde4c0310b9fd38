"""A program that is asked about a drive, and may hang: stuck in the kernel at a dead drive, no signal ends it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from contextlib import AbstractContextManager, ExitStack, suppress
from types import TracebackType
from typing import Final, NamedTuple

LIMIT_S: Final = 20.0
_REAP_S: Final = 1.0
_LARGEST_BYTES: Final = 4 << 20
_SYSTEM: Final = "/usr/sbin:/sbin"
"""Where such programs are, whether or not the PATH of the user has it."""


class Unanswered(Exception):  # noqa: N818 - a state of knowledge, not an error
    """There is no answer; the words go on from the name of the program."""


class Answer(NamedTuple):
    """What it printed, whatever its exit status says."""

    status: int
    output: bytes


class Question(AbstractContextManager["Question"]):
    """One that was asked. Use it as a context manager, or close it."""

    def __init__(self, program: str, *arguments: str, limit_s: float = LIMIT_S) -> None:
        """Begin to ask. Raises Unanswered."""
        found = shutil.which(program, path=f"{os.environ.get('PATH', os.defpath)}:{_SYSTEM}")
        if found is None:
            raise Unanswered("is not installed")
        self._limit_s = limit_s
        self._until_s = time.monotonic() + limit_s
        with ExitStack() as undo:
            self._output = undo.enter_context(tempfile.TemporaryFile())
            try:
                self._child = subprocess.Popen(
                    [found, *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=self._output,
                    stderr=subprocess.DEVNULL,
                    env={"PATH": os.defpath, "LC_ALL": "C"},
                    start_new_session=True,
                )
            except OSError as error:
                raise Unanswered(f"cannot be started: {error.strerror}") from error
            undo.pop_all()

    def answer(self) -> Answer | None:
        """The answer, once; None while it is still to come. Raises Unanswered where it took too long."""
        status = self._child.poll()
        if not self._output.closed and status is not None:
            with self:
                self._output.seek(0)
                return Answer(status, self._output.read(_LARGEST_BYTES))
        if not self._output.closed and time.monotonic() < self._until_s:
            return None
        self.close()
        raise Unanswered(f"did not answer within {self._limit_s:g} s")

    def wait(self) -> Answer:
        """The answer, when it has come. Raises Unanswered."""
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(max(self._until_s - time.monotonic(), 0))
        self._until_s = 0
        answer = self.answer()
        assert answer is not None  # the time is over, so it is there or is given up
        return answer

    @property
    def is_stuck(self) -> bool:
        """Whether it was given up and is still there: another would be stuck beside it."""
        return self._output.closed and self._child.poll() is None

    def close(self) -> None:
        """End it; where it is stuck, leave it behind."""
        self._output.close()
        if self._child.poll() is None:
            self._child.kill()
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(_REAP_S)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave nothing running."""
        self.close()
