"""Where what is built stays: a folder an artefact, complete or not there.

An artefact is made in ``work/``, under a lock, and renamed into place: whoever finds it finds all of it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from shakedown.errors import EnvironmentFailure

# Of each kind: more than one checkout may use the cache, and a kernel may be there with OpenZFS and without.
_KEPT: Final = 6


def cache_folder() -> Path:
    """The lab's part of the user's cache: ``$XDG_CACHE_HOME/shakedown/lab``, or under ``~/.cache``."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "shakedown" / "lab"


_ELSEWHERE: Final = "another place: XDG_CACHE_HOME=/path shakedown lab build"


@contextmanager
def readable() -> Iterator[None]:
    """Raises EnvironmentFailure if the cache may not be looked into."""
    try:
        yield
    except PermissionError as error:
        raise EnvironmentFailure(f"the lab's cache cannot be read: {error}", hint=_ELSEWHERE) from error


@contextmanager
def locked(name: str = "work", *, waits: bool = False) -> Iterator[Path]:
    """Build alone; yields the folder to work in, which keeps what a killed build has left.

    The lock is inherited by the programs that build: it lasts until the last of them is gone.
    Raises EnvironmentFailure while somebody else builds there, unless it ``waits``, or if the cache cannot be written.
    """
    work = cache_folder() / name
    try:
        work.mkdir(parents=True, exist_ok=True)
        lock = os.open(
            work.with_name("lock" if name == "work" else f"{name}-lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666
        )
    except OSError as error:
        raise EnvironmentFailure(f"the cache cannot be written: {error}", hint=_ELSEWHERE) from error
    try:
        os.set_inheritable(lock, True)
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        yield work
    except BlockingIOError as error:
        raise EnvironmentFailure(
            "the lab is being built already", hint="wait for the other `shakedown lab build`, or end it"
        ) from error
    finally:
        os.close(lock)


def publish(made: Path, name: str) -> Path:
    """Move a finished folder to where it is found, as ``name`` (KIND-...); of each kind the newest few are kept."""
    place = cache_folder() / name
    shutil.rmtree(place, ignore_errors=True)
    made.rename(place)
    kind = name.partition("-")[0]
    for old in sorted(cache_folder().glob(f"{kind}-*"), key=lambda each: each.stat().st_mtime)[:-_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return place
