"""Ctrl-C: once ends the run cleanly, twice at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

from shakedown.errors import Interrupted


def ending_signals() -> tuple[signal.Signals, ...]:
    """What asks for an end: a terminal that is closed, too, unless somebody asked for that to be ignored (nohup)."""
    ends = (signal.SIGINT, signal.SIGTERM)
    return ends if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else (*ends, signal.SIGHUP)


class Interruption:
    """While entered, the first of the signals that end sets ``asked`` and calls whoever can end what runs."""

    def __init__(self) -> None:
        """Nothing has been asked for yet."""
        self.asked = False
        self._call: Callable[[], None] | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        """Take over the signals, which only the main thread can."""
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._heard) for number in ending_signals()}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def calls(self, end: Callable[[], None]) -> Iterator[None]:
        """Call ``end`` when an interruption comes (at once, if it has come already)."""
        self._call = end
        if self.asked:
            end()
        try:
            yield
        finally:
            self._call = None

    @staticmethod
    def leave() -> None:
        """For waits that have nothing to end: break out of them."""
        raise Interrupted("interrupted")

    def _heard(self, _number: int, _frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        if self._call is not None:
            self._call()
