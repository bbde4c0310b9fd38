"""Watching for the collapse of the rate."""

from __future__ import annotations

from collections.abc import Sequence

from shakedown.analysis.condition import Cliff
from shakedown.analysis.rate import Rate
from shakedown.analysis.watch.rate import RateWatch
from shakedown.sample import Sample
from shakedown.units import format_duration


class CliffWatcher:
    """Ends the step when its rate has collapsed and stayed low for ``hold``."""

    def __init__(self, condition: Cliff) -> None:
        """Begin with an unknown rate."""
        self._condition = condition
        self._rate = RateWatch(condition)
        self._bytes = 0
        self._requests = 0

    def see(self, samples: Sequence[Sample]) -> str | None:
        """See `Watcher.see`."""
        for sample in samples:
            self._bytes += sample.bytes
            self._requests += sample.count
            collapse = self._rate.add(sample.start_ns, sample.duration_ns, sample.bytes)
            if collapse:
                request_bytes = self._bytes / self._requests if self._requests else 0.0
                before, after = (Rate.of(rate, 1.0, request_bytes) for rate in (collapse.before, collapse.after))
                return (
                    f"the rate fell from {before} to {after} about {format_duration(collapse.began_ns)} after the step"
                    f" began and stayed low for {format_duration(self._condition.hold_ns)}"
                )
        return None
