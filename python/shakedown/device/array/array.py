"""What every kind of real array can be told to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from shakedown.device.array.drive import Drive


class Look(NamedTuple):
    """What the status shows of a rebuild.

    ``total_bytes`` is all there is to do; ``shown_bytes_per_s`` and ``left_s`` are the status's own figures, None
    where it shows none. ``failed``: the rebuild cannot go on; ``errors``: what it could not rebuild.
    """

    done_bytes: int | None
    total_bytes: int | None
    shown_bytes_per_s: float | None
    left_s: float | None
    is_over: bool
    failed: bool = False
    errors: int = 0


class Span(NamedTuple):
    """When a rebuild began and ended by the array's own records, in nanoseconds since 1970; None where it has none."""

    began_ns: int | None = None
    ended_ns: int | None = None


@dataclass(frozen=True)
class Shape:
    """What is made: ``member_bytes`` of each drive (None: all); ``options`` are those of the order."""

    layout: str
    member_bytes: int | None
    options: Any


class RealArray(Protocol):
    """An array of drives that were taken. All may raise EnvironmentFailure."""

    identity: str
    """By which a part of it is known to be ours: the UUID of an md array, the name of a pool."""

    def create(self, drives: Sequence[Drive], *, are_blank: bool) -> None:
        """Make it, and wait until its redundancy is there."""
        ...

    def find(self, drives: Sequence[Drive]) -> bool:
        """After a reboot: put it together again; whether it is there."""
        ...

    def mount(self, folder: Path) -> None:
        """Lay its filesystem, made if there is none yet, on ``folder``."""
        ...

    def unmount(self, folder: Path) -> None:
        """Take it off again, so that what is read next comes from the drives."""
        ...

    def lose(self, drive: Drive) -> None:
        """Let it fail, and take it out."""
        ...

    def replace(self, lost: Drive, new: Drive) -> None:
        """Put another drive in its place: the rebuild begins."""
        ...

    def look(self) -> Look:
        """What the status shows."""
        ...

    def seems_over(self) -> bool:
        """Whether a look is worth its while: asked ten times a second, so it has to cost nothing."""
        ...

    def span(self) -> Span:
        """Of the last rebuild."""
        ...

    @property
    def allocated_bytes(self) -> int:
        """What is allocated in a pool; 0 of md, which knows no such thing."""
        ...

    def destroy(self) -> None:
        """Take it apart; superblocks are left to ``Drive.wipe``. Does nothing where there is none.

        When it raises, the array still stands on its drives.
        """
        ...
