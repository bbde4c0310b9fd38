"""Where blocks lie, through a host that is late now and then, or often."""

from __future__ import annotations

import numpy as np

from shakedown.fit.drive import rotation
from shakedown.fit.drive.whereabouts import Sight, Watch, middle_look
from shakedown.fit.trace import READ, Ints, Log, Trace, Uninterrupted

_TURN_MS = 10.0


class _Busy(Uninterrupted):
    """A drive whose blocks lie at angles by their offsets; a share of all answers comes late by any part of a turn."""

    capacity_bytes = 8_000_000_000

    def __init__(self, late_share: float) -> None:
        self._late_share = late_share
        self._draw = np.random.default_rng(7)
        self._now_ns = 0.0
        self.looks = 0

    def play(self, _: str, trace: Trace) -> Log:
        self.looks += 1
        turn_ns = _TURN_MS * 1e6
        # Each comes in the turn after the next, at its own angle.
        turns = 2 * np.arange(1, len(trace) + 1) + np.floor(self._now_ns / turn_ns)
        came = (turns + _angle(trace.offsets)) * turn_ns
        late = self._draw.random(len(trace)) < self._late_share
        came = came + np.where(late, self._draw.random(len(trace)), 0.0) * turn_ns
        self._now_ns = float(came[-1])
        began = came - 0.9 * turn_ns
        verbs = np.full(len(trace), READ)
        return Log(began.astype(int), came.astype(int), trace.offsets, trace.lengths, verbs, int(came[-1]))

    def idle(self, duration_ns: int) -> None:
        self._now_ns += duration_ns


def _angle(offsets: Ints) -> np.ndarray:
    return np.asarray((offsets / 4096 * 0.6180339887) % 1.0)


def _seen(late_share: float) -> tuple[np.ndarray, int]:
    """By how much blocks come elsewhere than they lie, and after how many looks."""
    bench = _Busy(late_share)
    watch = Watch.over(bench, "test", np.arange(100) * (8 << 20), Sight(_TURN_MS).with_marks(bench))
    before = bench.looks
    return np.abs(rotation.short_way(watch.angles() - _angle(watch.offsets))), bench.looks - before


def test_a_quiet_host_is_believed_at_once() -> None:
    off, looks = _seen(0.02)
    assert looks == 1
    assert (off > 0.03).sum() < 6


def test_where_a_third_of_all_comes_late_the_middle_of_some_looks_is_where_nearly_all_lie() -> None:
    off, looks = _seen(0.35)
    assert looks == 5
    assert (off > 0.06).mean() < 0.2


def test_the_middle_of_angles_goes_round_and_of_unknown_ones_there_is_none() -> None:
    looks = [np.array([0.99, np.nan, 0.2]), np.array([0.01, np.nan, np.nan]), np.array([0.0, 0.4, 0.21])]
    middle = middle_look(looks)
    assert abs(rotation.short_way(middle[0])) < 1e-9
    assert np.isnan(middle[1])
    assert middle[2] in (0.2, 0.21)
