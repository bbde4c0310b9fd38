"""The command line: one file a verb, and ``command_line``, what all of them share. Here is only where it begins."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Sequence
from typing import Any, Final

EXIT_INTERRUPTED: Final = 130
_GARBAGE_EVERY: Final = 100_000
_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit status, 130 from the first moment where it is ended."""
    # Most of what a command makes stays until it ends: to look for what is no longer needed is seldom worth while.
    gc.set_threshold(_GARBAGE_EVERY)
    # numpy's algebra starts a thread a core when it is imported, which spins for work for a while. What a command
    # gives it is small, and on one it comes out the same on however many cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    kept = leave_at_once_when_ended()  # what it needs takes a moment to import
    from shakedown.cli.command_line import run_command_line  # noqa: PLC0415

    for number, handler in kept.items():
        signal.signal(number, handler)
    run_command_line(arguments)


def leave_at_once_when_ended() -> dict[signal.Signals, Any]:
    """From here on a signal that ends us does so without a word; what it did until now.

    What is ignored, as Ctrl-C is in a shell's background, stays so.
    """
    heard = [number for number in _ENDING if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)]
    return {number: signal.signal(number, lambda *_: os._exit(EXIT_INTERRUPTED)) for number in heard}
