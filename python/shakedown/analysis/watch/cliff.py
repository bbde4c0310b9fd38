"""Watching for the collapse of the rate."""

from __future__ import annotations

from collections.abc import Sequence

from shakedown.analysis.condition import Cliff
from shakedown.analysis.watch.rate import RateWatch
from shakedown.sample import Sample
from shakedown.units import format_duration


class CliffWatcher:
    """Ends the step when its rate has collapsed and stayed low for ``hold``."""

    def __init__(self, condition: Cliff) -> None:
        """Begin with an unknown rate."""
        self._condition = condition
        self._rate = RateWatch(condition)

    def see(self, samples: Sequence[Sample]) -> str | None:
        """See `Watcher.see`.

        When it fell, how far, and so for how long it had stayed there, is for the finding to say, which has all
        samples: here is told what was seen, a mean of blocks, in the first of which it may have fallen.
        """
        for sample in samples:
            if self._rate.add(sample.start_ns, sample.duration_ns, sample.bytes):
                return (
                    f"over {format_duration(self._condition.hold_ns)} the rate was {self._condition.drop:.0%} of the"
                    " established one or below"
                )
        return None
