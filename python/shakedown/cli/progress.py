"""What a person sees while a run goes on: a live line in a terminal, plain lines elsewhere; on standard error only."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from shakedown.cli.pace import Pace
from shakedown.cli.plain import plain
from shakedown.protocol.play import Listener
from shakedown.protocol.schema import Protocol, Step
from shakedown.result.run_record import RunRecord, StepRecord
from shakedown.sample import Sample
from shakedown.units import format_duration

_LIVE_EVERY_S: Final = 0.125
_LINE_EVERY_S: Final = 30.0

_ENDED: Final = {
    "condition": "seen",
    "job-ended": "done",
    "idle-over": "done",
    "failed": "FAILED",
    "interrupted": "interrupted",
    "skipped": "skipped",
}


@contextmanager
def watch(*, quiet: bool) -> Iterator[Listener]:
    """The listener that suits standard error."""
    console = Console(stderr=True, highlight=False)
    if quiet:
        yield Listener()
    elif console.is_terminal:
        with Live(console=console, auto_refresh=False, transient=True) as live:
            yield LiveProgress(live)
    else:
        yield PlainProgress(sys.stderr)


class _Progress(Listener):
    """What both kinds share: where the run is, and when to show it again."""

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._due_s = 0.0
        self._who = ""
        self._where = ""
        self._pace: Pace | None = None
        self._record: RunRecord | None = None
        self._steps: tuple[Step, ...] = ()

    def planned(self, lines: Sequence[str]) -> None:
        """Say what will be done to a disk."""
        for line in lines:
            self._line(line)

    def run_began(self, record: RunRecord, protocol: Protocol) -> None:
        """Say who is tested."""
        self._record, self._steps = record, protocol.steps
        self._headline(f"{protocol.name} on {record.target.name}: {protocol.title}")
        # The whole of a path has been said; on the lines that follow there is no room for it.
        self._who = record.target.name.rstrip("/").rpartition("/")[2]

    def step_began(self, step: Step) -> None:
        """Begin a new pace."""
        assert self._record is not None, "a step belongs to a run"
        number = self._steps.index(step) + 1
        self._where = f"{self._who} {step.name} {number}/{len(self._steps)}"
        self._pace = Pace(step, self._record.target.capacity_bytes, is_virtual=self._record.is_modelled)
        self._due_s = time.monotonic() + self._every_s

    def measured(self, samples: Sequence[Sample]) -> None:
        """Take them in, and show where the step is when that is due."""
        assert self._pace is not None, "samples belong to a step"
        self._pace.take(samples)
        now_s = time.monotonic()
        if now_s >= self._due_s:
            self._due_s = now_s + self._every_s
            self._show_pace()

    def _show_pace(self) -> None:
        assert self._pace is not None, "there is a step"
        where = f"{self._where}: "
        self._show(where + self._pace.line(None if self._columns is None else self._columns - len(where)))

    @property
    def _columns(self) -> int | None:
        """How long a line of the pace may be; None if that does not matter."""
        return None

    def noted(self, text: str) -> None:
        """Say it at once."""
        self._line(f"{self._where}: {text}")

    def step_ended(self, record: StepRecord) -> None:
        """Say how a step ended."""
        ended = f"{self._who} {record.name}: {_ENDED[record.ended_because]}"
        if record.ended_because == "skipped":
            self._line(f"{ended} {record.detail or ''}".rstrip())
            return
        lasted = f"{ended} after {format_duration(record.end_ns - record.start_ns)}"
        self._line("; ".join(text for text in (lasted, record.detail, record.error) if text))

    def _headline(self, text: str) -> None:
        self._line(text)

    def _line(self, text: str) -> None:
        raise NotImplementedError

    def _show(self, text: str) -> None:
        raise NotImplementedError


class LiveProgress(_Progress):
    """One line that is redrawn, and a lasting line for each step that has ended."""

    def __init__(self, live: Live) -> None:
        """Draw through ``live``."""
        super().__init__(_LIVE_EVERY_S)
        self._live = live

    def step_began(self, step: Step) -> None:
        """Replace the line of the step before at once: the first sample of this one may take a while."""
        super().step_began(step)
        self._show_pace()

    @property
    def _columns(self) -> int:
        return self._live.console.width

    def _headline(self, text: str) -> None:
        self._live.console.print(Text(plain(text), style="bold"))

    def _line(self, text: str) -> None:
        self._live.console.print(Text(plain(text)))

    def _show(self, text: str) -> None:
        self._live.update(Text(plain(text), style="cyan", overflow="ellipsis", no_wrap=True), refresh=True)


class PlainProgress(_Progress):
    """Lines for a log file, at most one in half a minute besides those that say something new."""

    def __init__(self, stream: TextIO, label: str = "") -> None:
        """Write to ``stream``, each line with ``label`` in front."""
        super().__init__(_LINE_EVERY_S)
        self._stream = stream
        self._label = label

    def _line(self, text: str) -> None:
        self._stream.write(f"{self._label}{plain(text)}\n")
        self._stream.flush()

    _show = _line
