"""SIGTERM and SIGHUP as Ctrl-C, for verbs that clean up after themselves."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from shakedown.protocol.interruption import ending_signals


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """All signals that ask for an end do what Ctrl-C does, also where SIGINT is ignored, as in a shell's background."""
    kept = {number: signal.signal(number, signal.default_int_handler) for number in ending_signals()}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
