"""How fast a step goes and how long it will still take, as a line."""

from __future__ import annotations

import time
from collections.abc import Sequence

from shakedown.protocol.expect import expect
from shakedown.protocol.schema import Step
from shakedown.sample import Sample
from shakedown.units import NS_PER_S, format_duration, format_left, format_size

_SMALL_REQUEST_BYTES = 64 * 1024
_JUST_BEGUN_NS = NS_PER_S // 10


class Pace:
    """Adds up a step's samples between two lines. Time is that of the arena, virtual or wall."""

    def __init__(self, step: Step, capacity_bytes: int, *, is_virtual: bool) -> None:
        """Begin at nothing."""
        self._expected = expect(step, capacity_bytes)
        self._is_virtual = is_virtual
        self._began_s = time.monotonic()
        self._origin_ns: int | None = None
        self._now_ns = 0
        self._moved_bytes = 0
        self._speed = "nothing completed yet"
        self._begin_line()

    def _begin_line(self) -> None:
        self._line_from_ns = self._now_ns
        self._bytes = 0
        self._count = 0
        self._waited_ns = 0.0

    def take(self, samples: Sequence[Sample]) -> None:
        """Add the samples of the latest interval."""
        for sample in samples:
            if self._origin_ns is None:
                self._origin_ns = self._line_from_ns = sample.start_ns
            self._now_ns = max(self._now_ns, sample.start_ns + sample.duration_ns)
            self._bytes += sample.bytes
            self._count += sample.count
            self._waited_ns += sample.count * (sample.latency_mean_ns or 0.0)
        self._moved_bytes += sum(sample.bytes for sample in samples)

    def line(self, room: int | None = None) -> str:
        """Rate and latency since the last line on which there was news, time left if it is known, time gone by.

        In ``room`` characters what comes last is left out rather than cut.
        """
        if self._now_ns > self._line_from_ns:
            self._speed = self._rate((self._now_ns - self._line_from_ns) / NS_PER_S)
            self._begin_line()
        wall_ns = (time.monotonic() - self._began_s) * NS_PER_S
        # A real target's samples come late while it stalls, and the clock on the wall goes on.
        elapsed_ns = float(self._now_ns - (self._origin_ns or 0)) if self._is_virtual else wall_ns
        gone = f"{format_duration(elapsed_ns)} gone" if elapsed_ns > _JUST_BEGUN_NS else ""
        parts = list(filter(None, [self._speed, self._left(elapsed_ns), gone]))
        if self._is_virtual:
            parts.append(f"virtual time, {format_duration(wall_ns)} of computing")
        while room is not None and len(parts) > 1 and len(", ".join(parts)) > room:
            parts.pop()
        return ", ".join(parts)

    def _rate(self, seconds: float) -> str:
        if not self._count:
            return "nothing completed"
        small = self._bytes / self._count < _SMALL_REQUEST_BYTES
        rate = f"{self._count / seconds:.3g} IOPS" if small else f"{format_size(self._bytes / seconds)}/s"
        return f"{rate}, latency {format_duration(self._waited_ns / self._count)}"

    def _left(self, elapsed_ns: float) -> str:
        """Only what is known: nothing where a step ends on a condition and has no bound."""
        expected = self._expected
        if expected.duration_ns is not None:
            return format_left(expected.duration_ns - elapsed_ns)
        if expected.amount_bytes is not None and self._moved_bytes:
            share = self._moved_bytes / expected.amount_bytes
            left_ns = elapsed_ns / share - elapsed_ns
            done = f" ({min(share, 1):.0%} done)" if left_ns >= NS_PER_S else ""
            return format_left(left_ns, "about") + done
        if expected.at_most_ns is not None:
            return format_left(expected.at_most_ns - elapsed_ns, "at most")
        return ""
