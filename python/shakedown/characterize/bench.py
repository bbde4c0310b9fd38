"""An arena as a bench: every trace is kept with its log, so that estimates can be made again without the target."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from shakedown.errors import UsageError
from shakedown.fit.trace import Log, Trace
from shakedown.target.arena import Arena


class ArenaBench:
    """Implements ``Bench``. What the folder holds already is taken from there: that is how a run is resumed."""

    def __init__(self, arena: Arena | None, folder: Path, capacity_bytes: int) -> None:
        """``folder`` takes the logs; without an arena they must all be there."""
        self._arena = arena
        self._folder = folder
        self._number = 0
        self._played = False
        self.capacity_bytes = capacity_bytes

    def play(self, name: str, trace: Trace) -> Log:
        """The log of a trace, from the folder or the arena. Raises UsageError when neither has it."""
        self._number += 1
        file = self._folder / f"{self._number:05d}-{name}.parquet"
        if file.exists():
            return _read(file)
        if self._arena is None:
            raise UsageError(f"`{file}` is missing", hint="measure it: give the target as well")
        log = self._arena.replay(name, trace)
        self._played = True
        beside = file.with_suffix(".new")
        log.to_frame().write_parquet(beside, metadata={"ended_ns": str(log.ended_ns)})
        beside.rename(file)
        return log

    def idle(self, duration_ns: int) -> None:
        """Leave the target alone, unless what followed has been measured before."""
        if self._arena is not None and not any(self._folder.glob(f"{self._number + 1:05d}-*.parquet")):
            self._arena.idle(duration_ns)


class PlainBench:
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


def _read(file: Path) -> Log:
    try:
        ended = int(pl.read_parquet_metadata(file)["ended_ns"])
        return Log.from_frame(pl.read_parquet(file), ended)
    except (OSError, KeyError, ValueError, pl.exceptions.PolarsError) as error:
        raise UsageError(f"`{file}` cannot be read: {error}", hint="remove it to have it measured again") from error
