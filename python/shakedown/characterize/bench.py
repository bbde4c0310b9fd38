"""An arena as a bench: every trace is kept with its log, so that estimates can be made again without the target."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from shakedown.errors import UsageError
from shakedown.fit.trace import FLUSH, Bench, Found, Log, Trace, Uninterrupted
from shakedown.result.atomic import failed_write, replace_file, sync
from shakedown.target.arena import Arena

_SYNCED_AT_ONCE: Final = 16


class _CutOffError(Exception):
    """What is played in one go was interrupted, so what is there of it tells nothing."""


class ArenaBench:
    """Implements ``Bench``. What the folder holds already is taken from there: that is how a run is resumed."""

    def __init__(self, arena: Callable[[], Arena], folder: Path, capacity_bytes: int, *, durable: bool = True) -> None:
        """``folder`` takes the logs; ``arena`` is asked for when something is not there yet.

        Each log is ``durable`` before the next is played; otherwise all are when ``sync`` has been called.
        """
        self._arena = arena
        self._folder = folder
        self._number = 0
        self._rest_ns = 0
        self._goes_on = any(folder.glob("*.parquet"))
        self._one_go = False
        self._durable = durable
        self._to_sync: set[Path] = set()
        self.capacity_bytes = capacity_bytes

    def holds_next(self) -> bool:
        """Whether what is played next has been measured before, if it is what it was."""
        return any(self._folder.glob(f"{self._number + 1:05d}-*.parquet"))

    def play(self, name: str, trace: Trace) -> Log:
        """The log of a trace, from the folder or the arena.

        Raises UsageError when what is there cannot be read, EnvironmentFailure when it cannot be kept.
        """
        self._number += 1
        file = self._folder / f"{self._number:05d}-{name}.parquet"
        # Who has changed since, or judges otherwise now, asks for other places: what was kept answers another question.
        if file.exists() and _is_of(log := _read(file), trace):
            self._rest_ns = 0
            return log
        arena = self._arena()
        # What was played last before an interruption may have been cut off, and is not there.
        went_on, self._goes_on = self._goes_on, False
        if went_on and self._one_go:
            raise _CutOffError
        if self._rest_ns:
            arena.idle(self._rest_ns)
            self._rest_ns = 0
        log = arena.replay(name, trace)
        content = BytesIO()
        metadata = {"ended_ns": str(log.ended_ns), "grain_ns": str(log.grain_ns)}
        log.to_frame().write_parquet(content, metadata=metadata, statistics=False)
        replace_file(file, content.getvalue(), durable=self._durable)
        if not self._durable:
            self._to_sync |= {file, self._folder}
        return log

    def idle(self, duration_ns: int) -> None:
        """Leave the target alone before what is played next, unless that has been measured before."""
        self._rest_ns += duration_ns

    def in_one_go(self, course: Callable[[], Found], undo: Callable[[Bench], None] | None = None) -> Found:
        """If it was interrupted, forget what is there of it and begin it anew."""
        if self._one_go:
            return course()
        number, rest_ns = self._number, self._rest_ns
        self._one_go = True
        try:
            return course()
        except _CutOffError:
            self.forget_after(number)
            if undo is not None:
                undo(PlainBench(self._arena(), self.capacity_bytes))
            self._rest_ns = rest_ns
            return course()
        finally:
            self._one_go = False

    def sync(self) -> None:
        """Have all logs outlive a loss of power. Raises EnvironmentFailure."""
        # A file system writes its own journal once for all that wait for it: one by one they took a third of a course.
        with ThreadPoolExecutor(_SYNCED_AT_ONCE) as pool:
            list(pool.map(_synced, sorted(self._to_sync)))
        self._to_sync.clear()

    def forget_after(self, number: int) -> None:
        """Have all behind the log with this number measured anew."""
        for file in self._folder.glob("*.parquet"):
            if int(file.name.partition("-")[0]) > number:
                file.unlink()
                self._to_sync.discard(file)
        self._number = number
        self._goes_on = False


class PlainBench(Uninterrupted):
    """Implements ``Bench`` on an arena without keeping anything: for candidates of a twin."""

    def __init__(self, arena: Arena, capacity_bytes: int) -> None:
        """Any arena; ``capacity_bytes`` of it are used."""
        self._arena = arena
        self.capacity_bytes = capacity_bytes

    def play(self, name: str, trace: Trace) -> Log:
        """Play it."""
        return self._arena.replay(name, trace)

    def idle(self, duration_ns: int) -> None:
        """Let time pass."""
        self._arena.idle(duration_ns)


def _synced(path: Path) -> None:
    try:
        sync(path)
    except OSError as error:
        raise failed_write(path, error) from error


def _is_of(log: Log, trace: Trace) -> bool:
    """Whether it is the log of these requests; fio leaves out the last few where several are in flight."""
    asked = trace.verbs != FLUSH
    count = len(log.offsets)
    if not int(asked.sum()) - trace.depth < count <= int(asked.sum()):
        return False
    return trace.depth > 1 or bool(np.array_equal(np.sort(log.offsets), np.sort(trace.offsets[asked])))


def _read(file: Path) -> Log:
    try:
        metadata = pl.read_parquet_metadata(file)
        # Older ones do not say what their moments are known to.
        return Log.from_frame(pl.read_parquet(file), int(metadata["ended_ns"]), int(metadata.get("grain_ns", 0)))
    except (OSError, KeyError, ValueError, pl.exceptions.PolarsError) as error:
        raise UsageError(f"`{file}` cannot be read: {error}", hint="remove it to have it measured again") from error
