"""A table of a rebuild that the terminal and the page show alike."""

from __future__ import annotations

from typing import NamedTuple

from shakedown.report.plain_text import table, wrap


class ToldTable(NamedTuple):
    """A table with what is to be said below it."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """In plain text."""
        return "\n".join([table(self.head, self.rows), *(wrap(note, "") for note in self.notes)])
