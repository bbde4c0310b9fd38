"""Ballast: bands that are dirty first, so that a drive which cleans at once is busy with them for a while.

After each turn of the host such a drive does one operation of cleaning, and in silence one after the other. What is
written behind ballast stays in its log meanwhile, and can be looked at. Memory gathers ballast, so hundreds of bands
become dirty within a few visits to the log, between which only a few operations of cleaning come.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from shakedown.fit.place import aligned
from shakedown.fit.trace import WRITE, Bench, Found, Ints, Log, Trace

_BANDS: Final = 400
_AT: Final = 0.1
SHARE: Final = 0.15
_FEWEST: Final = 20
_MOST_STEP_BYTES: Final = 512 << 20
_PIECE_STEP_BYTES: Final = 64 << 10
# Reading it and writing it back are two operations at least; of most bands they are many more.
_OPERATIONS: Final = 3
_LONG_NS: Final = 1_000_000_000
# Until what was written apart from ballast is home.
CLEAN_NS: Final = 15_000_000_000
# To clean a band takes no longer than reading and writing it so many times at so many bytes a second.
_PASSES: Final = 3
_BYTES_A_SECOND: Final = 100e6
_USUAL_BAND_BYTES: Final = 256 << 20


@dataclass
class Ballasted:
    """Implements ``Bench``. The first that is written behind a silence comes behind ballast."""

    bench: Bench
    writes: int = 2
    """To each band of ballast: more than anything else that is written to one band, where the dirtiest go first."""
    bands: int = _BANDS
    band_bytes: float = _USUAL_BAND_BYTES
    """Of a band of the drive, or more."""
    _left: float = field(default=0.0)
    _laid_bytes: float = field(default=0.0)

    @property
    def capacity_bytes(self) -> int:
        """Size of the drive."""
        return self.bench.capacity_bytes

    def play(self, name: str, trace: Trace) -> Log:
        """Play a trace."""
        if self._left <= 0 and (trace.verbs == WRITE).any():
            self.lay()
        self._left -= len(trace.offsets)
        return self.bench.play(name, trace)

    def idle(self, duration_ns: int) -> None:
        """Leave the drive alone; all goes home, ballast first."""
        if duration_ns >= _LONG_NS:
            self.clean()
        else:
            self.bench.idle(duration_ns)

    def clean(self) -> None:
        """Let all go home."""
        self.bench.idle(CLEAN_NS + int(self._laid_bytes * _PASSES / _BYTES_A_SECOND * 1e9))
        self._left = self._laid_bytes = 0.0

    def in_one_go(self, course: Callable[[], Found], undo: Callable[[Bench], None] | None = None) -> Found:
        """As the bench does; nothing is left of ballast where the course begins anew."""
        begun = False

        def from_clean() -> Found:
            nonlocal begun
            if begun:
                self.clean()
            begun = True
            return course()

        return self.bench.in_one_go(from_clean, undo)

    def lay(self) -> None:
        """Write ballast, as fast as it is taken."""
        self._left = float(_OPERATIONS * self.bands)
        self.put("ballast", self.places(self.bands, self.writes))

    def put(self, name: str, places: Ints) -> Log:
        """Write something to each of these places, all of them as fast as they are taken."""
        log = self.bench.play(name, Trace.writes(places, flush_every=len(places)))
        self._laid_bytes += len(np.unique(places // int(self.band_bytes))) * self.band_bytes
        return log

    def places(self, bands: int, writes: int, at: float = _AT, share: float = SHARE) -> Ints:
        """So many writes to each of so many bands from a share of the capacity on, over another, all bands in turn."""
        step = min(_MOST_STEP_BYTES, aligned(share * self.capacity_bytes / max(bands, _FEWEST)))
        firsts = aligned(at * self.capacity_bytes) + np.arange(bands) * step
        return np.asarray((firsts[None, :] + np.arange(writes)[:, None] * _PIECE_STEP_BYTES).ravel())

    def band_by_band(self, bands: int, writes: int) -> Ints:
        """Such places, one band after the other, so that each makes room as it is cleaned."""
        return self.places(bands, writes).reshape(writes, bands).T.ravel()
