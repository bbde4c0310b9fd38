"""Forced passes: what a drive without room takes to clean the bands that it has to, known to a part of a turn.

Small pieces of some bands are written durably, as far apart in the log as is wanted, and then the log is filled with
writes that are worth nothing, up to where the pieces are met. The write that finds no room waits for their bands. So
cleaning shows as a latency, where a silence tells no more than which bands came home in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from shakedown.fit.cleaning.bands import Bands
from shakedown.fit.estimate import Estimate
from shakedown.fit.log.append import Journal
from shakedown.fit.log.length import Filler, marked_trace, typical, without_journal
from shakedown.fit.place import aligned
from shakedown.fit.trace import BLOCK_BYTES, WRITE, Bench, Floats, Ints, Log, Trace, at_blocks

FREE_BANDS: Final = 2
# So much of the log may lie between the first piece and the last.
_ROOM_SHARE: Final = 0.45
_MET_EARLY: Final = 0.95
_MET_LATE: Final = 1.02
_AWAKE_AT: Final = 0.9
_SHOWN_TURNS: Final = 4.0
# More than any of the drives passes in a turn while it skips to another piece.
_APART_TRACKS: Final = 1.15
_APART_SHOWN: Final = 0.85
# More than a visit to the log takes at its largest.
_PARTING_BYTES: Final = 5 << 19
_MOST_BANDS: Final = 24
# So much of the log may lie between the first pieces of all bands.
_PARTED_SHARE: Final = 0.2
_FEWEST_BANDS: Final = 3
# There is room for what parts these in any log.
_FEW_BANDS: Final = 8
_MOST_EACH: Final = 32
_FEWEST_EACH: Final = 8
_FEWER: Final = 4
_FEW_EACH: Final = 3
# All pieces of a band in one phase of merging, and some of the band behind them.
_STRETCH_BYTES: Final = 2 << 20
_STRETCH_SHARE: Final = 0.15
_FIRST_SHARE: Final = 0.45
_LAST_SHARE: Final = 0.75
# A band is written back when it comes round. Over bands of many numbers of pieces that is half a turn in the mean, of
# either fill; what one band is known to, and the mean of several to less.
_ROUNDING_TURNS: Final = 1.0
# And no mean to less: pieces of half a turn meet two angles only, and of seven bands four may wait at the worse one.
_LEAST_ROUNDING_TURNS: Final = 0.6
_FEWEST_TO_AVERAGE: Final = 5
# Where all wait alike: a turn, and what is no waiting. Of some ninety measurements one lay a twentieth beyond the turn.
_ALL_ALIKE_TURNS: Final = 1.1
# Of so many numbers in a row. Else all bands would come round alike: as far as a merge buffer reaches they are alike.
_NUMBERS: Final = 8
# What waiting cannot explain: another band was cleaned as well, or another number of them.
_EXTRA_TURNS: Final = 4.0
# With the end of another these are eight: as many as some passes have, if they have one, two, four or eight.
_WHOLE_BANDS: Final = 7
_BORDER_SHARE: Final = 1 / 24
_MOST_VAGUE: Final = 1 / 4
# What a band of a pass is known to: with each part of it the drive waits for an angle. Bands lie like each other: those
# of a pass wait as long, so that it is no chance which makes up for itself.
_PASS_TURNS: Final = 1.5
_PASS_SHARE: Final = 0.004


@dataclass(frozen=True)
class Known:
    """What has to be known of a drive before: its turn, the length of its log, and what of its visits takes longer."""

    turn_ms: float
    track_bytes: float
    """Where the bands are."""
    length: Estimate
    journal: Journal | None
    writes: float
    """How many small ones the log has room for."""
    settle_ns: int
    """How long it is left alone before each fill."""
    in_flash: bool = False
    """Whether heads may have parked while the log was filled."""


@dataclass(frozen=True)
class Pieces:
    """So many bands with so many pieces each or a few less, and so many fillers a round."""

    bands: int
    each: int
    fillers: int
    numbers: int = 1
    """How many numbers of pieces bands have, each one less than the one before."""

    def offsets(self, bands: Bands) -> Ints:
        """A row a round: the same piece of every band; -1 where one is left out."""
        size = bands.size_bytes.value
        number = np.arange(self.bands)
        # Of another number of tracks each comes round at another moment, which in the mean does not count.
        first = _FIRST_SHARE + (_LAST_SHARE - _FIRST_SHARE) * number / self.bands
        inside = np.linspace(first, first + min(_STRETCH_SHARE, _STRETCH_BYTES / size), self.each)
        starts = bands.border + (FREE_BANDS + number) * size
        offsets = at_blocks(inside * size + starts)
        # Neither of the first round, which has to be met, nor of the last.
        round_number = np.arange(self.each)[:, None]
        left_out = (round_number > 0) & (round_number <= number % self.numbers)
        return np.where(left_out, -1, offsets)


def can_be_met(bands: Bands) -> bool:
    """Whether it is known about where bands behind one lie; else pieces would be put anywhere, or beyond the end."""
    return bands.size_bytes.half < _MOST_VAGUE * bands.size_bytes.value


def pass_pieces(bands: Bands, track_bytes: float) -> int:
    """How many pieces a band gets where what whole bands take is asked: one to each track where its border may be."""
    return int(np.ceil(4 * _vague_bytes(bands)[-1] / track_bytes)) + 1


def _vague_bytes(bands: Bands) -> Floats:
    """What the borders of the bands that are to be cleaned are known to."""
    number = FREE_BANDS + np.arange(_WHOLE_BANDS)
    return np.asarray(bands.size_bytes.value * _BORDER_SHARE + number * bands.size_bytes.half)


@dataclass(frozen=True)
class Passes:
    """What passes took that had to clean whole bands, how many each about, and how many pieces a band had."""

    ms: Estimate
    bands: float
    pieces: int


def whole_passes(bands: Bands, filler: Filler, known: Known, pieces: int) -> Passes | None:
    """What a pass takes mostly that has to clean whole bands of so many pieces; None where no write waits for that.

    A band is cleaned from its first dirty track on. Its border is not known to a track, so where it may be every track
    has a piece. The first pass and the last may have less to clean, or more: the fillers, and the end of another band.
    """
    number, vague = FREE_BANDS + np.arange(_WHOLE_BANDS), _vague_bytes(bands)
    places = bands.border + number * bands.size_bytes.value + np.linspace(2, -2, pieces)[:, None] * vague
    found = _stalls_ms(filler, known, at_blocks(places), 0)
    if not len(found):
        return None
    usual = typical(found)
    # The last may have fewer.
    each = max((_WHOLE_BANDS + 1) * usual / float(found.sum()), 1.0)
    return Passes(Estimate.around(usual, _PASS_TURNS * each * known.turn_ms + _PASS_SHARE * usual), each, pieces)


def collect_turns(bands: Bands, filler: Filler, known: Known) -> Estimate | None:
    """What a piece takes to be collected that lies apart: many are, and then few of the same bands.

    None where the log has no room for enough of them, or what lies between is passed as soon as it is skipped.
    """
    many = _most(filler, known)
    if many is None:
        return None
    few = replace(many, each=max(many.each // _FEWER, _FEW_EACH))
    many, few = (replace(one, numbers=min(few.each - 1, _NUMBERS)) for one in (many, few))
    with_many, with_few = (
        _stalls_ms(filler, known, pieces.offsets(bands), many.fillers) / known.turn_ms for pieces in (many, few)
    )
    if not len(with_many) or not len(with_few):
        return None
    longer = longer_turns(with_many, with_few, many.bands)
    if longer is None:
        return None
    more = many.each - few.each
    turns = longer / more - BLOCK_BYTES / filler.layout.track_bytes
    if turns > _APART_SHOWN * _APART_TRACKS:
        return None
    error = _rounding_turns(min(len(with_many), len(with_few), many.bands)) / more
    return Estimate(max(turns, 0.0), max(turns - error, 0.0), max(turns, 0.0) + error)


def _rounding_turns(passes: int) -> float:
    """What the mean of so many passes is known to. Bands of one pass wait alike, and of a few passes all may."""
    if passes < _FEWEST_TO_AVERAGE:
        return _ALL_ALIKE_TURNS
    return float(max(_ROUNDING_TURNS / passes**0.5, _LEAST_ROUNDING_TURNS))


def longer_turns(with_many: Floats, with_few: Floats, bands: int) -> float | None:
    """How much longer the passes of one fill took than those of the other, a band.

    One may have met a pass more: of the fillers' own band, or of what lay in the log before. Without the right one of
    the longer row the two differ by the same everywhere. None where a pass takes several bands, for then the one more
    may have taken some of those that count, and where no two differ alike.
    """
    if len(with_many) != len(with_few) and min(len(with_many), len(with_few)) < bands:
        return None
    while len(with_many) != len(with_few):
        longer, shorter = sorted((with_many, with_few), key=len, reverse=True)
        tried = [np.delete(longer, at) for at in range(len(longer))]
        best = min(tried, key=lambda one: float(np.std(one[: len(shorter)] - shorter)))
        with_many, with_few = (best, with_few) if longer is with_many else (with_many, best)
    longer_turns = with_many - with_few
    if len(longer_turns) < bands:
        return float(longer_turns.sum()) / bands
    usual = np.abs(longer_turns - np.median(longer_turns)) < _EXTRA_TURNS
    return float(longer_turns[usual].mean()) if usual.any() else None


def _most(filler: Filler, known: Known) -> Pieces | None:
    """As many pieces as there is room for, of a band each further apart than a drive skips in a turn."""
    layout = filler.layout
    fillers = int(np.ceil(_APART_TRACKS * layout.track_bytes / layout.space_bytes(filler.size)))
    parted = _parting(filler) * layout.space_bytes(filler.size)
    most = int(np.clip(_PARTED_SHARE * known.length.low / parted, _FEW_BANDS, _MOST_BANDS))
    fit = []
    for bands in range(_FEWEST_BANDS, most + 1):
        round_bytes = bands * layout.space_bytes(BLOCK_BYTES) + fillers * layout.space_bytes(filler.size)
        each = int(_ROOM_SHARE * min(known.length.low / round_bytes, known.writes / bands))
        fit += [Pieces(bands, min(each, _MOST_EACH), fillers)] if each >= _FEWEST_EACH else []
    return max(fit, key=lambda pieces: pieces.bands**0.5 * pieces.each, default=None)


def _parting(filler: Filler) -> int:
    """How many fillers hold the room that a visit of the host's takes, whatever that is."""
    return filler.writes(_PARTING_BYTES) + 1


def _stalls_ms(filler: Filler, known: Known, offsets: Ints, between: int) -> Floats:
    """What writes waited for when pieces were met that were written in rounds, with so many fillers between."""
    bench, layout = filler.bench, filler.layout
    bench.idle(known.settle_ns)
    spaces = {size: layout.space_bytes(size) for size in (BLOCK_BYTES, filler.size)}
    behind = _behind(offsets, between, _parting(filler))
    fillers = int(behind.sum())
    section = offsets.size * spaces[BLOCK_BYTES] + fillers * spaces[filler.size]
    count = fillers + filler.writes(_MET_LATE * known.length.high) + 1
    trace = _trace(offsets, filler.offsets(count), filler.size, behind)
    sizes = trace.lengths[trace.verbs == WRITE]
    space = np.where(sizes == BLOCK_BYTES, spaces[BLOCK_BYTES], spaces[filler.size])
    at = np.cumsum(space) - space
    met = (at > _MET_EARLY * known.length.low) & (at < _MET_LATE * known.length.high + section)
    filling = int(np.argmax(np.cumsum(sizes == filler.size) >= fillers))
    woken = max(int(np.argmax(met)) - 1, 1)
    log = bench.play("forced", _awake(trace, bench, woken) if known.in_flash else trace)
    log = log.part(log.verbs == WRITE)
    excess = _excess_ms(log)
    if known.in_flash:
        excess[woken - 1] = 0.0
    excess = without_journal(known.journal, log, excess, filling, met)
    return np.asarray(excess[met & (excess > _SHOWN_TURNS * known.turn_ms)])


def _behind(offsets: Ints, between: int, parting: int) -> Ints:
    """How many fillers follow each piece: those that part the rounds, and in the first one some behind every piece.

    So a band that was cleaned leaves room for several writes, and each pass has a write of its own that waits, how many
    pieces there may be.
    """
    behind = np.zeros(offsets.shape, int)
    behind[:, -1] = between
    behind[0] = np.maximum(behind[0], parting)
    return behind


def _trace(offsets: Ints, filler: Ints, size: int, behind: Ints) -> Trace:
    """Rounds of pieces with so many fillers behind each, and then fillers only; every write is durable.

    The first round is written twice, and so is the last: none of the bands is to have become dirty after that of the
    fillers, for a pass takes the oldest.
    """
    marked = offsets[[0, -1]]
    offsets, behind = np.vstack([marked, offsets]), np.vstack([np.zeros_like(marked), behind])
    pieces = offsets.ravel() >= 0
    at = np.concatenate([[0], np.cumsum(behind.ravel())[:-1]])[pieces]
    return marked_trace(offsets.ravel()[pieces], filler, size, at)


def _awake(trace: Trace, bench: Bench, writes: int) -> Trace:
    """With a read behind so many durable writes: the first pass is not to wait for heads that parked meanwhile."""
    read = Trace.reads(np.array([aligned(_AWAKE_AT * bench.capacity_bytes)]))
    return trace.part(slice(2 * writes)) + read + trace.part(slice(2 * writes, None))


def _excess_ms(log: Log) -> Floats:
    """What each write took beyond what one of its size does mostly."""
    cycle = log.cycle_ms
    usual = np.zeros(len(cycle))
    for size in np.unique(log.lengths):
        usual[log.lengths == size] = np.median(cycle[log.lengths == size])
    excess = np.maximum(cycle - usual, 0.0)
    # The very first may have had to wake the heads.
    excess[0] = 0.0
    return np.asarray(excess)
