"""Watching for a rate that has settled."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from shakedown.analysis.condition import Steady
from shakedown.analysis.watch.blocks import Blocks
from shakedown.sample import Sample
from shakedown.units import format_duration

_BLOCKS: Final = 10


class SteadyWatcher:
    """Compares the tenths of the last window with their mean: a trend and a wide swing both show in them.

    A rate of zero is a stall, not a steady state.
    """

    def __init__(self, condition: Steady) -> None:
        """Begin with an empty window."""
        self._condition = condition
        self._blocks = Blocks(condition.window_ns // _BLOCKS)
        self._recent: deque[float] = deque(maxlen=_BLOCKS)

    def see(self, samples: Sequence[Sample]) -> str | None:
        """See `Watcher.see`."""
        for sample in samples:
            for amount in self._blocks.add(sample.start_ns, sample.duration_ns, sample.bytes):
                self._recent.append(amount)
                if self._is_steady():
                    return (
                        f"the rate has stayed within {self._condition.within:.0%} of its mean"
                        f" for {format_duration(self._condition.window_ns)}"
                    )
        return None

    def _is_steady(self) -> bool:
        mean = sum(self._recent) / len(self._recent)
        allowed = self._condition.within * mean
        return mean > 0 and len(self._recent) == _BLOCKS and all(abs(a - mean) <= allowed for a in self._recent)
