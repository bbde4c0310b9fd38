"""How long the log of a persistent cache is: marks in it are met again after exactly so much has been written.

Marks are small writes in bands of their own. Behind them the same few places are written over and over, so that nothing
else in the log is of worth. When it is full, its oldest part has to be cleaned: the marks, and nothing but them.
Neither what the cache held before nor how many entries it may have matters, and little of the drive is written.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from shakedown.fit.estimate import Estimate
from shakedown.fit.log.append import Journal, journal
from shakedown.fit.log.layout import Layout
from shakedown.fit.place import aligned, scattered
from shakedown.fit.trace import BLOCK_BYTES, Bench, Floats, Ints, Log, Trace, whole_blocks

MARKS: Final = 192
# Where the log is full before so many are written.
_FEWER_MARKS: Final = (96, 48)
MARKS_PER_BAND: Final = 4
_MOST_FILLER_BYTES: Final = 1 << 20
_LEAST_FILLER_BYTES: Final = 1 << 16
_SLOTS: Final = 24
_SLOT_GAP_BYTES: Final = 16 * BLOCK_BYTES
_LEAST_SLOTS: Final = 5
_APART_BYTES: Final = 4 << 20
_FILLER_AT: Final = 0.7
MARKS_AT: Final = 0.72
_FIRST_SHARE: Final = 1 / 256
_MOST_SHARE: Final = 0.3
_SOON: Final = 16
_AGREE: Final = 0.01
_MOST_APART: Final = 2.0
_TRIES: Final = 12
_FEWEST_MET: Final = 2
_MORE: Final = 1.25
_JOURNAL_WRITES: Final = 1100
_FEWEST_JOURNAL_WRITES: Final = 550
_PRESSED: Final = 0.985
_MORE_JOURNALS: Final = 2.5
_JOURNAL_NEAR: Final = 2
_JOURNAL_SHARE: Final = 0.7
_ALIKE_PASSES: Final = 0.25
_UNEVEN: Final = 0.5


@dataclass(frozen=True)
class Length:
    """What was met: bytes of the log, and how the drive makes room in it."""

    bytes_found: Estimate
    stall_ms: float
    """Of a pass that is forced, with one piece in each band."""
    passes: float
    """How many of such passes the marks were worth."""
    spacing: float
    """Writes from one forced pass to the next; infinite where one cleaned all that was marked."""
    marks: float
    """How many marks the room is worth that they take: those of a pass, unless writes are rationed."""
    marks_written: int
    mark_bytes: int
    """How far apart they are."""
    journal: Journal
    uneven: bool = False
    """Whether passes that take as long come unlike far apart: then something else than room decides when."""


@dataclass(frozen=True)
class Room:
    """A place within one band: what crosses a border is cut there, and takes more of the log. Marks lie behind it."""

    first: int
    size_bytes: int
    marks_at: int


@dataclass(frozen=True)
class Filler:
    """Writes that are worth nothing: a few places, over and over."""

    bench: Bench
    layout: Layout
    room: Room | None = None
    """Where to write them; None: anywhere."""
    large: bool = False
    """Whether they are as large as can be, however few of them a cache holds."""

    @property
    def size(self) -> int:
        """Bytes of each, such that a cache of a usual size holds many."""
        if self.large:
            return _MOST_FILLER_BYTES
        share = whole_blocks(self.bench.capacity_bytes >> 17)
        return min(max(share, _LEAST_FILLER_BYTES), _MOST_FILLER_BYTES)

    @property
    def slot_bytes(self) -> int:
        """From one place to the next."""
        return self.size + _SLOT_GAP_BYTES

    def offsets(self, count: int, begin: int = 0) -> Ints:
        """Places of so many writes from number ``begin`` on, none in sequence."""
        first, slots = aligned(_FILLER_AT * self.bench.capacity_bytes), _SLOTS
        if self.room:
            first = self.room.first
            slots = int(np.clip(self.room.size_bytes // self.slot_bytes, _LEAST_SLOTS, _SLOTS))
        return scattered(count, first, slots, self.slot_bytes, begin=begin)

    def near(self, offset: int) -> Filler:
        """One whose places lie before an offset, or well behind one near the edge: a spread cache has its log there."""
        size_bytes = self.slot_bytes * _SLOTS
        first = offset - size_bytes - _APART_BYTES
        if first < 0:
            first = offset + self.bench.capacity_bytes // 64
        return replace(self, room=Room(aligned(first), size_bytes, offset))

    def cut(self, band_bytes: float) -> tuple[float, float]:
        """How many times as much they fill as is counted, about and at most, if borders of bands cut some in two.

        Each of those takes a packet more. Where bands are not known (0 bytes) one may be cut.
        """
        borders = _SLOTS * self.slot_bytes / band_bytes if band_bytes else 1.0
        more = self.layout.least_bytes / self.layout.space_bytes(self.size) / _SLOTS
        return 1 + borders * more, 1 + float(np.ceil(borders)) * more

    def writes(self, log_bytes: float) -> int:
        """How many of them take so much of the log."""
        return int(log_bytes / self.layout.space_bytes(self.size))

    def write(self, name: str, log_bytes: float) -> Log:
        """Move the log's head on by so much."""
        return self.put(name, max(self.writes(log_bytes), 1))

    def put(self, name: str, count: int, begin: int = 0) -> Log:
        """So many of them; from where the last were, lest some places live on in the log behind all others."""
        offsets = self.offsets(count, begin)
        return self.bench.play(name, Trace.writes(offsets, self.size, flush_every=1))

    def journal(self, room_bytes: float = np.inf) -> Journal:
        """Every how many visits to the log one takes longer: small writes, so that no room is wanted meanwhile.

        Where so much room is too little for that, one place over and over: then passes over one band come in between.
        """
        count = int(min(_JOURNAL_WRITES, room_bytes / self.layout.space_bytes(BLOCK_BYTES)))
        if count >= _FEWEST_JOURNAL_WRITES:
            return journal(self.bench.play("journal", Trace.writes(self.offsets(count), flush_every=1)))
        offsets = np.repeat(self.offsets(1), _JOURNAL_WRITES)
        return journal(self.bench.play("journal", Trace.writes(offsets, flush_every=1)), beside_passes=True)

    def flush_out(self, length_bytes: float) -> None:
        """Leave nothing in the cache but one place, written over and over: of a small log many would take a part."""
        offsets = np.repeat(self.offsets(1), max(self.writes(1.02 * length_bytes), 1))
        self.bench.play("flush-out", Trace.writes(offsets, self.size, flush_every=1))

    def press(self, length_bytes: float, count: int, size: int) -> None:
        """Fill the log nearly up to the last ``count`` writes of ``size`` before."""
        self.write("press", _PRESSED * length_bytes - count * self.layout.space_bytes(size))


def measure(filler: Filler, band_bytes: int, settle_ns: int) -> Length | None:
    """The length of the log; None where it does not show.

    ``band_bytes`` is what a band is thought to have; ``settle_ns`` is how long the drive is left alone before each try.
    What lay in the log before may end it early, but only once: two measurements in a row that agree are free of that.
    """
    bench = filler.bench
    if filler.room is None:
        filler = filler.near(aligned(MARKS_AT * bench.capacity_bytes))
    spacing = whole_blocks(min(band_bytes // MARKS_PER_BAND, bench.capacity_bytes // (5 * MARKS)))
    room_bytes = _MOST_SHARE * bench.capacity_bytes
    found = _agreed(filler, MARKS, spacing, settle_ns, room_bytes)
    for count in _FEWER_MARKS:
        if found:
            break
        # So long at most is a log that was full before its marks were written.
        short_bytes = 8 * MARKS * filler.layout.space_bytes(filler.size)
        found = _agreed(filler, count, spacing, settle_ns, min(room_bytes, short_bytes))
    return found


def _agreed(filler: Filler, marked: int, spacing: int, settle_ns: int, room_bytes: float) -> Length | None:
    """What two tries with so many marks agree in; nothing where ``room_bytes`` of the log are too few for it."""
    bench, layout = filler.bench, filler.layout
    assert filler.room
    marks = filler.room.marks_at + np.arange(marked) * spacing
    count = max(filler.writes(_FIRST_SHARE * bench.capacity_bytes), 8 * marked)
    met: list[Length] = []
    for _ in range(_TRIES):
        bench.idle(settle_ns)
        log = bench.play("length", marked_trace(marks, filler.offsets(count), filler.size))
        found = estimate(log, layout, spacing)
        if found and met and abs(found.bytes_found.value / met[-1].bytes_found.value - 1) < _AGREE:
            return found
        met += [found] if found else []
        count = 2 * count if found is None else int(_MORE * filler.writes(found.bytes_found.value)) + 4 * marked
        if layout.space_bytes(filler.size) * count > room_bytes:
            break
    return _vague(met)


def _vague(met: list[Length]) -> Length | None:
    """The last of some that do not agree, known no better than they differ; the first one does not count, nor alone."""
    if len(met) < _FEWEST_MET:
        return None
    telling = [one.bytes_found for one in met[1:]]
    low, high = min(one.low for one in telling), max(one.high for one in telling)
    if high > _MOST_APART * max(low, 0.0):
        return None
    return replace(met[-1], bytes_found=Estimate(met[-1].bytes_found.value, low, high))


def estimate(log: Log, layout: Layout, mark_bytes: int) -> Length | None:
    """From the first of the stalls that come as closely as marks do; the journal's are far apart."""
    cycle = log.cycle_ms
    marks = int(np.sum(log.lengths == BLOCK_BYTES))
    # As many writes as these and those between them.
    beginning = 2 * marks
    usual = _usual(log, cycle, beginning)
    excess = np.maximum(cycle - usual, 0.0)
    # The very first may have had to wake the heads.
    excess[0] = 0.0
    calm = np.max(excess[:beginning])
    sums = np.cumsum(np.concatenate([[0.0], excess]))
    ends = np.minimum(np.arange(len(excess)) + beginning, len(excess))
    # Behind the marks all writes are large ones, and a journal may come up to twice as soon.
    crowd = max(4 * calm + 1000, _MORE_JOURNALS * float(sums[beginning]))
    crowded = np.flatnonzero(sums[ends] - sums[:-1] > crowd)
    if not len(crowded):
        return None
    window = np.arange(crowded[0], min(crowded[0] + 3 * beginning, len(excess)))
    soon = sums[np.minimum(window + _SOON, len(excess))] - sums[window]
    # What the journal takes comes alone.
    beside = _beside_longest(excess)
    calm_beside = float(np.max(beside[: beginning - _SOON]))
    long = 0.25 * typical(excess[window])
    closely = (soon > 1.6 * calm) | (beside[window] > 1.6 * max(calm_beside, 0.25 * calm))
    stalled = window[(excess[window] > long) & closely]
    if not len(stalled):
        return None  # writes came closely that took a little longer, and none that stands out as a mark does
    first = int(stalled[0])
    if first < beginning:
        return None  # whatever it is, the marks were not all written
    sizes, which = np.unique(log.lengths, return_inverse=True)
    spaces = np.array([layout.space_bytes(int(size)) for size in sizes])[which]
    length = float(spaces[:first].sum())
    grain, small = layout.space_bytes(int(log.lengths[-1])), layout.space_bytes(BLOCK_BYTES)
    # So many writes go where the marks were, and what lies between them.
    end = first + marks * (grain + small) / grain
    regular = journal(log.part(slice(beginning, first))) if first > 2 * beginning else Journal(0, 0.0)
    window = window[(window >= first) & (window < end)]
    # Passes of small bands are no longer than a journal, which counted as more of them.
    passing = without_journal(regular, log, excess, beginning, np.arange(len(excess)) >= first)
    excess = passing if (passing[window] > long).any() else excess
    late = window[excess[window] > long]
    # The last pass has less to clean than others, but the one before left no more room for that.
    spacing = float(late[-1] - late[0]) / (len(late) - 1) if len(late) > 1 else np.inf
    error = grain + layout.error_share(int(log.lengths[-1])) * length
    return Length(
        Estimate.around(length, error),
        float(np.median(excess[late])),
        float(np.sum(excess[late]) / np.median(excess[late])),
        spacing,
        spacing * grain / (grain + small),
        marks,
        mark_bytes,
        regular,
        _are_uneven(late, excess[late]),
    )


def _are_uneven(stalls: Ints, took_ms: Floats) -> bool:
    """Of all but the last pass, which may have had less to clean: the same for as long makes as much room."""
    gaps, alike = np.diff(stalls), took_ms[:-1]
    return bool(len(gaps) > 1 and np.ptp(alike) < _ALIKE_PASSES * alike.min() and gaps.min() < _UNEVEN * gaps.max())


def _beside_longest(excess: Floats) -> Floats:
    """What each write and those that come soon behind it were late by, but for the one that was most."""
    windows = sliding_window_view(np.append(excess, np.zeros(_SOON - 1)), _SOON)
    return np.asarray(windows.sum(axis=1) - windows.max(axis=1))


def typical(excess: Floats) -> float:
    """Of which length, or longer, the stalls are that half of the time goes to."""
    ranked = np.sort(excess)[::-1]
    return float(ranked[int(np.searchsorted(np.cumsum(ranked), 0.5 * float(ranked.sum())))])


def without_journal(known: Journal | None, log: Log, excess: Floats, filling: int, met: NDArray[np.bool_]) -> Floats:
    """What writes waited for, but for what the journal takes, which comes as regularly there as before.

    A filler may take more visits to the log than a small write: how often it comes is asked of those that came before.
    """
    regular = journal(log.part(slice(filling, int(np.argmax(met)))))
    regular = regular if regular.every else known or regular
    near = (1 - _JOURNAL_SHARE) * regular.ms
    late = np.flatnonzero((np.abs(excess - regular.ms) < near) & ~met & (np.arange(len(excess)) >= filling))
    if not regular.every or not len(late):
        return excess
    excess = excess.copy()
    begin = int(late[late < np.argmax(met)].max(initial=late[0]))
    for due in np.arange(begin % regular.every, len(excess), regular.every):
        around = slice(max(int(due) - _JOURNAL_NEAR, 0), int(due) + _JOURNAL_NEAR + 1)
        # By itself, if a write there took as long; else within what the longest of them waited for.
        alone = np.abs(excess[around] - regular.ms) < near
        at = around.start + int(np.argmax(np.where(alone, np.inf, excess[around])))
        if excess[at] > _JOURNAL_SHARE * regular.ms:
            excess[at] = max(excess[at] - regular.ms, 0.0)
    return excess


def _usual(log: Log, cycle: Floats, beginning: int) -> Floats:
    """What a write of its size takes mostly: among the marks, between which the heads travel, and behind them."""
    usual = np.zeros(len(cycle))
    among = np.arange(len(cycle)) < beginning
    for size in np.unique(log.lengths):
        for which in (among, ~among):
            same = (log.lengths == size) & which
            usual[same] = np.median(cycle[same]) if same.any() else 0.0
    return usual


def marked_trace(marks: Ints, filler: Ints, size: int, before: Ints | None = None) -> Trace:
    """Fillers, each durable, and each mark before the filler of that number; of none: before one filler each."""
    at = np.arange(len(marks)) if before is None else before
    return Trace.durable_writes(np.insert(filler, at, marks), np.insert(np.full(len(filler), size), at, BLOCK_BYTES))
