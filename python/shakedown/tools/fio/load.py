"""A running fio as samples: start it, follow it, end it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Final

from shakedown.errors import EnvironmentFailure
from shakedown.sample import Direction, Sample
from shakedown.tools.fio.document import Document
from shakedown.tools.fio.interval import Intervals
from shakedown.tools.fio.process import Child
from shakedown.tools.fio.raw import Raw
from shakedown.tools.fio.stream import Stream
from shakedown.units import NS_PER_S, format_duration

# After a pause: the row that it lies in, and the next, since fio may note a latency after it has counted the request.
_SPOILED_ROWS: Final = 2
# Later than this a busy machine wakes nobody; a suspended one, or a stopped process group, does.
_FREEZE_NS: Final = 3 * NS_PER_S
_MESSAGES_KEPT: Final = 100
_LAST_WORD_S: Final = 0.2


@dataclass(frozen=True)
class Patience:
    """How long fio may take before it counts as hung, and to end after being asked, then told.

    ``silence_ns`` is generous: a document waits for the slowest I/O in flight, and a kernel that retries and resets
    a drive needs minutes for one.
    """

    silence_ns: int = 600 * NS_PER_S
    asked_ns: int = 120 * NS_PER_S
    told_ns: int = 10 * NS_PER_S


@dataclass(frozen=True)
class Plan:
    """What to run, the descriptors it inherits, and the rows to expect: of ``step``, in ``directions`` at least."""

    command: Sequence[str]
    inherit: tuple[int, ...]
    step: str
    directions: tuple[Direction, ...]
    interval_ns: int
    patience: Patience = Patience()


class FioLoad(AbstractContextManager["FioLoad"]):
    """Implements the arenas' ``Load`` on a child process.

    ``error`` tells, once iteration has ended, what the *target* did wrong (None: nothing); a failing fio raises
    EnvironmentFailure instead, after everything measured was delivered. ``messages`` are plain lines of fio.
    ``frozen_ns`` is for how long the whole of us was stopped: that is in no row, and no latency.
    """

    def __init__(self, plan: Plan, raw: Raw, now_ns: Callable[[], int], belongings: ExitStack) -> None:
        """Start it; samples' times are those of the run's clock ``now_ns``.

        Once it runs, what is in ``belongings`` is the load's, and closed with it.
        """
        self.error: str | None = None
        self.messages: list[str] = []
        self._clock_ns = now_ns
        self._paused_ns: int | None = None
        self._rested_ns = 0
        self._spoiled_rows = 0
        self._read_ns = now_ns()
        self._late_ns = 0
        self.frozen_ns = 0
        self._interval_s = plan.interval_ns / NS_PER_S
        self._patience = plan.patience
        self._raw = raw
        self._stream = Stream()
        self._last: Document | None = None
        self._intervals = Intervals(plan.step, plan.directions, now_ns(), plan.interval_ns)
        self._asked_ns: int | None = None
        self._told: signal.Signals | None = None
        self._hung = False
        self._child = Child(plan.command, raw.folder, plan.inherit)
        self._heard_ns = now_ns()
        self._belongings = belongings.pop_all()

    def __iter__(self) -> Iterator[list[Sample]]:
        """Rows as fio reports them, an empty batch for an interval in which it does not.

        Raises EnvironmentFailure at the end if fio crashed, hung or printed nothing that can be used.
        """
        chunk = self._read(self._interval_s)
        while chunk != b"":
            heard = self._hear(self._stream.feed(chunk)) if chunk else []
            self._lose_patience()
            if chunk is None:
                yield []
            # Only its end tells fio's last document from one in which it is too hopeful, so that is waited for.
            following = self._read(_LAST_WORD_S) if heard and heard[-1][0].hopeful else None
            yield from self._take(heard, last=following == b"")
            chunk = self._read(self._interval_s) if following is None else following
        yield from self._take(self._hear(self._stream.close()), last=False)
        if rest := self._intervals.rest():
            yield self._without_spoiled(rest)
        self._conclude(self._child.wait())

    def pause(self) -> None:
        """Stop fio where it stands, until ``go_on``.

        It is stopped by a signal, since only so it goes on with the very request that was next: a fio that is ended
        and started again would write the same places once more. The run's clock stands still meanwhile, so no row
        holds the pause; what was in flight is timed wrongly by it, so the rows in which it may be tell no latency.
        """
        if self._paused_ns is None and self._asked_ns is None:
            self._child.signal(signal.SIGSTOP)
            self._paused_ns = self._clock_ns()

    def go_on(self) -> None:
        """Let it run again after a ``pause``."""
        if self._paused_ns is not None:
            self._rested_ns += self._clock_ns() - self._paused_ns
            self._paused_ns = None
            self._heard_ns = self._now_ns()
            self._spoiled_rows = _SPOILED_ROWS
            self._child.signal(signal.SIGCONT)

    def stop(self) -> None:
        """Ask for a clean end; what is in flight is waited for. Iterate on to get the rest."""
        self.go_on()
        if self._asked_ns is None:
            self._asked_ns = self._now_ns()
            self._child.signal(signal.SIGINT)

    def kill(self) -> None:
        """End it at once, whatever is in flight. Who iterates comes to the end."""
        self._child.kill()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave nothing running and the raw files complete."""
        try:
            self._child.close()
        finally:
            self._belongings.close()

    def _hear(self, items: Sequence[Document | str]) -> list[tuple[Document, int]]:
        """The documents of what has just come, each with when it was made."""
        documents = []
        for item in items:
            if isinstance(item, str):
                if len(self.messages) < _MESSAGES_KEPT:
                    self.messages.append(item[:500])
                continue
            self._heard_ns = self._now_ns()
            self._last = item
            self._raw.keep(item)
            documents.append((item, self._made_ns(item)))
        return documents

    def _take(self, heard: Sequence[tuple[Document, int]], *, last: bool) -> Iterator[list[Sample]]:
        for number, (document, made_ns) in enumerate(heard, start=1):
            if samples := self._intervals.samples(document, made_ns, last=last and number == len(heard)):
                yield self._without_spoiled(samples)

    def _now_ns(self) -> int:
        """The run's clock, without the pauses of this load."""
        return (self._clock_ns() if self._paused_ns is None else self._paused_ns) - self._rested_ns

    def _read(self, timeout_s: float) -> bytes | None:
        """What fio printed. One who wakes far later than asked for has been stopped himself, and so perhaps was fio."""
        self._read_ns = self._clock_ns()
        chunk = self._child.read(timeout_s)
        late_ns = self._clock_ns() - self._read_ns - round(timeout_s * NS_PER_S)
        if late_ns > _FREEZE_NS and self._paused_ns is None:
            self._late_ns = late_ns
        return chunk

    def _made_ns(self, document: Document) -> int:
        """When a document was made, by the run's clock: not before the read that did not find it yet.

        fio tells the time by the wall clock, which may be set while we measure; the run's clock is not.
        """
        waited_ns = self._clock_ns() - self._read_ns
        age_ns = min(max(time.time_ns() - document.timestamp_ms * 1_000_000, 0), waited_ns)
        if self._late_ns:
            if age_ns < self._late_ns // 2:  # fio has written nothing meanwhile: it was stopped with us
                self.frozen_ns += self._late_ns
                self._rested_ns += self._late_ns
                self._spoiled_rows = _SPOILED_ROWS
                self._heard_ns = self._now_ns()
            self._late_ns = 0
        return max(self._heard_ns - age_ns, 0)

    def _without_spoiled(self, samples: list[Sample]) -> list[Sample]:
        if self._spoiled_rows == 0:
            return samples
        self._spoiled_rows -= 1
        return [sample.untimed() for sample in samples]

    def _lose_patience(self) -> None:
        """Go one step further if nothing was heard, or a request to end was not followed, for too long."""
        now_ns = self._now_ns()
        if self._paused_ns is not None:
            return
        if self._asked_ns is None:
            if now_ns - self._heard_ns > self._patience.silence_ns:
                self._hung = True
                self._tell(signal.SIGKILL)
            return
        waited_ns = now_ns - self._asked_ns
        if waited_ns > self._patience.asked_ns + self._patience.told_ns:
            self._tell(signal.SIGKILL)
        elif waited_ns > self._patience.asked_ns:
            self._tell(signal.SIGTERM)

    def _tell(self, number: signal.Signals) -> None:
        if self._told != number:
            self._told = number
            self._child.signal(number)

    def _conclude(self, status: int) -> None:
        """Tell a result of the target from a failure of fio; an exit status alone is neither."""
        failed = [job for job in self._last.jobs if job.error or job.failed] if self._last else []
        if failed:
            self.error = "; ".join(
                f"section [{job.name}]: {os.strerror(job.error)} (errno {job.error})"
                + (f", {job.failed} failed I/Os" if job.failed else "")
                for job in failed
            )
        problem = self._problem(status)
        if problem and not (failed and status > 0 and not self._stream.broken):
            raise EnvironmentFailure(f"{problem}{self._excuse()}", hint=f"fio's own files are in {self._raw.folder}")

    def _problem(self, status: int) -> str:
        """What is wrong with the way in which fio ended; empty if nothing."""
        if self._hung:
            return f"fio printed nothing for {format_duration(self._patience.silence_ns)} and was killed"
        if self._told is not None:
            return f"fio did not end within {format_duration(self._patience.asked_ns)} of being asked to"
        if self._stream.broken:
            return f"fio {_ending(status)}, its output broken off or garbage"
        if self._last is None:
            return "" if self._asked_ns is not None else f"fio {_ending(status)} without a result"
        return f"fio {_ending(status)}" if status and self._asked_ns is None else ""

    def _excuse(self) -> str:
        words = self._raw.complaints() or "; ".join(self.messages[-2:])
        return f": {words}" if words else ""


def _ending(status: int) -> str:
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
