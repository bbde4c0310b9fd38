"""Tables in plain text, at most 80 columns where the content allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

WIDTH: Final = 80
_GAP: Final = "  "


def table(head: Sequence[str], rows: Sequence[Sequence[str]], indent: str = "") -> str:
    """Columns aligned to the left, under a head and a rule."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join(
        (indent + _GAP.join(text.ljust(width) for text, width in zip(line, widths, strict=True))).rstrip()
        for line in lines
    )
