"""Which band is cleaned first: the one that has been dirty longest, or the one that holds most?

Some bands get a piece each, and then others several. Which of them are home first, in a rest that is much too short for
all, tells the order.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from shakedown.fit.cleaning.bands import NO_PRESS, Bands, Press
from shakedown.fit.cleaning.marks import moved, twice
from shakedown.fit.drive.whereabouts import Sight, Watch
from shakedown.fit.place import in_region
from shakedown.fit.trace import BLOCK_BYTES, Bench, Ints, Trace, at_blocks

_BANDS: Final = 12
_FEWEST: Final = 4
_PIECES: Final = 6
_PIECE_BYTES: Final = 128 << 10
_INSIDE: Final = 0.4
_SHARE: Final = 0.3
_FREE_BANDS: Final = 2
_PART: Final = 0.25
_LOOKS: Final = 24
_CLEARLY: Final = 0.4
_NEARLY_ALL: Final = 0.8


def most_dirty_first(
    bench: Bench, bands: Bands, sight: Sight, rest_ms: float, band_ms: float, press: Press = NO_PRESS
) -> bool | None:
    """Whether bands with many pieces go before older ones with one each; None where neither goes clearly before.

    Heads that clean do so after ``rest_ms`` of silence, and need about ``band_ms`` for a band.
    """
    size = bands.size_bytes.value
    count = min(_BANDS, int(_SHARE * bench.capacity_bytes / size) // 2)
    if count < _FEWEST:
        return None
    # Every other one, so that neither lies further off; a piece in the middle, for the border is not known to a track.
    inside = bands.border + (np.arange(2 * count) + _FREE_BANDS + _INSIDE) * size
    places = at_blocks(inside)
    old, new = places[::2], (places[1::2, None] + np.arange(_PIECES) * _PIECE_BYTES).ravel()

    def course() -> bool | None:
        return _newer_first(bench, old, new, sight, rest_ms + _PART * count * band_ms, press)

    return in_region(bench, "order-rewrite", int(places[0]), int((2 * count + 1) * size), course)


def _newer_first(bench: Bench, old: Ints, new: Ints, sight: Sight, silence_ms: float, press: Press) -> bool | None:
    """Whether the bands of the new pieces are home before those of the old ones, of which a silence cleans a part."""
    first = int(old[0])
    press.before(first)
    offsets = np.concatenate([old, new])
    is_old = np.isin(np.sort(offsets), old)
    watch = Watch.over(bench, "order", np.sort(offsets), sight)
    bench.play("order-write", Trace.writes(offsets, flush_every=1))
    press.after(first, len(offsets), BLOCK_BYTES)
    before = twice(watch)
    # On a busy host a look may take long enough to begin that the first bands come home meanwhile.
    early = sight.differ(*before) | ~sight.differ(before[1], watch.home)
    for _ in range(_LOOKS):
        bench.idle(int(silence_ms * 1e6))
        came = moved(watch, before) | early
        older, newer = float(came[is_old].mean()), float(came[~is_old].mean())
        if abs(older - newer) > _CLEARLY:
            return newer > older
        if min(older, newer) > _NEARLY_ALL:
            break
    return None
