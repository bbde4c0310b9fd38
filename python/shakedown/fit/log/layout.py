"""How the log of a persistent cache is laid out: the angles of what was written in a row tell its spacing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from shakedown.fit.drive import rotation
from shakedown.fit.drive.whereabouts import Sight, Watch, forget
from shakedown.fit.estimate import Estimate
from shakedown.fit.log import log_track
from shakedown.fit.place import apart, rewrite, scattered
from shakedown.fit.trace import BLOCK_BYTES, Bench, Floats, Ints, Trace

SIZES: Final = (4096, 65_536, 131_072, 262_144, 393_216, 524_288, 786_432, 1 << 20)
_REPEATS: Final = 48
# What is written before it is looked at and dropped: less than the smallest cache that is expected.
_ROUNDS: Final = ((0, 1, 2, 3), (4,), (5,), (6,), (7,))
_TRIES: Final = 4
_MOST_HOME: Final = 0.2
# A journal is written once meanwhile; who waits more often waits for room.
_MOST_WAITS: Final = 1
_EVEN_TURNS: Final = 0.015
_MOST: Final = 0.7
# A skew may be what a turn lacks of a track: then both are about as likely, and the shorter one is meant.
_TELLING: Final = 5.0
_BLUR_TURNS: Final = 0.0075
# The mean of steps with their skews is not wrong by more.
_NEAR_TRACKS: Final = np.arange(-0.06, 0.0601, 0.002)
_SMALL_TURNS: Final = 0.3
_SLACK_TURNS: Final = 0.05
_NEARLY_ROUND: Final = 0.75
_LEAST_TRACKS: Final = 0.008
_GRAIN_TRACKS: Final = 0.01
_FINE_STEPS: Final = np.arange(-10, 11) * 0.001
# What a track of the log holds is known to a hundredth or two.
_FINE_TRACKS: Final = 0.008
_SIMPLE: Final = 0.004
_FEWEST_SHOWN: Final = 6
_LEAST_IN_COMMANDS: Final = 1 << 16
# Of 61 drives the packets of 60 explain all to 0.02, and of one to 0.05; of those that none explains all are 0.2 off.
_EXPLAINED_TRACKS: Final = 0.1
_USUAL_PACKET_BYTES: Final = 1 << 19
# Commands larger than any write that was seen.
WHOLE: Final = 1 << 40
# What holds more than any write that was seen, or any whole number of blocks.
_PACKETS: Final = np.array([WHOLE, *range(BLOCK_BYTES, (1 << 20) + 1, BLOCK_BYTES)], dtype=np.int64)


@dataclass(frozen=True)
class Layout:
    """What a visit to the log takes of it: tracks of its own, and for every packet its bytes, or more."""

    visit_tracks: Estimate
    packet_tracks: Estimate
    packet_bytes: int
    """Most data of a packet, as far as space tells: larger than any write where packets leave no gaps."""
    track_bytes: float
    misfit_tracks: float = 0.0
    """What it misses of the measured spaces."""
    alike_bytes: tuple[int, ...] = ()
    """All sizes of a packet that explain the spaces about as well, if it leaves gaps."""
    command_bytes: int = WHOLE
    """Into commands of so many bytes a write is cut before, each of which is a visit."""
    seen_bytes: int = SIZES[-1]
    """The largest write whose space was seen; 0: the smallest was not."""

    @property
    def explains(self) -> bool:
        """Whether packets of the kinds that are tried take such spaces: none whose gaps are far larger than they.

        Of what fits into one packet anything does.
        """
        return self.misfit_tracks < _EXPLAINED_TRACKS and self.seen_bytes >= _USUAL_PACKET_BYTES

    @property
    def least_bytes(self) -> float:
        """What a packet takes at least."""
        return self.packet_tracks.value * self.track_bytes

    @property
    def visit_bytes(self) -> float:
        """What a visit takes of its own."""
        return self.visit_tracks.value * self.track_bytes

    @property
    def cuts_writes(self) -> bool:
        """Whether a large write is several visits."""
        return self.command_bytes < WHOLE

    def error_share(self, size: int) -> float:
        """What the space of a durable write of ``size`` may be wrong by."""
        return self.misfit_tracks * self.track_bytes / self.space_bytes(size)

    def space_bytes(self, size: int) -> float:
        """What a durable write of ``size`` takes."""
        whole, rest = divmod(size, self.command_bytes)
        last = self._visit_bytes(rest) if rest else 0.0
        return (whole * self._visit_bytes(self.command_bytes) if whole else 0.0) + last

    def gathered_bytes(self, writes: int, visit_writes: int) -> float:
        """What each of many small writes takes that go into packets of so many, and so many of them a visit."""
        packed = max(BLOCK_BYTES * writes, self.least_bytes) / writes
        return packed + self.visit_bytes / visit_writes

    def group_bytes(self, writes: int, packet_writes: int) -> float:
        """What so many small writes take that go to the log in one visit."""
        whole, rest = divmod(writes, packet_writes)
        last = max(rest * BLOCK_BYTES, self.least_bytes) if rest else 0.0
        return self.visit_bytes + whole * max(packet_writes * BLOCK_BYTES, self.least_bytes) + last

    def _visit_bytes(self, size: int) -> float:
        packed = packed_bytes(size, self.packet_bytes, self.least_bytes)
        return self.visit_bytes + packed

    @staticmethod
    def without_gaps(track_bytes: float) -> Layout:
        """Every write takes the space of its data, as in flash."""
        none = Estimate(0.0, 0.0, 0.0)
        return Layout(none, none, _PACKETS[0], track_bytes)


def packed_bytes(size: int, packet_bytes: int, least: float) -> float:
    """Space of a write's packets."""
    whole, rest = divmod(size, packet_bytes)
    return whole * max(packet_bytes, least) + (max(rest, least) if rest else 0.0)


def measure(bench: Bench, sight: Sight, first: int, settle_ns: int) -> Floats:
    """Write durably from ``first`` on, one size after the other: the angles of what was written, for ``estimate``.

    Each after a rest of ``settle_ns``, in which the log is emptied of what the rewriting before has left there.
    """
    return np.concatenate(
        [_angles(bench, [SIZES[number] for number in numbers], sight, first, settle_ns) for numbers in _ROUNDS]
    )


def _angles(bench: Bench, sizes: list[int], sight: Sight, first: int, settle_ns: int) -> Floats:
    """Where what was written in each size lies, a row a size."""
    wide = sizes[-1] + 16 * BLOCK_BYTES
    count = _REPEATS * len(sizes)
    slots = min(2 * count, bench.capacity_bytes // 4 // wide)
    places = scattered(count, first, slots, wide)
    rising = np.argsort(places)
    back = np.argsort(rising)
    for again in range(_TRIES):
        if again:
            rewrite(bench, "layout-again", first, slots * wide)
        bench.idle(settle_ns)
        watch = Watch.over(bench, "layout", places[rising], sight)
        waits = [
            len(held_up(bench.play(f"layout-{size}", Trace.writes(here, size, flush_every=1)).cycle_ms))
            for size, here in zip(sizes, np.split(places, len(sizes)), strict=True)
        ]
        forget(bench, places, sight.kept)
        angles, home = watch.angles()[back], watch.home[back]
        came = ~sight.differ(angles, home)
        # One that has to make room brings home what was just written, too: each time it has less of what was before.
        # Bands that move come to no old angle then.
        if np.all(came.reshape(len(sizes), -1).mean(axis=1) < _MOST_HOME) and max(waits) <= _MOST_WAITS:
            break
    else:
        if len(sizes) > 1:
            # So many are more than it has room for.
            rewrite(bench, "layout-rewrite", first, slots * wide)
            parts = (sizes[: len(sizes) // 2], sizes[len(sizes) // 2 :])
            return np.concatenate([_angles(bench, part, sight, first, settle_ns) for part in parts])
    rewrite(bench, "layout-rewrite", first, slots * wide)
    return np.where(came, np.nan, angles).reshape(len(sizes), _REPEATS)


def held_up(cycle_ms: Floats) -> Ints:
    """Which of some visits to the log, most of them alike, took much longer."""
    usual = float(np.median(cycle_ms))
    return np.flatnonzero(cycle_ms > max(4 * usual, usual + 40))


def logged_angles(bench: Bench, name: str, places: Ints, turn_ms: float) -> Floats:
    """Where in a turn the first blocks of some writes lie, read in an order in which none of them was written."""
    order = apart(len(places))
    angles = rotation.phases(bench.play(name, Trace.reads(places[order])), turn_ms)
    return np.asarray(angles[np.argsort(order)])


def estimate(
    angles: Floats,
    turn_bytes: float,
    track_bytes: float,
    skews: tuple[float, ...] = (),
    blur: float = _BLUR_TURNS,
    commands: tuple[int, ...] = (WHOLE,),
) -> Layout:
    """The layout from the angles of each size's writes, in the order in which they were written.

    ``turn_bytes`` come under the heads in a turn where the log is, skews included; ``track_bytes`` without. The
    ``skews`` of tracks and cylinders, in turns, where both are known. ``blur`` is what a step is known to. Into
    ``commands`` of one of these sizes writes are cut before, whichever explains their spaces best.
    """
    shown = np.sum(~np.isnan(angles), axis=1) >= _FEWEST_SHOWN
    # Without the smallest nothing is told; a log may have no room for the largest.
    seen_bytes = int(np.array(SIZES)[shown][-1]) if shown[0] else 0
    shown[0] = True
    sizes, angles = np.array(SIZES)[shown], angles[shown]
    steps = np.diff(angles, axis=1)
    if skews:
        angles = np.array([_whole(row, skews) for row in angles])
    advances = [advance(row) for row in angles]
    even = _even_step(angles[0])
    small = even is not None and abs(even) < _SMALL_TURNS
    if small and even is not None:
        # So small a step crosses few borders of tracks: their skews do not count.
        advances[0] = even
    grain = track_bytes if small else turn_bytes
    # A whole turn more shows in what larger writes take, and in where tracks end between two writes.
    spaces = [one / track_bytes for more in (0, 1) for one in _spaces(advances, sizes, more, grain, turn_bytes)]
    if skews:
        spaces = [_sharpened(tracks, steps, skews, blur) for tracks in spaces]
    cut = [[_explained(tracks, sizes, track_bytes, command) for command in commands] for tracks in spaces]
    fits = [min(one, key=lambda fit: fit.misfit_tracks) for one in cut]
    known = skews or (track_bytes / turn_bytes - 1,)
    likely = [_likely(fit, sizes, steps, known, blur) for fit in fits]
    best = fits[int(np.argmax(likely))] if max(likely) > likely[0] + _TELLING else fits[0]
    return replace(best, seen_bytes=seen_bytes)


def _likely(layout: Layout, sizes: Ints, steps: Floats, skews: tuple[float, ...], blur: float) -> float:
    """How likely the steps are with it, as a logarithm."""
    tracks = np.array([[layout.space_bytes(size)] for size in sizes]) / layout.track_bytes
    return float(np.nansum(log_track.likely(tracks, steps, skews, blur)))


def _sharpened(tracks: Floats, steps: Floats, skews: tuple[float, ...], blur: float) -> Floats:
    """What a write of each size takes, near what the mean of its steps tells: with that its steps are likeliest."""
    tried = tracks[:, None] + _NEAR_TRACKS
    likely = log_track.likely(tried[:, :, None], steps[:, None, :], skews, blur)
    best = np.argmax(np.nansum(likely, axis=2), axis=1)
    return np.asarray(np.maximum(tried[np.arange(len(tried)), best], 0.0))


def _spaces(advances: list[float], sizes: Ints, more: int, grain: float, turn_bytes: float) -> list[Floats]:
    """Bytes of the log that a write of each size takes, by what it moves on; the smallest by so many turns more.

    What seems to move on by hardly less than a turn more than the size before may move on by hardly less than that one:
    both, the shorter one first.
    """
    rows = [[max(advances[0] * grain + more * turn_bytes, BLOCK_BYTES) / turn_bytes]]
    for found, more_bytes in zip(advances[1:], np.diff(sizes), strict=True):
        rows = [
            [*row, row[-1] + step] for row in rows for step in _steps((found - row[-1]) % 1.0, more_bytes / turn_bytes)
        ]
    return [np.array(row) * turn_bytes for row in rows]


def _steps(step: float, more_turns: float) -> tuple[float, ...]:
    """What a larger write may take more, in turns, if it holds so much more."""
    if more_turns > _NEARLY_ROUND:
        # No packet is so large that it would not grow: about as much as its data.
        return (step + round(more_turns - step),)
    return (step - 1, step) if step > 1 - _SLACK_TURNS else (step,)


def _explained(tracks: Floats, sizes: Ints, track_bytes: float, command_bytes: int) -> Layout:
    """The packets that explain such spaces best: they show where they leave gaps, at least behind a write's last."""
    leasts = _leasts(float(tracks[0]))
    leasts = np.where(leasts * track_bytes > 1.5 * BLOCK_BYTES, leasts, 0.0)
    visits, wrong = _misfits(tracks, sizes, leasts * track_bytes, track_bytes, command_bytes)
    ends, gaps = SIZES[-1] >= _PACKETS, leasts[:, None] > 0
    # Packets without gaps end nowhere. In commands of a bridge small ones would explain what are other commands.
    small = (command_bytes < WHOLE) & (_PACKETS < _LEAST_IN_COMMANDS)
    misfits = np.where((ends & ~gaps) | small, np.inf, wrong + _SIMPLE * (1.0 * (visits > 0) + gaps + ends))
    # Of hundreds of sizes one explains the noise, too. Most are powers of two.
    odd = _PACKETS & (_PACKETS - 1) != 0
    row, column = np.unravel_index(int(np.argmin(misfits + _SIMPLE * odd)), misfits.shape)
    misfit, packet = float(misfits[row, column]), int(_PACKETS[column])
    alike = _PACKETS[ends & (misfits.min(axis=0) <= misfit + _SIMPLE)] if ends[column] else _PACKETS[:0]
    visit, least = (_around(float(one), misfit + _GRAIN_TRACKS) for one in (visits[row, column], leasts[row]))
    if least.value:
        # What a visit takes and what a packet does show together far better than in such steps.
        leasts = leasts[row] + _FINE_STEPS[leasts[row] + _FINE_STEPS > 0]
        visits, wrong = _misfits(tracks, sizes, leasts * track_bytes, track_bytes, command_bytes)
        best = int(np.argmin(wrong[:, column]))
        error = float(wrong[best, column]) + _FINE_TRACKS
        visit, least = (_around(float(one), error) for one in (visits[best, column], leasts[best]))
    return Layout(visit, least, packet, track_bytes, misfit, tuple(alike.tolist()), command_bytes)


def _whole(angles: Floats, skews: tuple[float, ...]) -> Floats:
    """The angles, but for what a write takes more that a band's border cuts in two: it moves on all behind it."""
    steps = np.diff(angles) % 1.0
    known = steps[~np.isnan(steps)]
    # From one to the next a track more or less may end within, and with it a cylinder.
    tracks, cylinders = (skews[0], skews[-1] - skews[0])
    borders = np.array([track * tracks + cylinder * cylinders for track in (-1, 0, 1) for cylinder in (-1, 0, 1)])
    off = rotation.short_way(steps - _commonest(known))
    usual = np.abs(off[:, None] - borders).min(axis=1) < _EVEN_TURNS
    if np.mean(usual) <= _MOST:
        return angles
    middle = float(np.mean(off[usual]))
    beyond = np.where(usual | np.isnan(off), 0.0, off - middle)
    return np.asarray((angles - np.concatenate([[0.0], np.cumsum(beyond)])) % 1.0)


def advance(angles: Floats) -> float:
    """By which part of a turn each of some places lies behind the one before on the mean: of (-0.05, 0.95].

    0 where none is known.
    """
    number = np.flatnonzero(~np.isnan(angles))
    if not len(number):
        return 0.0
    grid = np.arange(0, 1, 0.0005)
    waves = np.exp(2j * np.pi * (angles[number][None, :] - grid[:, None] * number[None, :]))
    return _signed(float(grid[int(np.argmax(np.abs(waves.mean(axis=1))))]))


def _even_step(angles: Floats) -> float | None:
    """The step that nearly all of them make; None if there is none."""
    steps = np.diff(angles) % 1.0
    steps = steps[~np.isnan(steps)]
    middle = _commonest(steps)
    around = rotation.short_way(steps - middle)
    near = np.abs(around) < _EVEN_TURNS
    return _signed((middle + float(np.median(around[near]))) % 1.0) if np.mean(near) > _MOST else None


def _signed(turns: float) -> float:
    return turns - 1 if turns > 1 - _SLACK_TURNS else turns


def _commonest(steps: Floats) -> float:
    """The step that most of them make, or nearly."""
    near = [np.sum(np.abs(rotation.short_way(steps - one)) < _EVEN_TURNS) for one in steps]
    return float(steps[int(np.argmax(near))]) if len(steps) else 0.0


def _leasts(smallest: float) -> Floats:
    return np.array([0.0, smallest, *np.arange(0.02, max(smallest, 0.02), _GRAIN_TRACKS)])


def _misfits(
    tracks: Floats, sizes: Ints, leasts: Floats, track_bytes: float, command_bytes: int
) -> tuple[Floats, Floats]:
    """Of each least space, and each size of a packet: tracks of a visit, and how badly they explain the spaces."""
    # The smallest alone tell the least space of a packet, if that is small.
    weights = np.where(sizes == sizes[0], float(len(sizes)), 1.0)
    commands, rest = np.divmod(sizes, command_bytes)
    whole = _packed(np.array([command_bytes]), leasts) if commands.any() else 0.0
    off = tracks - (commands * whole + _packed(rest, leasts)) / track_bytes
    visited = commands + (rest > 0)
    visits = np.maximum(np.average(off / visited, axis=2, weights=weights), 0.0)
    visits[visits < _LEAST_TRACKS] = 0.0
    return visits, np.sqrt(np.average((off - visits[:, :, None] * visited) ** 2, axis=2, weights=weights))


def _packed(sizes: Ints, leasts: Floats) -> Floats:
    """Space of what has these sizes, for each least space, and each size of a packet."""
    whole, rest = np.divmod(sizes, _PACKETS[:, None])
    last = np.where(rest > 0, np.maximum(rest, leasts[:, None, None]), 0.0)
    return np.asarray(whole * np.maximum(_PACKETS[:, None], leasts[:, None, None]) + last)


def _around(tracks: float, error: float) -> Estimate:
    return Estimate(tracks, max(tracks - error, 0.0), tracks + error) if tracks else Estimate(0.0, 0.0, 0.0)
