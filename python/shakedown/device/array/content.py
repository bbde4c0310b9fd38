"""What an array is filled with: files of random data that no filesystem can compress, the same for the same seed."""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from shakedown.errors import EnvironmentFailure
from shakedown.units import format_size

_LARGEST_BYTES: Final = 1 << 30
_LEAST_FILES: Final = 64
_GRAIN_BYTES: Final = 1 << 20
_FILES_OF_A_FOLDER: Final = 1024
# Of what is free: the filesystem needs the rest for itself.
_FULL: Final = 0.98

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Content:
    """``files`` files of ``file_bytes`` each, which follow from ``seed``. Account A had 1 GiB each, 1,024 a folder."""

    seed: int
    file_bytes: int
    files: int

    @classmethod
    def of_share(
        cls, folder: Path, fill: float, seed: int, file_bytes: int | None = None, *, data_a_shown_byte: float = 1.0
    ) -> Content:
        """What fills the share ``fill`` of what ``df`` shows of the filesystem of ``folder``, in files of any size."""
        there = os.statvfs(folder)
        shown = min(there.f_blocks * fill, there.f_bavail * _FULL) * there.f_frsize
        wanted = int(shown * data_a_shown_byte)
        size = file_bytes or min(_LARGEST_BYTES, wanted // _LEAST_FILES)
        size = max(size // _GRAIN_BYTES, 1) * _GRAIN_BYTES
        return cls(seed, size, wanted // size)

    def as_one(self) -> Content:
        """The same amount in a single file."""
        return Content(self.seed, self.file_bytes * self.files, 1)

    def first(self, folder: Path) -> Path:
        """Its first file."""
        return self._path(folder, 0)

    def write(self, folder: Path, tell: Tell) -> None:
        """Write what is not there in full yet; unmounting makes it durable. Raises EnvironmentFailure.

        Nobody who copies to a NAS waits for every file, and OpenZFS writes one twice that is made durable while the
        group with its first part is being written (``dmu_sync_late_arrival``): its metaslabs would be full of holes.
        """
        progress = _Progress(self.files * self.file_bytes, tell)
        for number in range(self.files):
            path = self._path(folder, number)
            if path.exists() and path.stat().st_size == self.file_bytes:
                progress.done_bytes += self.file_bytes
                continue
            try:
                path.parent.mkdir(exist_ok=True)
                with path.open("wb") as file:
                    file.writelines(progress.following(self._pieces(number)))
            except OSError as error:
                raise EnvironmentFailure(
                    f"the array cannot be filled: {error.strerror}", hint="a smaller `--fill`? `dmesg` may tell more"
                ) from error

    def age(self, folder: Path, run_bytes: int, tell: Tell) -> None:
        """Rewrite all in runs of ``run_bytes``, by chance, with what stands there: copy-on-write scatters it."""
        tell(f"aging: every {run_bytes >> 10} KiB rewritten in an order by chance")
        runs = [(number, at) for number in range(self.files) for at in range(0, self.file_bytes, run_bytes)]
        random.Random(self.seed).shuffle(runs)
        for count, (number, at) in enumerate(runs, start=1):
            with self._path(folder, number).open("r+b") as file:
                file.seek(at)
                run = file.read(run_bytes)
                file.seek(at)
                file.write(run)
            if count % _RUNS_OF_A_SYNC == 0:
                os.sync()
        os.sync()

    def differing(self, folder: Path) -> list[str]:
        """The files that are not what was written, by their checksums; read anew."""
        return [
            self._path(folder, number).name
            for number in range(self.files)
            if self._sum_of(folder, number) != self._wanted_sum(number)
        ]

    def _sum_of(self, folder: Path, number: int) -> str:
        digest = hashlib.blake2b(digest_size=16)
        try:
            with self._path(folder, number).open("rb") as file:
                while piece := file.read(_GRAIN_BYTES):
                    digest.update(piece)
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        return digest.hexdigest()

    def _wanted_sum(self, number: int) -> str:
        digest = hashlib.blake2b(digest_size=16)
        for piece in self._pieces(number):
            digest.update(piece)
        return digest.hexdigest()

    def _pieces(self, number: int) -> Iterator[bytes]:
        draw = np.random.Generator(np.random.PCG64([self.seed, number]))
        for _ in range(self.file_bytes // _GRAIN_BYTES):
            yield draw.bytes(_GRAIN_BYTES)

    def _path(self, folder: Path, number: int) -> Path:
        return folder / f"{number // _FILES_OF_A_FOLDER:02}" / f"{number:06}"


_RUNS_OF_A_SYNC: Final = 512


class _Progress:
    """Tells of each tenth of what is written."""

    def __init__(self, whole_bytes: int, tell: Tell) -> None:
        self._whole_bytes = whole_bytes
        self._tell = tell
        self._said = 0
        self.done_bytes = 0

    def following(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """The same pieces, each counted when the next is asked for."""
        for piece in pieces:
            yield piece
            self.done_bytes += len(piece)
            if (tenth := self.done_bytes * 10 // self._whole_bytes) > self._said:
                self._said = tenth
                self._tell(f"filling: {tenth * 10} % of {format_size(self._whole_bytes)} written")
