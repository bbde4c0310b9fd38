"""Watching read probes for the end of a backlog, whichever way the latency goes."""

from __future__ import annotations

from collections.abc import Sequence

from shakedown.analysis.condition import Recovered
from shakedown.analysis.watch.level import LatencyWatch
from shakedown.sample import Sample
from shakedown.units import NS_PER_S, format_duration


class RecoveredWatcher:
    """Ends the step at the first change of the latency level that has lasted for a ``window``, or with ``patience``."""

    def __init__(self, condition: Recovered) -> None:
        """Begin without a level."""
        self._condition = condition
        self._level = LatencyWatch(condition.window_ns, condition.factor)
        self._origin_ns: int | None = None

    def see(self, samples: Sequence[Sample]) -> str | None:
        """See `Watcher.see`."""
        for sample in samples:
            if self._origin_ns is None:
                self._origin_ns = sample.start_ns
            start_ns, duration_ns, latency_ns = sample.start_ns, sample.duration_ns, sample.latency_mean_ns
            probes = sample.count if latency_ns is not None else 0
            worst_s = (sample.latency_max_ns or 0) / NS_PER_S
            change = self._level.add(start_ns, probes, probes * (latency_ns or 0.0) / NS_PER_S, worst_s)
            if change:
                # When, and from what to what, is for the finding to say, which places it among the probes.
                way = "rose" if change.log_ratio > 0 else "fell"
                held = format_duration(change.held_ns)
                return f"the {change.of} latency {way} and has kept to its new level for {held}"
            if start_ns + duration_ns - self._origin_ns >= self._condition.patience_ns:
                return (
                    "no lasting change of the latency level was seen within"
                    f" {format_duration(self._condition.patience_ns)}: no backlog, one that is still there,"
                    " or one whose end changes the latency too little to be told"
                )
        return None
