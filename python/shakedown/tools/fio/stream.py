"""What fio prints, taken apart: documents, and the plain lines around them."""

from __future__ import annotations

from typing import Final

from shakedown.errors import EnvironmentFailure
from shakedown.tools.fio.document import Document, parse_document

_LONGEST_DOCUMENT_BYTES: Final = 64 << 20


class Stream:
    """An incremental parser that survives anything: fed bytes, it gives documents and messages (text) in order.

    fio begins and ends each document with a brace alone on a line, so a document that was cut short costs itself
    and nothing after it. A broken document becomes a message and sets ``broken``, until a good one follows.
    """

    def __init__(self) -> None:
        """Nothing read yet."""
        self.broken = False
        self._rest = b""
        self._lines: list[bytes] = []
        self._held_bytes = 0

    def feed(self, chunk: bytes) -> list[Document | str]:
        """Everything that the chunk completes."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        found = [item for line in lines for item in self._line(line)]
        if len(self._rest) > _LONGEST_DOCUMENT_BYTES:
            found += self._line(self._rest)
            self._rest = b""
        return found

    def close(self) -> list[Document | str]:
        """What is left at the end of the output; an unfinished document is a broken one."""
        found = self._line(self._rest) if self._rest else []
        self._rest = b""
        return found + self._abandon()

    def _line(self, line: bytes) -> list[Document | str]:
        line = line.removesuffix(b"\r")
        if line.startswith(b"{"):
            before = self._abandon()
            self._lines.append(line)
            return [*before, *self._complete()] if line.rstrip().endswith(b"}") else before
        if not self._lines:
            return [line.decode(errors="replace")] if line.strip() else []
        self._lines.append(line)
        self._held_bytes += len(line)
        if self._held_bytes > _LONGEST_DOCUMENT_BYTES:
            return self._abandon()
        return self._complete() if line == b"}" else []

    def _complete(self) -> list[Document | str]:
        text = b"\n".join(self._lines).decode(errors="replace")
        self._lines.clear()
        self._held_bytes = 0
        try:
            document = parse_document(text)
        except EnvironmentFailure as error:
            self.broken = True
            return [str(error)]
        self.broken = False
        return [document]

    def _abandon(self) -> list[Document | str]:
        """Drop a document that has no end."""
        if not self._lines:
            return []
        self._lines.clear()
        self._held_bytes = 0
        self.broken = True
        return ["fio printed a document without an end"]
