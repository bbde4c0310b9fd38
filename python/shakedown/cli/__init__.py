"""The command line: one file a verb, and ``command_line``, what all of them share. Here is only where it begins."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from typing import Final

EXIT_INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit status, which Ctrl-C may make 130 from the first moment."""
    # What it needs takes a moment to import. Where Ctrl-C is ignored, as in a shell's background, it stays so.
    is_heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heard:
        signal.signal(signal.SIGINT, lambda *_: os._exit(EXIT_INTERRUPTED))
    from shakedown.cli.command_line import run_command_line  # noqa: PLC0415

    if is_heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run_command_line(arguments)
