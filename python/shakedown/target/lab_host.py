"""The lab's host as a modelled drive meets it: a guest that finds its drive, and fio between its jobs."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final, Protocol

import numpy as np

from shakedown.fit.trace import FLUSH, Trace

# In the lab's traces fio looks whether its jobs are over every 10 ms, by a sleep that is 50 µs longer, as Linux' timers
# have it, and five looks at the clock, of which four are the kernel's as it looks for a file. A tick of the kernel's
# that falls into those 50 µs ends the sleep early, so that it takes 0.25 µs less on the average, in one run by so much
# more or less than in another. From the look that found all over to the first request of the next fio it is 17 such
# sleeps and 10 ms, up to so much earlier or later. What is so much, the seed draws.
_SLEEPS_NS: Final = 10_051_030
_SLEEP_OFF_NS: Final = 20
_STARTS_NS: Final = 17 * _SLEEPS_NS + 9_927_000
_OFF_NS: Final = 120_000
# When the guest finds its drive it asks what it is, which the drive answers without its platters, as it answers a flush
# of nothing. Then, with so many looks at the clock on the way, it reads the first block. The guest's own start takes
# until then at least. Before the first fio that makes requests, one is asked for its version, 9 ms later, and another
# one has a look at each job; what they sleep, and the looks at the clock, most of which fio sets its own one by, decide
# at which angle the first request meets the platters.
_GUEST_ASKS: Final = 34
_GUEST_LOOKS_NS: Final = 50_176
_GUEST_STARTS_NS: Final = 5_042_000
_CHECKS_NS: Final = 140_686_500
_FIRST_NS: Final = 17 * _SLEEPS_NS + 8_530_000


class Clock(Protocol):
    """Virtual time, which passes in loads and where it is let pass."""

    @property
    def now_ns(self) -> int:
        """Since it began."""
        ...

    def idle(self, duration_ns: int, /) -> None:
        """Let so much pass."""
        ...


class LabHost:
    """Says how long a drive waits for its host; what differs from run to run is drawn by the seed."""

    def __init__(self, seed: int) -> None:
        """A guest that has not found its drive yet."""
        self._off = Random(seed)
        self._sleeps_ns = _SLEEPS_NS + self._off.randint(-_SLEEP_OFF_NS, _SLEEP_OFF_NS)
        self._checked = 0
        self._began_ns: int | None = None

    def find(self, clock: Clock, replay: Callable[[str, Trace], object]) -> None:
        """Ask the drive what it is, and read its first block."""
        asks = np.zeros(_GUEST_ASKS, np.int64)
        replay("asked", Trace(asks + FLUSH, asks, asks))
        clock.idle(_GUEST_LOOKS_NS)
        replay("found", Trace.reads(asks[:1]))
        clock.idle(max(0, _GUEST_STARTS_NS - clock.now_ns))

    def checked(self) -> None:
        """A fio had a look at a job."""
        self._checked += 1

    def wait_ns(self, now_ns: int) -> int:
        """How long it is to the first request of the next fio: the one before has to see that it is over."""
        if self._began_ns is None:
            starts_ns = _FIRST_NS + self._checked * _CHECKS_NS
        else:
            starts_ns = (self._began_ns - now_ns) % self._sleeps_ns + _STARTS_NS
        return starts_ns + self._off.randint(-_OFF_NS, _OFF_NS)

    def began(self, now_ns: int) -> None:
        """A fio has begun to make requests."""
        self._began_ns = now_ns
