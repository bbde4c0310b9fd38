"""What is written before a look: to move the log's head on, to leave nothing in it, and to have the rest cleaned."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from shakedown.fit.cache import Cache
from shakedown.fit.cleaning import bands, forced
from shakedown.fit.log import length
from shakedown.fit.trace import Bench, whole_blocks

SETTLE_NS: Final = 20_000_000_000
"""What any drive is left alone for."""
SETTLE_BANDS: Final = 8
"""Which rewriting may leave behind, at either end."""


def filler_of(bench: Bench, cache: Cache) -> length.Filler:
    """What moves the log's head on; within a band, where bands are known."""
    if cache.lazy or 0.5 not in cache.bands:
        return length.Filler(bench, cache.layout)
    return filler_in_band(bench, cache)


def filler_in_band(bench: Bench, cache: Cache) -> length.Filler:
    """The same, whose places lie within the band in the middle."""
    size, border = cache.bands[0.5].size_bytes.value, cache.bands[0.5].border
    marks_at = whole_blocks(border + forced.FREE_BANDS * size)
    room = length.Room(whole_blocks(border + 0.06 * size), int(0.88 * size), marks_at)
    return length.Filler(bench, cache.layout, room)


def pressing(bench: Bench, cache: Cache) -> bands.Press:
    """What makes the drive clean what was just written: a lazy one needs a full log for it."""
    if not cache.lazy or cache.length is None:
        return emptying(bench, cache)
    filler, length_bytes = filler_of(bench, cache), cache.length.bytes_found.value
    return replace(
        emptying(bench, cache), after=lambda at, count, size: filler.near(at).press(length_bytes, count, size)
    )


def emptying(bench: Bench, cache: Cache) -> bands.Press:
    """What makes it clean nothing else, where rewriting does not do that: it keeps the rest, or has no streams."""
    if cache.length is None or (cache.streams and not cache.lazy):
        return bands.NO_PRESS
    filler, length_bytes = filler_of(bench, cache), cache.length.bytes_found.value

    def before(offset: int) -> None:
        filler.near(offset).flush_out(length_bytes)
        # One that is not lazy cleans the filler's own place then.
        bench.idle(settling_ns(cache, SETTLE_BANDS))

    return bands.Press(before)


def settling_ns(cache: Cache, count: int) -> int:
    """How long the drive needs for some bands, and for what nobody knows of."""
    return max(bands_ns(cache, count), SETTLE_NS)


def bands_ns(cache: Cache, count: int) -> int:
    """How long the drive needs for so many bands, as far as that is known; 0 where it cleans none by itself."""
    if cache.lazy or cache.rest_ms is None:
        return 0
    return int((cache.rest_ms.high + count * (cache.band_ms.high if cache.band_ms else 0.0)) * 1e6)
