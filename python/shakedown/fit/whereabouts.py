"""Where data lies: a block that was written comes at its old angle only if it lies at its old place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shakedown.fit import rotation
from shakedown.fit.place import aligned, apart, rewrite, scattered
from shakedown.fit.trace import BLOCK_BYTES, Bench, Floats, Ints, Log, Trace

_TOLERANCE_TURNS: Final = 0.03
_FROM_MEMORY_TURNS: Final = 0.06
_BLOCKS: Final = 96
_REGION_BYTES: Final = 96 << 20


@dataclass(frozen=True)
class Watch:
    """Blocks whose angles are known from before they were written."""

    bench: Bench
    name: str
    offsets: Ints
    turn_ms: float
    home: Floats

    @staticmethod
    def over(bench: Bench, name: str, offsets: Ints, turn_ms: float) -> Watch:
        """Read the blocks for the first time."""
        return Watch(bench, name, offsets, turn_ms, _angles(bench, f"{name}-home", offsets, turn_ms))

    def angles(self) -> Floats:
        """Read them again: their angles now, in the order of ``offsets``."""
        return _angles(self.bench, f"{self.name}-now", self.offsets, self.turn_ms)

    def away(self) -> NDArray[np.bool_]:
        """Which of them do not lie where they did."""
        return differ(self.angles(), self.home)


def differ(now: Floats, before: Floats) -> NDArray[np.bool_]:
    """Which angles are not the same, as far as both are known."""
    return np.asarray(np.abs((now - before + 0.5) % 1.0 - 0.5) > _TOLERANCE_TURNS)


def moved_share(bench: Bench, turn_ms: float) -> float:
    """How many of some durably written blocks lie elsewhere afterwards: nearly none, or nearly all."""
    first = aligned(0.4 * bench.capacity_bytes)
    slots = min(_REGION_BYTES, bench.capacity_bytes // 4) // (16 * BLOCK_BYTES)
    offsets = np.sort(scattered(min(_BLOCKS, slots // 2), first, slots, 16 * BLOCK_BYTES))
    watch = Watch.over(bench, "moved", offsets, turn_ms)
    bench.play("moved-write", Trace.writes(offsets[apart(len(offsets))], flush_every=1))
    share = float(np.mean(watch.away()))
    rewrite(bench, "moved-rewrite", first, slots * 16 * BLOCK_BYTES)
    return share


def _angles(bench: Bench, name: str, offsets: Ints, turn_ms: float) -> Floats:
    """Angles in the order of ``offsets``, which rises; NaN where memory answered.

    They are read in an order that is neither theirs nor the one in which any were written, for a log read in its own
    order comes as fast as from memory. The last read goes far away: what the heads read on from there is none of these.
    """
    order = apart(len(offsets))[::-1]
    far = (int(offsets[0]) + bench.capacity_bytes // 2) % bench.capacity_bytes // BLOCK_BYTES * BLOCK_BYTES
    log: Log = bench.play(name, Trace.reads(np.append(offsets[order], far)))
    log = log.part(slice(0, len(offsets)))
    angles = rotation.phases(log, turn_ms)
    angles[log.latency_ms < _FROM_MEMORY_TURNS * turn_ms] = np.nan
    return angles[np.argsort(log.offsets)]
