"""What is played, how much of all is done, and how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from shakedown.parallel import cores
from shakedown.units import NS_PER_S, format_duration, format_left

T = TypeVar("T")
_EVERY_S: Final = 10.0

EFFORTS: Final = {
    "sequential-32k": 25.0,
    "archive-surface": 9.0,
    "slim-surface": 9.0,
    "durable-1m": 5.0,
    "raid6-new": 16.0,
    "raid6-used": 16.0,
    "raidz1-shingled": 5.0,
}
"""About how many times as long as any other these experiments and rebuilds take to play."""


def effort(name: str) -> float:
    """Of an experiment or a rebuild of arrays."""
    return EFFORTS.get(name, 1.0)


@dataclass(frozen=True)
class Piece(Generic[T]):
    """What is played: ``shown`` is what people hear of it. What comes of it brings along the seconds it took."""

    name: str
    shown: str
    future: Future[tuple[T, float]]


class Waiting:
    """Waits for all that is played, part by part, and tells of it."""

    def __init__(self, names: Iterable[str], told: Callable[[str], None], now_s: Callable[[], float] = time.monotonic):
        """``names`` are all that will be played."""
        efforts = [effort(name) for name in names]
        self._total, self._effort = len(efforts), sum(efforts)
        self._told, self._now_s = told, now_s
        self._began_s = now_s()
        self._done = 0
        self._effort_done = 0.0
        self._seconds = 0.0

    def as_ended(self, pieces: Iterable[Piece[T]]) -> Iterator[tuple[str, T]]:
        """Name and result of each as it ends.

        It is told at once which are played, and again where long none of them ends. They begin in their order, a core
        each, so those that are played are the first that have not ended.
        """
        left = {piece.future: piece for piece in pieces}
        began_s: dict[str, float] = {}
        if left:
            self._told(f"playing {_names(_playing(left))}; {self._done} of {self._total} done")
        while left:
            for piece in _playing(left):
                began_s.setdefault(piece.name, self._now_s())
            ended, _ = wait(left, timeout=_EVERY_S, return_when=FIRST_COMPLETED)
            if not ended:
                gone = format_duration((self._now_s() - self._began_s) * NS_PER_S)
                far = f"{self._done} of {self._total} done{self._left(_playing(left), began_s)}"
                self._told(f"still playing {_names(_playing(left))}; {far}, {gone} gone")
            for future in [each for each in left if each in ended]:
                piece = left.pop(future)
                result, seconds = future.result()
                self._count(piece, seconds)
                rest = self._left(_playing(left), began_s)
                self._told(f"{self._done} of {self._total}: {piece.name}, {seconds:.1f} s{rest}")
                yield piece.name, result

    def _count(self, piece: Piece[T], seconds: float) -> None:
        self._done += 1
        self._effort_done += effort(piece.name)
        self._seconds += seconds

    def _left(self, playing: list[Piece[T]], began_s: Mapping[str, float]) -> str:
        """Empty before anything has ended, and when nothing is left. All cores work until the longest piece ends."""
        if not self._done or self._done == self._total:
            return ""
        pace_s = self._seconds / self._effort_done
        now_s = self._now_s()
        spent_s = [min(now_s - began_s.get(each.name, now_s), pace_s * effort(each.name)) for each in playing]
        longest_s = max((pace_s * effort(each.name) - s for each, s in zip(playing, spent_s, strict=True)), default=0)
        workers = min(cores(), self._total - self._done)
        left_s = max((pace_s * (self._effort - self._effort_done) - sum(spent_s)) / workers, longest_s)
        return f", {format_left(left_s * NS_PER_S, 'about')}"


def _playing(left: Mapping[Future[tuple[T, float]], Piece[T]]) -> list[Piece[T]]:
    return list(left.values())[: cores()]


def _names(pieces: list[Piece[T]]) -> str:
    return ", ".join(piece.shown for piece in pieces)
