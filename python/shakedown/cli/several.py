"""``shakedown run`` on several targets at once: a process, a folder and a run for each, so that none stops another."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, TextIO

from shakedown.cli.plain import plain
from shakedown.device.disk.rules import strangers_to_all
from shakedown.die_with import die_with
from shakedown.errors import EnvironmentFailure, Planned, RefusedError, UsageError
from shakedown.protocol.load import LoadedProtocol
from shakedown.protocol.run import Order, plan

_ENTRY: Final = (sys.executable, "-c", "from shakedown.cli import main; main()")
GRAVEST_FIRST: Final = (130, 70, 5, 4, 2, 1, 3, 0)
"""Exit statuses of the runs: the first of these that any of them has is that of all."""


@dataclass(frozen=True)
class Outcome:
    """How the run on one target ended: its exit status, and the document that ``--json`` prints."""

    target: str
    exit_status: int
    document: dict[str, Any]

    @property
    def folder(self) -> Path | None:
        """The folder of the run, None where it came to no end."""
        folder = self.document.get("folder")
        return Path(folder) if isinstance(folder, str) else None


def refuse_same(targets: Sequence[str]) -> None:
    """Raise UsageError for a target that is given twice, under whatever names."""
    seen: dict[str, str] = {}
    for text in targets:
        # Two modelled drives of one name are two drives; two names of one disk are one disk.
        real = os.path.realpath(text) if Path(text).exists() else text
        if real in seen and not text.startswith(("model:", "lab:")):
            same = f"`{text}` is given twice" if seen[real] == text else f"`{seen[real]}` and `{text}` are the same"
            raise UsageError(same, hint="give each target once")
        seen[real] = text


def plan_all(loaded: LoadedProtocol, orders: Sequence[tuple[Order, Path]]) -> tuple[Planned, ...]:
    """The plans of all targets. Raises RefusedError, with all of them, if any is refused: then none is begun."""
    planned: list[Planned] = []
    refused: list[RefusedError] = []
    strangers: list[tuple[str, ...]] = []
    for order, out in orders:
        try:
            planned += plan(loaded, order, out)
            strangers.append(())  # whose data was given up with which words, is not told of one that is not refused
        except RefusedError as error:
            refused.append(error)
            strangers.append(error.strangers)
            planned += error.plan
    if refused:
        options = [word for error in refused for word in error.options] if all(each.options for each in refused) else []
        raise RefusedError(
            "; ".join(str(error) for error in refused),
            hint=refused[0].hint,
            options=options,
            strangers=strangers_to_all(strangers),
            plan=planned,
        ) from refused[0]
    return tuple(planned)


def run_all(commands: Sequence[tuple[str, Sequence[str]]], *, quiet: bool) -> list[Outcome]:
    """Run ``shakedown run`` with each target's words, all at once; what they say of their progress goes on.

    The first SIGINT or SIGTERM is passed on to all, and so is the second. Raises EnvironmentFailure.
    """
    stderr = None if quiet else sys.stderr
    with tempfile.TemporaryDirectory(prefix="shakedown-") as scratch:
        children = [
            _Child(target, words, Path(scratch) / str(number)) for number, (target, words) in enumerate(commands)
        ]
        with _passing_signals_on(children):
            for child in children:
                child.relay(stderr)
            return [child.outcome() for child in children]


class _Child:
    def __init__(self, target: str, words: Sequence[str], output: Path) -> None:
        self.target = target
        self._output = output
        self._relay: threading.Thread | None = None
        ours = os.getpid()
        try:
            with output.open("wb") as document:
                self._process = subprocess.Popen(
                    [*_ENTRY, "run", *words, "--json"],
                    stdin=subprocess.DEVNULL,
                    stdout=document,
                    stderr=subprocess.PIPE,
                    # A Ctrl-C in the terminal is ours to pass on: twice would end a run at once.
                    start_new_session=True,
                    preexec_fn=lambda: die_with(ours),  # noqa: PLW1509 - nothing but two system calls
                )
        except OSError as error:
            raise EnvironmentFailure(f"{sys.executable} cannot be started: {error.strerror}") from error

    def relay(self, stream: TextIO | None) -> None:
        """Pass its lines on to ``stream``, or drop them, for as long as it lives."""
        assert self._process.stderr is not None, "it is a pipe"
        self._relay = threading.Thread(target=self._pass_on, args=(self._process.stderr, stream), daemon=True)
        self._relay.start()

    def _pass_on(self, lines: IO[bytes], stream: TextIO | None) -> None:
        for line in lines:
            text = line.decode(errors="replace").rstrip()
            if text.startswith(("error:", "hint:")):
                text = f"{self.target}: {text}"
            elif stream is None:
                continue
            print(plain(text), file=sys.stderr, flush=True)

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def outcome(self) -> Outcome:
        status = self._process.wait()
        if self._relay is not None:
            self._relay.join()
        try:
            document = json.loads(self._output.read_bytes())
        except ValueError:
            document = {"error": {"message": f"it ended without a word ({status})", "hint": ""}}
        # One that was killed has left a run that can be resumed.
        return Outcome(self.target, status if status in GRAVEST_FIRST else EnvironmentFailure.exit_status, document)


@contextmanager
def _passing_signals_on(children: Sequence[_Child]) -> Iterator[None]:
    def pass_on(number: int, _frame: object) -> None:
        for child in children:
            child.signal(number)

    kept = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
