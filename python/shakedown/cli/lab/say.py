"""What is being built, on standard error."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Redraw one line on a terminal, write lines elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="\n" if text.endswith(":") else "", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)
