"""The two conditions that need no judgement: so many bytes, so much time."""

from __future__ import annotations

from collections.abc import Sequence

from shakedown.analysis.condition import Bytes, Time
from shakedown.sample import Sample
from shakedown.units import format_duration, format_size


class BytesWatcher:
    """Ends the step once so many bytes have been moved."""

    def __init__(self, condition: Bytes) -> None:
        """Begin at zero."""
        self._wanted_bytes = condition.size_bytes
        self._moved_bytes = 0

    def see(self, samples: Sequence[Sample]) -> str | None:
        """See `Watcher.see`."""
        self._moved_bytes += sum(sample.bytes for sample in samples)
        if self._moved_bytes < self._wanted_bytes:
            return None
        return f"{format_size(self._moved_bytes)} have been moved, {format_size(self._wanted_bytes)} were asked for"


class TimeWatcher:
    """Ends the step once so much time has passed since its first sample began."""

    def __init__(self, condition: Time) -> None:
        """Wait for the first sample."""
        self._wanted_ns = condition.duration_ns
        self._origin_ns: int | None = None

    def see(self, samples: Sequence[Sample]) -> str | None:
        """See `Watcher.see`."""
        if not samples:
            return None
        if self._origin_ns is None:
            self._origin_ns = samples[0].start_ns
        elapsed_ns = samples[-1].start_ns + samples[-1].duration_ns - self._origin_ns
        return None if elapsed_ns < self._wanted_ns else f"{format_duration(self._wanted_ns)} have passed"
