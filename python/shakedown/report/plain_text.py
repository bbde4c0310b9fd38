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
