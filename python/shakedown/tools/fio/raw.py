"""What is kept of a step's fio as it came: job file, command line, complaints, every document, the last one."""

from __future__ import annotations

import gzip
import json
import shlex
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final

from shakedown.result.atomic import failed_write
from shakedown.tools.fio.document import Document

_FLUSH_EVERY: Final = 16


class Raw(AbstractContextManager["Raw"]):
    """The folder of one step. ``status.jsonl.gz`` has a document a line and stays readable when we are killed."""

    def __init__(self, folder: Path, job_text: str, command: list[str]) -> None:
        """Write down what is going to be run; ``folder`` exists. Raises EnvironmentFailure."""
        self.folder = folder
        with _writing(folder):
            (folder / "job.fio").write_text(job_text)
            (folder / "command.txt").write_text(shlex.join(command) + "\n")
            self._stream = gzip.GzipFile(folder / "status.jsonl.gz", "wb", compresslevel=6, mtime=0)
        self._kept = 0
        self._last: Document | None = None

    def keep(self, document: Document) -> None:
        """Append a document; every so many, what was appended is made readable. Raises EnvironmentFailure."""
        self._last = document
        self._kept += 1
        with _writing(self.folder):
            self._stream.write(json.dumps(document.raw, separators=(",", ":")).encode() + b"\n")
            if self._kept % _FLUSH_EVERY == 0:
                self._stream.flush(zlib.Z_SYNC_FLUSH)

    def complaints(self) -> str:
        """The end of what fio wrote to standard error, in one line."""
        text = (self.folder / "stderr.txt").read_text(errors="replace") if (self.folder / "stderr.txt").exists() else ""
        return "; ".join(line.strip() for line in text.splitlines()[-3:] if line.strip())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the stream and write the last document for people, too. Raises EnvironmentFailure."""
        with _writing(self.folder):
            self._stream.close()
            if self._last is not None:
                (self.folder / "final.json").write_text(json.dumps(self._last.raw, indent=1) + "\n")


def new_folder(raw: Path, step: str) -> Path:
    """A folder of its own for a step: ``raw/STEP``, or ``raw/STEP-2`` when run again. Raises EnvironmentFailure."""
    for attempt in range(1, 10_000):
        folder = raw / (step if attempt == 1 else f"{step}-{attempt}")
        if not folder.exists():
            with _writing(raw):
                folder.mkdir(parents=True)
            return folder
    raise AssertionError(f"{raw / step} has been run ten thousand times")


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise failed_write(folder, error) from error
