"""SIGTERM and SIGHUP as Ctrl-C, whatever the verb."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from shakedown.protocol.interruption import ending_signals


@contextmanager
def terminated_as_interrupted(*, unignored: bool = False) -> Iterator[None]:
    """All signals that ask for an end do what Ctrl-C does.

    Where Ctrl-C itself is ignored, as in a shell's background, it stays so; ``unignored`` is for verbs that clean up
    after themselves, which hear it there, too.
    """
    numbers = [number for number in ending_signals() if number != signal.SIGINT or unignored]
    kept = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
