"""SIGTERM and SIGHUP as Ctrl-C, for verbs that clean up after themselves."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM ends it as Ctrl-C does, also where SIGINT is ignored, as in a shell's background.

    So does a terminal that is closed, unless somebody asked for that to be ignored (nohup).
    """
    ends = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        ends.append(signal.SIGHUP)
    kept = {number: signal.signal(number, signal.default_int_handler) for number in ends}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
