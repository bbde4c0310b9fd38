"""What is played while nobody hears of an end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Final, TypeVar

from shakedown.parallel import cores
from shakedown.units import NS_PER_S, format_duration

T = TypeVar("T")
_EVERY_S: Final = 10.0


def as_ended(playing: Mapping[Future[T], str], told: Callable[[str], None]) -> Iterator[Future[T]]:
    """The futures as they end; ``told`` hears at once which are played, and again where long none of them ends.

    They begin in their order, a core each, so those that are played are the first that have not ended.
    """
    left, began_s = dict(playing), time.monotonic()
    if left:
        told(f"playing {_first(left)}")
    while left:
        ended, _ = wait(left, timeout=_EVERY_S, return_when=FIRST_COMPLETED)
        if not ended:
            told(f"still playing {_first(left)}, {format_duration((time.monotonic() - began_s) * NS_PER_S)} gone")
        for each in [each for each in left if each in ended]:
            del left[each]
            yield each


def _first(left: Mapping[Future[T], str]) -> str:
    return ", ".join(list(left.values())[: cores()])
