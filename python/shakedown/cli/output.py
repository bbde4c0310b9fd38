"""What a command prints: its result on standard output, and what it says meanwhile on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from shakedown.cli.plain import plain
from shakedown.errors import Planned


def print_result(text: str) -> None:
    """Print it; a reader that has gone has enough, and what was found, and so the exit status, stays as it is."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        give_up_output()


def tell(line: str) -> None:
    """Say it at once on standard error."""
    print(plain(line), file=sys.stderr, flush=True)


def print_plan(plans: Sequence[Planned]) -> None:
    """Print what would be done, part by part."""
    print_result("".join(plain(line) + "\n" for planned in plans for line in planned.lines))


def give_up_output() -> None:
    """Let what is still to be written vanish: Python would try once more when it exits, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
