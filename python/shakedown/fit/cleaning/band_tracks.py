"""How many tracks a band has, and by how much of a turn each band begins later than the one before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from shakedown.fit.cleaning.bands import Bands
from shakedown.fit.drive.tracks import Tracks

_AGREE: Final = 1.25
# What is known worse than this tells a band's tracks no better than other zones do.
_SURE_EDGE: Final = 0.03
_USUAL: Final = 20


def counts(bands: dict[float, Bands], track_bytes: Callable[[float], float]) -> list[float]:
    """How many tracks a band has, at each place where any were seen."""
    return [band.size_bytes.value / track_bytes(at) for at, band in sorted(bands.items())]


def agree(counts: list[float]) -> bool:
    """Whether a band has about as many wherever it lies."""
    return max(counts) <= _AGREE * min(counts)


def likeliest(counts: list[float], edge: Bands | None, outer: Tracks | None) -> int:
    """At the outer edge a track is measured where the bands are; elsewhere a place may lie in another zone."""
    surely = edge is not None and edge.size_bytes.half < _SURE_EDGE * edge.size_bytes.value
    at_edge = counts[0] if surely and outer and agree(counts) else None
    return max(round(at_edge or (float(np.median(counts)) if counts else _USUAL)), 2)


def later_turns(tracks: int, outer: Tracks | None) -> float | None:
    """By how much each band begins later than the one before; None where the layout is not known."""
    if outer is None or not outer.heads:
        return None
    return tracks * (outer.track_skew.value + (outer.cylinder_skew.value - outer.track_skew.value) / outer.heads)
