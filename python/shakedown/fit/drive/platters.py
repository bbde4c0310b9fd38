"""What passes under the heads all over the surface: as much as long reads give, or more where the link gives no more.

A rate as high as the link's says no more than that the platters are no slower: it neither confirms a track nor
contradicts a larger one. But the angles of single reads tell tracks all the same, and with their skews what passes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from shakedown.fit.drive import dram, rates, tracks
from shakedown.fit.drive.tracks import Tracks
from shakedown.fit.estimate import Estimate
from shakedown.fit.trace import BLOCK_BYTES, Bench, whole_blocks

USUAL_SKEW_DEGREES: Final = 40.0
USUAL_TURNS: Final = 1 + USUAL_SKEW_DEGREES / 360
"""What a track takes where it is one of many in a row, if no skew was seen."""
SHARES: Final = tuple(float(share) for share in np.linspace(0, 1, 9))
_OUTER_TRACKS: Final = 48
_FEW_TRACKS: Final = 8
# The innermost of them begin so far before the end.
_BEFORE_END: Final = 0.999
_ROOM_TRACKS: Final = 12
# Of a link that gave a tenth more than the platters nothing showed in a rate.
_NEAR_LINK: Final = 0.93
# Where the link does not show: no surface has so few zones that three places in a row are as fast.
_AS_FAST: Final = 0.002
_IN_A_ROW: Final = 3


@dataclass(frozen=True)
class Platters:
    """What was found."""

    rates: tuple[Estimate, ...]
    """Bytes that pass in a second at ``SHARES``, skews included; no upper end: they are known to be no less."""
    outer: Tracks | None
    inner: Tracks | None


def held_back(found: tuple[Estimate, ...], link: dram.Link) -> list[bool]:
    """At which of the places the link may give no more than was read, whatever passes under the heads."""
    if link.seen:
        most = rates.CHUNK_BYTES / link.answer_ms(rates.CHUNK_BYTES) * 1e3
        return [rate.value > _NEAR_LINK * most for rate in found]
    most = max(rate.value for rate in found)
    as_fast = [rate.value > (1 - _AS_FAST) * most for rate in found]
    return as_fast if sum(as_fast) >= _IN_A_ROW else [False] * len(found)


def beside_ms(passing: tuple[Estimate, ...], link: dram.Link) -> float:
    """What reading a block takes besides motion and its passing under the heads; meanwhile a fast link gives it on."""
    overhead_ms = link.overhead_us.value / 1e3
    return max(link.answer_ms(BLOCK_BYTES) - BLOCK_BYTES / passing[0].value * 1e3, overhead_ms)


def measure(bench: Bench, found: tuple[Estimate, ...], link: dram.Link, turn_ms: float) -> Platters:
    """From the rates of long reads at ``SHARES``."""
    least = held_back(found, link)
    passing = [replace(rate, high=math.inf) if held else rate for rate, held in zip(found, least, strict=True)]
    outer = tracks.measure(bench, 0, found[0].value, turn_ms, _OUTER_TRACKS, least=least[0])
    if outer and least[0]:
        passing[0] = tracks.passing(outer, outer, turn_ms)
    inner = _few(bench, SHARES[-1], found[-1].value, turn_ms, least=least[-1])
    # So few show that jumps of the host may pass for theirs; rates tell them then.
    if inner and outer and not _belong(inner, passing[-1], outer, passing[0]):
        inner = None
    for place in np.flatnonzero(least[1:]) + 1:
        is_last = SHARES[place] == SHARES[-1]
        seen = inner if is_last else _few(bench, SHARES[place], found[place].value, turn_ms, least=True)
        if seen and (outer is None or tracks.same_skews(seen, outer)):
            passing[place] = tracks.passing(seen, outer or seen, turn_ms)
    return Platters(tuple(_between(passing)), outer, inner)


def _few(bench: Bench, share: float, rate: float, turn_ms: float, *, least: bool) -> Tracks | None:
    """Some tracks from a share of the capacity on, or the innermost."""
    last = int(bench.capacity_bytes * _BEFORE_END - _ROOM_TRACKS * rate * turn_ms / 1e3)
    first = whole_blocks(min(share * bench.capacity_bytes, last))
    return tracks.measure(bench, first, rate, turn_ms, _FEW_TRACKS, least=least)


def _belong(inner: Tracks, inner_rate: Estimate, outer: Tracks, outer_rate: Estimate) -> bool:
    """Whether both may be tracks of one drive: their sizes differ as rates do, or their skews are the same."""
    if math.isinf(inner_rate.high):
        return tracks.same_skews(inner, outer)
    return tracks.share_skews(inner, inner_rate.value, outer, outer_rate.value)


def _between(passing: list[Estimate]) -> list[Estimate]:
    """Where tracks did not show: no more passes than further out, no less than further in and than was read."""
    known = [place for place, rate in enumerate(passing) if math.isfinite(rate.high)]
    bounded = list(passing)
    for place in (place for place in range(len(passing)) if place not in known):
        outwards, inwards = [one for one in known if one < place], [one for one in known if one > place]
        if outwards:
            high = passing[outwards[-1]].high
            low = max([passing[place].low, *(passing[one].low for one in inwards[:1])])
            bounded[place] = Estimate((low + high) / 2, low, high)
    return bounded
