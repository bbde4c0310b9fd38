"""A file that somebody else appends to, read as it grows."""

from __future__ import annotations

from pathlib import Path


class Printed:
    """What a guest's command has printed on one of its two streams."""

    def __init__(self, path: Path, skip_bytes: int = 0) -> None:
        """Begin at the start of ``path``, which exists, or after what was printed at an earlier boot."""
        self.name = path.name
        self._file = path.open("rb")
        self._file.seek(skip_bytes)

    def new(self) -> bytes:
        """What has come since the last call."""
        return self._file.read()
