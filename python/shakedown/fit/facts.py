"""What is found of a drive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shakedown.fit.cache import Cache
from shakedown.fit.cleaning import band_tracks, moving
from shakedown.fit.drive import dram, parking, platters, seek, settle, tracks
from shakedown.fit.drive.whereabouts import Moved
from shakedown.fit.estimate import Estimate
from shakedown.fit.log import layout
from shakedown.fit.log.placement import Place

SHARE_OF_PLACE: Final[dict[Place, float]] = {"outer": 0.0, "inner": 1.0, "spread": 0.3, "flash": 0.0}
MOVED: Final = 0.5
"""Of a shingled drive a larger share of what was written lies elsewhere; of others a few blocks seem to, being late."""


@dataclass
class Facts:
    """What was found; None is what was not."""

    capacity_bytes: int
    turn_ms: Estimate
    link: dram.Link
    rates: tuple[Estimate, ...]
    """Bytes that pass under the heads in a second, at ``platters.SHARES``."""
    outer: tracks.Tracks | None
    inner: tracks.Tracks | None
    seeks: dict[float, Estimate]
    read_segments: int
    read_ahead: Estimate
    bursts: dram.Bursts
    queue_gain: float
    parking: parking.Parking | None
    moved: Moved
    cache: Cache | None = None
    left_at_once: float = 0.0
    """Which share of blocks lay elsewhere right behind their writing, and soon no longer there."""
    in_flash_at_once: bool = False
    """Whether in flash."""
    blur_turns: float = 0.0
    """What angles are known to."""
    settling: settle.Settling | None = None

    @property
    def surface(self) -> seek.Surface:
        """Where on the stroke an offset lies."""
        return surface_of(self.capacity_bytes, self.rates)

    @property
    def cleans_at_once(self) -> bool:
        """Whether it is shingled, and what it has cached is home at once: before it is seen, unless behind ballast."""
        return self.left_at_once > MOVED

    @property
    def cuts_visits(self) -> bool:
        """Whether a large write is several visits to the log: a bridge cuts it, and each command is durable."""
        return self.link.cuts and not self.bursts.write_back

    @property
    def commands(self) -> tuple[int, ...]:
        """Into commands of one of these sizes a large write is cut, each of which visits the log."""
        return self.link.commands if self.cuts_visits and self.link.commands else (layout.WHOLE,)

    @property
    def overhead_ms(self) -> float:
        """What every request takes without any motion."""
        return self.link.overhead_us.value / 1e3

    @property
    def skews(self) -> tuple[float, ...]:
        """By how much of a turn a track, and a cylinder, begins later than the one before ends; empty if not known."""
        return (self.outer.track_skew.value, self.outer.cylinder_skew.value) if self.outer else ()

    @property
    def band_counts(self) -> list[float]:
        """How many tracks a band has, at each place where any were seen."""
        return band_tracks.counts(self.cache.bands, self.track_bytes) if self.cache else []

    @property
    def band_tracks(self) -> int:
        """How many a band most likely has."""
        edge = self.cache.bands.get(0.0) if self.cache else None
        return band_tracks.likeliest(self.band_counts, edge, self.outer)

    @property
    def bands_differ(self) -> bool:
        """Whether a block comes at another angle if its band lies where the next one was."""
        turns = band_tracks.later_turns(self.band_tracks, self.outer)
        return turns is None or not moving.look_alike(np.array(turns)).any()

    def rate(self, offset: float) -> float:
        """Bytes a second at an offset."""
        return float(np.interp(offset / self.capacity_bytes, platters.SHARES, [rate.value for rate in self.rates]))

    @property
    def longest_read_ms(self) -> float:
        """What a read takes at most that waits for nothing but the heads and the platters."""
        return self.overhead_ms + self.turn_ms.value + max(one.value for one in self.seeks.values()) * 1.2

    def track_bytes(self, share: float) -> float:
        """Bytes of a track at a share of the capacity, by the rates; of skews that nobody saw they are as usual."""
        turns_ms = self.turn_ms.value * platters.USUAL_TURNS
        outer = self.outer.track_bytes.value if self.outer else self.rates[0].value * turns_ms / 1e3
        return outer * self.rate(share * self.capacity_bytes) / self.rates[0].value


def surface_of(capacity_bytes: int, found: tuple[Estimate, ...]) -> seek.Surface:
    """Where on the stroke offsets lie, by the rates at ``platters.SHARES``."""
    return seek.Surface.of_rates(np.array(platters.SHARES) * capacity_bytes, np.array([rate.value for rate in found]))
