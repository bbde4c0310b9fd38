"""Text that a terminal takes for nothing but text."""

from __future__ import annotations


def plain(text: str) -> str:
    """``text`` with control characters, of which names from outside may be full, as escapes; line breaks stay."""
    return "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)
