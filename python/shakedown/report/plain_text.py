"""Plain text for mails and forums: lines of at most 80 columns, aligned tables."""

from __future__ import annotations

import textwrap
import unicodedata
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


def narrow_tables(head: Sequence[str], rows: Sequence[Sequence[str]], indent: str = "") -> str:
    """One table below the other, each with the first column, and as many of the others as its lines have room for."""
    widths = [max(len(row[column]) for row in (head, *rows)) + len(_GAP) for column in range(len(head))]
    parts: list[list[int]] = [[0]]
    for column in range(1, len(head)):
        beside = sum(widths[each] for each in parts[-1]) + widths[column] - len(_GAP)
        if len(parts[-1]) > 1 and len(indent) + beside > WIDTH:
            parts.append([0])
        parts[-1].append(column)
    return "\n\n".join(
        table([head[each] for each in part], [[row[each] for each in part] for row in rows], indent) for part in parts
    )


def wrap(text: str, first: str = "", later: str | None = None) -> str:
    """Break a text into lines that begin with ``first``, then ``later`` (None: the same).

    Control characters become \ufffd: a serial number must not be able to move somebody's cursor.
    """
    visible = "".join("\ufffd" if unicodedata.category(letter) in ("Cc", "Cf") else letter for letter in text)
    return textwrap.fill(
        visible,
        WIDTH,
        initial_indent=first,
        subsequent_indent=first if later is None else later,
        break_long_words=False,
        break_on_hyphens=False,
    )
