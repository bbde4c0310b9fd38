"""Parked heads against others that are late: a drive that still cleans, and one that is late by chance."""

from __future__ import annotations

import numpy as np
import pytest

from shakedown.fit.cleaning import bands
from shakedown.fit.drive import parking
from shakedown.fit.trace import Log, Trace, Uninterrupted

TURN_MS = 11.1
SLOW_MS = 56.0
_CLEANS_AFTER_MS = 1400.0
_MOST_PLAYED = 500


class Drive(Uninterrupted):
    """Reads take a seek and some angle. It cleans in silence, for so long in all, parks its heads, stops its platters.

    Until so much time has gone by it empties its memory, and nothing rests.
    """

    capacity_bytes = 1 << 40

    def __init__(
        self,
        *,
        cleans_s: float,
        parks_after_s: float,
        unpark_ms: tuple[float, float] = (250.0, 250.0),
        stops_after_s: float = 1e6,
        empties_for_s: float = 0,
    ) -> None:
        self._draw = np.random.default_rng(1)
        self._left_ns = int(cleans_s * 1e9)
        self._parks_after_ns = int(parks_after_s * 1e9)
        self._unpark_ms = unpark_ms
        self._stops_after_ns = int(stops_after_s * 1e9)
        self._empties_until_ns = int(empties_for_s * 1e9)
        self.now_ns = self._rested_ns = self._played = 0

    def idle(self, duration_ns: int) -> None:
        worked_ns = min(max(duration_ns - int(_CLEANS_AFTER_MS * 1e6), 0), self._left_ns)
        self._left_ns -= worked_ns
        self._rested_ns = duration_ns - worked_ns
        self.now_ns += duration_ns

    def play(self, name: str, trace: Trace) -> Log:
        self._played += 1
        assert self._played < _MOST_PLAYED, "it does not end"
        latency = self._draw.uniform(3, 3 + 20 + TURN_MS, len(trace))
        if self._left_ns and self._rested_ns >= _CLEANS_AFTER_MS * 1e6:
            latency[0] += self._draw.uniform(50, 150)
        elif self.now_ns < self._empties_until_ns:
            pass
        elif self._rested_ns > self._stops_after_ns:
            latency[0] = self._draw.uniform(6_500, 7_500)
        elif self._rested_ns > self._parks_after_ns:
            latency[0] = self._draw.uniform(*self._unpark_ms) + self._draw.uniform(0, TURN_MS)
        self._rested_ns = 0
        completed = self.now_ns + np.cumsum(latency * 1e6).astype(np.int64)
        self.now_ns = int(completed[-1])
        submitted = completed - (latency * 1e6).astype(np.int64)
        return Log(submitted, completed, trace.offsets, trace.lengths, trace.verbs, self.now_ns)


@pytest.mark.parametrize("cleans_s", [0, 5, 400])
def test_heads_that_clean_are_not_taken_for_parked_ones(cleans_s: float) -> None:
    drive = Drive(cleans_s=cleans_s, parks_after_s=300)
    found = parking.measure(drive, SLOW_MS, TURN_MS, _CLEANS_AFTER_MS)
    assert found.heads
    assert found.heads.after_s.low <= 300 <= found.heads.after_s.high
    assert found.heads.back_ms.value == pytest.approx(250, abs=TURN_MS / 2)
    assert found.platters is None


@pytest.mark.parametrize("parks_after_s", [1.0, 1.6, 1.8, 2.0])
@pytest.mark.parametrize("cleans_s", [0, 200])
def test_heads_that_are_parked_about_when_the_drive_would_clean_are_told_by_how_alike_reads_are(
    parks_after_s: float, cleans_s: float
) -> None:
    """Of heads that parked after a little more silence than the drive cleans after nothing was told."""
    found = parking.measure(Drive(cleans_s=cleans_s, parks_after_s=parks_after_s), SLOW_MS, TURN_MS, _CLEANS_AFTER_MS)
    assert found.told
    assert found.heads
    assert found.heads.after_s.low <= parks_after_s <= found.heads.after_s.high


@pytest.mark.parametrize("stops_after_s", [7.0, 12.0, 80.0, 590.0])
@pytest.mark.parametrize("parks_after_s", [6.0, 1e6])
def test_platters_that_stand_are_told_from_heads_that_are_parked(parks_after_s: float, stops_after_s: float) -> None:
    drive = Drive(cleans_s=0, parks_after_s=parks_after_s, stops_after_s=stops_after_s)
    found = parking.measure(drive, SLOW_MS, TURN_MS, None)
    assert found.platters
    assert found.platters.after_s.low <= stops_after_s <= found.platters.after_s.high <= 1.2 * stops_after_s
    assert found.platters.back_ms.low <= 7_000 <= found.platters.back_ms.high
    assert bool(found.heads) == (parks_after_s < 600)
    if found.heads:
        assert found.heads.after_s.low <= parks_after_s <= found.heads.after_s.high


@pytest.mark.parametrize("empties_for_s", [3, 12, 40, 200])
def test_a_drive_that_empties_its_memory_at_first_is_looked_at_again(empties_for_s: float) -> None:
    """Heads that park after 4 s were told to park after 16.5: the looks before had met an arm that was busy."""
    found = parking.measure(Drive(cleans_s=0, parks_after_s=4, empties_for_s=empties_for_s), SLOW_MS, TURN_MS, None)
    assert found.heads
    assert found.heads.after_s.low <= 4 <= found.heads.after_s.high <= 4.8


def test_of_heads_that_never_rest_nothing_is_told() -> None:
    drive = Drive(cleans_s=100_000, parks_after_s=300)
    assert parking.measure(drive, SLOW_MS, TURN_MS, _CLEANS_AFTER_MS) == parking.UNTOLD


def test_reads_that_are_late_by_this_and_that_did_not_meet_parked_heads() -> None:
    drive = Drive(cleans_s=0, parks_after_s=3, unpark_ms=(60.0, 200.0))
    assert parking.measure(drive, SLOW_MS, TURN_MS, None) == parking.UNTOLD


@pytest.mark.parametrize("parks_after_s", [0.9, 2.5, 3.7, 6.1, 9.0, 13.3])
def test_the_search_for_late_reads_ends_at_heads_that_park_whenever_that_is(parks_after_s: float) -> None:
    """Half the silences tried reached beyond the bounds, which came no nearer to each other: it went on for ever."""
    drive = Drive(cleans_s=0, parks_after_s=parks_after_s)
    low, high = bands.quiet_until_late(drive, SLOW_MS)
    assert low <= parks_after_s * 1e3 <= high <= 1.07 * low + 10
