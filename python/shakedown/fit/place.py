"""Offsets for writing: neither in sequence nor twice, in a region that one rewriting in sequence makes clean again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from shakedown.fit.trace import FLUSH, WRITE, Bench, Found, Ints, Trace

_CHUNK_BYTES: Final = 1 << 20
_MOST_QUOTIENT: Final = 5
_DESTAGING_NS: Final = 200_000_000
_RUN_UP_BYTES: Final = 64 << 20
# Until some GB are home that lie in the cache as whole bands.
_CLEANED_NS: Final = 60_000_000_000


def scattered(count: int, first: int, slots: int, slot_bytes: int, *, begin: int = 0) -> Ints:
    """``count`` different slots out of ``slots`` from ``first`` on, none near one of those just before it.

    Those from number ``begin`` on, so that a fill can go on where it was.
    """
    step = max(round(slots * 0.6180339887), 1)
    while not _spreads(step, slots):
        step += 1
    return first + ((np.arange(begin, begin + count) * step) % slots) * slot_bytes


def _spreads(step: int, slots: int) -> bool:
    """Whether steps around ``slots`` meet each of them, and come beside none where they were shortly before.

    What is written side by side within a short time becomes one in the drive's memory. After as many steps as a
    convergent of the fraction ``step / slots`` has below its line they are back near where they began, and the larger
    the next partial quotient, the nearer. Any number of slots has one without large ones (Zaremba's conjecture).
    """
    whole, rest = slots, step % slots
    while rest:
        if whole // rest > _MOST_QUOTIENT:
            return False
        whole, rest = rest, whole % rest
    return whole == 1


def rewrite(bench: Bench, name: str, first: int, size_bytes: int) -> None:
    """Write a region in sequence: what a persistent cache held of it is worth nothing any more.

    Begins before it, for a stream has to be known as one first.
    """
    begin = max(first - _RUN_UP_BYTES, 0) // _CHUNK_BYTES * _CHUNK_BYTES
    end = min(first + size_bytes + _CHUNK_BYTES, bench.capacity_bytes) // _CHUNK_BYTES * _CHUNK_BYTES
    offsets = np.arange(begin, end, _CHUNK_BYTES)
    # Nothing of it stays in memory, where the next reads would find it: a flush, and silence for what it missed.
    verbs = np.append(np.full(len(offsets), WRITE), FLUSH)
    lengths = np.append(np.full(len(offsets), _CHUNK_BYTES), 0)
    bench.play(name, Trace(verbs, np.append(offsets, 0), lengths, depth=4))
    bench.idle(_DESTAGING_NS)


def in_region(bench: Bench, name: str, first: int, size_bytes: int, course: Callable[[], Found]) -> Found:
    """What a course finds that writes to a region, which is rewritten behind it.

    It goes by where the data lay before, and by which bands were clean. So after an interruption, and however short a
    rest, the region is rewritten before the course begins anew, too. Where rewriting goes through the cache it leaves
    whole bands there, which are home sooner than as many with a piece or two in each.
    """

    def whole() -> Found:
        found = course()
        rewrite(bench, name, first, size_bytes)
        return found

    def undo(plain: Bench) -> None:
        rewrite(plain, name, first, size_bytes)
        plain.idle(_CLEANED_NS)

    return bench.in_one_go(whole, undo)


def aligned(offset: float) -> int:
    """An offset at a whole MiB."""
    return int(offset) // _CHUNK_BYTES * _CHUNK_BYTES


def apart(count: int) -> Ints:
    """Numbers from 0 in an order in which none is near the one before it, so that no read-ahead leads there."""
    return scattered(count, 0, count, 1)
