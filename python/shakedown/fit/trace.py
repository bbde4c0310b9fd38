"""Exact requests, and the log of a played trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

READ: Final = 0
WRITE: Final = 1
FLUSH: Final = 3
BLOCK_BYTES: Final = 4096

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Tell = Callable[[str], None]
"""Hears what is measured next."""
Bools = NDArray[np.bool_]

Found = TypeVar("Found")
P = ParamSpec("P")


def whole_blocks(size_bytes: float) -> int:
    """A size or a place, rounded down to whole blocks."""
    return int(size_bytes) // BLOCK_BYTES * BLOCK_BYTES


def at_blocks(places: NDArray[np.integer | np.floating]) -> Ints:
    """Places, each rounded down to where its block begins."""
    return places.astype(np.int64) // BLOCK_BYTES * BLOCK_BYTES


@dataclass(frozen=True)
class Trace:
    """Requests in their order, ``depth`` of them in flight; a flush has neither offset nor length."""

    verbs: Ints
    offsets: Ints
    lengths: Ints
    depth: int = 1

    @staticmethod
    def reads(offsets: Ints, length: int = BLOCK_BYTES, depth: int = 1) -> Trace:
        """Reads of one length."""
        return _alike(READ, offsets, length, depth)

    @staticmethod
    def writes(offsets: Ints, length: int = BLOCK_BYTES, depth: int = 1, *, flush_every: int = 0) -> Trace:
        """Writes of one length, with a flush after every so many (0: none)."""
        trace = _alike(WRITE, offsets, length, depth)
        if not flush_every:
            return trace
        at = np.arange(flush_every, len(offsets) + 1, flush_every)
        return Trace(
            np.insert(trace.verbs, at, FLUSH), np.insert(trace.offsets, at, 0), np.insert(trace.lengths, at, 0)
        )

    @staticmethod
    def durable_writes(offsets: Ints, lengths: Ints) -> Trace:
        """Writes of these lengths, each durable before the next."""
        trace = Trace.writes(offsets, flush_every=1)
        sizes = trace.lengths.copy()
        sizes[::2] = lengths
        return Trace(trace.verbs, trace.offsets, sizes, trace.depth)

    def __add__(self, other: Trace) -> Trace:
        """One after the other, at the depth of the first."""
        pairs = ((self.verbs, other.verbs), (self.offsets, other.offsets), (self.lengths, other.lengths))
        verbs, offsets, lengths = (np.concatenate(pair) for pair in pairs)
        return Trace(verbs, offsets, lengths, self.depth)

    def part(self, where: slice) -> Trace:
        """Some of the requests, flushes counted."""
        return Trace(self.verbs[where], self.offsets[where], self.lengths[where], self.depth)

    def __len__(self) -> int:
        """How many requests."""
        return len(self.verbs)


@dataclass(frozen=True)
class Log:
    """The reads and writes of a played trace in the order of submission (flushes show only as the time they take).

    Times are nanoseconds of one clock that goes on from trace to trace.
    """

    submitted_ns: Ints
    completed_ns: Ints
    offsets: Ints
    lengths: Ints
    verbs: Ints
    ended_ns: int = field(default=0)
    """When the last request of all had completed, a flush included."""
    grain_ns: int = field(default=0)
    """What moments are known to where flushes lie between; latencies are exact."""

    @property
    def latency_ms(self) -> Floats:
        """From submission to completion."""
        return np.asarray((self.completed_ns - self.submitted_ns) / 1e6)

    @property
    def cycle_ms(self) -> Floats:
        """From one submission to the next, the last to the end: at depth 1 a request with the flush behind it."""
        return np.asarray(np.diff(np.append(self.submitted_ns, self.ended_ns)) / 1e6)

    def part(self, where: slice | NDArray[np.bool_]) -> Log:
        """Some of the requests."""
        return Log(
            self.submitted_ns[where],
            self.completed_ns[where],
            self.offsets[where],
            self.lengths[where],
            self.verbs[where],
            self.ended_ns,
            self.grain_ns,
        )

    def to_frame(self) -> pl.DataFrame:
        """A row a request."""
        return pl.DataFrame(
            {
                "submitted_ns": self.submitted_ns,
                "completed_ns": self.completed_ns,
                "offset_bytes": self.offsets,
                "bytes": self.lengths,
                "verb": self.verbs,
            }
        )

    @staticmethod
    def from_frame(frame: pl.DataFrame, ended_ns: int, grain_ns: int) -> Log:
        """The reverse of ``to_frame``."""
        names = ("submitted_ns", "completed_ns", "offset_bytes", "bytes", "verb")
        submitted, completed, offsets, lengths, verbs = (frame[name].to_numpy() for name in names)
        return Log(submitted, completed, offsets, lengths, verbs, ended_ns, grain_ns)


class Bench(Protocol):
    """A drive on which traces are played; time passes only in playing and idling where it is virtual."""

    @property
    def capacity_bytes(self) -> int:
        """Size of the drive."""
        ...

    def play(self, name: str, trace: Trace) -> Log:
        """Play a trace; ``name`` says what for."""
        ...

    def idle(self, duration_ns: int) -> None:
        """Leave the drive alone for about so long."""
        ...

    def in_one_go(self, course: Callable[[], Found], undo: Callable[[Bench], None] | None = None) -> Found:
        """What ``course`` finds, with nothing of it played before an interruption and the rest after that.

        In the meantime a drive rests, and cleans nothing, some or all. So a course that goes by what it has written, or
        by where that lay before, begins anew then, behind ``undo``, unless it first leaves nothing in the cache itself.
        """
        ...


class Uninterrupted:
    """What a bench is that keeps nothing, so that nobody can go on with what it has begun."""

    def in_one_go(self, course: Callable[[], Found], undo: Callable[[Bench], None] | None = None) -> Found:  # noqa: ARG002
        """Just that."""
        return course()


def in_one_go(course: Callable[Concatenate[Any, P], Found]) -> Callable[Concatenate[Any, P], Found]:
    """A course of a bench, or of what has one, that begins anew where it was interrupted."""

    def whole(on: Any, /, *args: P.args, **kwargs: P.kwargs) -> Found:
        bench: Bench = getattr(on, "bench", on)
        return bench.in_one_go(lambda: course(on, *args, **kwargs))

    return update_wrapper(whole, course)


def _alike(verb: int, offsets: Ints, length: int, depth: int) -> Trace:
    count = len(offsets)
    return Trace(np.full(count, verb, np.int64), np.asarray(offsets, np.int64), np.full(count, length, np.int64), depth)
