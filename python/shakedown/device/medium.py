"""What the device arena needs of anything it can put a load on."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol

from shakedown.result.identity import Identity
from shakedown.tools.fio.job import Option
from shakedown.tools.fio.locate import Fio


class Lease(NamedTuple):
    """How a fio reaches the target: options for each section, and file descriptors that it inherits."""

    options: tuple[Option, ...]
    inherit: tuple[int, ...]


class Medium(Protocol):
    """A target of real I/O: a file, a folder's file, an NBD export, a disk."""

    @property
    def identity(self) -> Identity:
        """Who it is, as it goes into the run's record."""
        ...

    @property
    def device(self) -> Path | None:
        """The disk itself as the kernel calls it just now, for those who ask it something; None of what is none."""
        ...

    @property
    def remembers(self) -> bool:
        """Whether it was there before it was opened, with what had been done to it."""
        ...

    def require(self, fio: Fio) -> None:
        """Raise EnvironmentFailure unless this fio can reach it."""
        ...

    def admit_writing(self) -> None:
        """Raise RefusedError unless it may be overwritten."""
        ...

    def missing(self, *, failed: bool) -> str | None:
        """Why no load can be put on it just now, None if it can; ``failed``: the last load ended with an error.

        One that has come back elsewhere is found there. Raises RefusedError where it cannot be told from another.
        """
        ...

    def lend(self, *, write: bool) -> AbstractContextManager[Lease]:
        """Look once more whether it is still what it was, and hand it to one fio. Raises RefusedError."""
        ...

    def close(self, *, finished: bool = True) -> None:
        """Remove what was made for the run only, once that has ``finished``."""
        ...
