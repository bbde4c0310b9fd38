"""Watching a running step for its end, interval by interval, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shakedown.analysis.condition import Bytes, Cliff, Recovered, Steady, Time
from shakedown.analysis.watch.amount import BytesWatcher, TimeWatcher
from shakedown.analysis.watch.cliff import CliffWatcher
from shakedown.analysis.watch.recovered import RecoveredWatcher
from shakedown.analysis.watch.steady import SteadyWatcher
from shakedown.sample import Sample

__all__ = ["Watcher", "make_watcher"]


class Watcher(Protocol):
    """Sees a step's samples in the order of their time and says when the step is over."""

    def see(self, samples: Sequence[Sample]) -> str | None:
        """Take the next samples (any number): None to go on, else the sentence why the step ends."""


def make_watcher(condition: Cliff | Steady | Recovered | Bytes | Time) -> Watcher:
    """Make a watcher for one step; it keeps what it has seen, so each step needs its own."""
    match condition:
        case Cliff():
            return CliffWatcher(condition)
        case Steady():
            return SteadyWatcher(condition)
        case Recovered():
            return RecoveredWatcher(condition)
        case Bytes():
            return BytesWatcher(condition)
        case Time():
            return TimeWatcher(condition)
