"""Tracks and skews from the angles of evenly spaced blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shakedown.fit.drive import tracks
from shakedown.fit.trace import Log, Trace, Uninterrupted

_TURN_MS = 8.0
_TRACK_BYTES = 1 << 20
_HEADS = 6
_SKEW_TURNS, _CYLINDER_TURNS = 0.24, 0.3


def _log(
    late_from: int | None = None, *, early: bool = False, asked: Trace | None = None, track_bytes: int = _TRACK_BYTES
) -> Log:
    """Reads of one drive; from this block on all come a little later, as if a track ended there with hardly a skew.

    ``early``: the first block behind a cylinder's end comes with part of its skew, and the next with the rest.
    """
    asked = asked or tracks.trace(0, _TRACK_BYTES, 40)
    offsets = asked.offsets
    track = offsets // track_bytes
    skews = _SKEW_TURNS * track + (_CYLINDER_TURNS - _SKEW_TURNS) * (track // _HEADS)
    angle = offsets / track_bytes + skews
    if late_from is not None:
        angle = angle + 0.03 * (offsets >= late_from)
    if early:
        first = int(offsets[offsets >= 2 * _HEADS * _TRACK_BYTES].min())
        angle = angle - 0.08 * (offsets == first)
    # Each read takes two turns and what its angle asks for, so none comes sooner than the one before.
    completed = (2 * np.arange(1, len(offsets) + 1) + (angle % 1.0)) * _TURN_MS * 1e6
    done = completed.astype(np.int64)
    submitted = np.concatenate([[0], done[:-1]])
    return Log(submitted, done, offsets, asked.lengths, asked.verbs, int(done[-1]))


@pytest.mark.parametrize("late_from", [None, 11 * _TRACK_BYTES // 2], ids=["punctual", "late"])
def test_one_jump_of_the_host_is_no_skew_between_tracks(late_from: int | None) -> None:
    found = tracks.estimate(_log(late_from), _TURN_MS)
    assert found
    assert found.heads == _HEADS
    assert found.track_skew.value == pytest.approx(_SKEW_TURNS, abs=0.01)
    assert found.cylinder_skew.value == pytest.approx(_CYLINDER_TURNS, abs=0.01)
    assert found.track_bytes.value == pytest.approx(_TRACK_BYTES, rel=0.005)


def test_a_skew_in_two_parts_is_one_track_s_end() -> None:
    found = tracks.estimate(_log(early=True), _TURN_MS)
    assert found
    assert found.heads == _HEADS
    assert found.cylinder_skew.value == pytest.approx(_CYLINDER_TURNS, abs=0.01)
    assert found.track_bytes.value == pytest.approx(_TRACK_BYTES, rel=0.005)


class _Remembers(Uninterrupted):
    """A drive whose memory answers all but the first read of as few tracks as it has segments."""

    capacity_bytes = 1 << 40

    def __init__(self) -> None:
        self.asked: list[int] = []

    def play(self, name: str, trace: Trace) -> Log:
        count = len(np.unique(trace.offsets))
        self.asked.append(count)
        if count <= 16 * 12:
            done = np.arange(1, len(trace) + 1) * 100_000
            return Log(done - 100_000, done, trace.offsets, trace.lengths, trace.verbs, int(done[-1]))
        return _log(asked=trace)

    def idle(self, duration_ns: int) -> None:
        pass


def test_where_memory_answers_more_tracks_are_read() -> None:
    """Of eight tracks on which 2 MB are read ahead nothing showed: the inner ones were told by rates."""
    bench = _Remembers()
    skew = (_SKEW_TURNS + _CYLINDER_TURNS) / 2
    rate = _TRACK_BYTES / (1 + skew) / _TURN_MS * 1e3
    found = tracks.measure(bench, 1 << 30, rate, _TURN_MS, 8)
    assert found
    assert found.track_bytes.value == pytest.approx(_TRACK_BYTES, rel=0.005)
    assert bench.asked == [8 * 12, 24 * 12]


class _Changes(Uninterrupted):
    """A drive, or a host, that shows tracks of another size each time."""

    capacity_bytes = 1 << 40

    def __init__(self, *sizes: int) -> None:
        self._sizes = iter(sizes)

    def play(self, name: str, trace: Trace) -> Log:
        return _log(asked=trace, track_bytes=next(self._sizes))

    def idle(self, duration_ns: int) -> None:
        pass


_RATE = _TRACK_BYTES / (1 + (_SKEW_TURNS + _CYLINDER_TURNS) / 2) / _TURN_MS * 1e3


@pytest.mark.parametrize("share", [0.15, 0.3, 0.6, 0.95])
def test_a_rate_that_is_the_link_s_hides_no_larger_track(share: float) -> None:
    """It agreed with none, or with one that was too small."""
    bench = _Changes(*[_TRACK_BYTES] * 4)
    found = tracks.measure(bench, 0, share * _RATE, _TURN_MS, 48, least=True)
    assert found
    assert found.track_bytes.value == pytest.approx(_TRACK_BYTES, rel=0.005)
    assert found.heads == _HEADS
    # Nor is it one of the drive's own that nothing holds back.
    assert share > 0.9 or tracks.measure(_Changes(*[_TRACK_BYTES] * 4), 0, share * _RATE, _TURN_MS, 48) is None


@pytest.mark.parametrize(("times", "told"), [((1.5, 1, 1, 1), True), ((1.5, 1, 2, 3), False), ((0.5,) * 4, False)])
def test_where_no_rate_tells_which_tracks_are_right_two_looks_have_to_agree(
    times: tuple[float, ...], told: bool
) -> None:
    bench = _Changes(*(int(each * _TRACK_BYTES) // 4096 * 4096 for each in times))
    found = tracks.measure(bench, 0, 0.8 * _RATE, _TURN_MS, 48, least=True)
    assert (found is not None) is told
    if found:
        assert found.track_bytes.value == pytest.approx(_TRACK_BYTES, rel=0.005)


def test_what_passes_is_a_track_in_a_turn_and_its_skew() -> None:
    found = tracks.estimate(_log(), _TURN_MS)
    assert found
    skew = _SKEW_TURNS + (_CYLINDER_TURNS - _SKEW_TURNS) / _HEADS
    expected = _TRACK_BYTES / (1 + skew) / _TURN_MS * 1e3
    assert tracks.passing(found, found, _TURN_MS).value == pytest.approx(expected, rel=0.005)
    # How many tracks share the larger skew is not known: anything up to half of them.
    unknown = tracks.passing(found, replace(found, heads=None), _TURN_MS)
    assert unknown.low < expected < unknown.high
