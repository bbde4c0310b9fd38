"""Who holds a rebuild up, over all its seeds: a drive, drives that are alike, those that are read together, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

import polars as pl

from shakedown.array.rebuild import LONG_AWAITED, Rebuild
from shakedown.units import NS_PER_S, format_counts, format_size

_AS_BUSY: Final = 0.05
# A rebuild that comes as near to its own limit is held by that: it also waits at its checkpoints.
_HELD_BACK: Final = 0.95
_AT_ITS_END: Final = 0.9
# Who fills at its limit is held by that, however busy its drives are: without the limit they would be busier.
_AT_THE_LIMIT: Final = 0.98
# From so much on figures that stand beside a limit contradict it for who reads them.
_WELL_OVER: Final = 0.02
# For so much of the time, at least, a limit is worth telling of that does not hold the whole back.
_IN_PART: Final = 0.1
# Who is read together with others waits for the last of them now and then; below this a drive could do more.
_MOSTLY_BUSY: Final = 0.7
# Who is waited for alone for so long is named, though others hold the rebuild up for longer.
_NOW_AND_THEN: Final = 0.1
# Of the time that is waited for a drive: who may have hung for less of it is slow, whatever else it does.
_HANGS: Final = 0.5
# Of drives of one kind: which of them is waited for longest is chance, if another is at least for half as long.
_ALIKE: Final = 0.5


@dataclass(frozen=True)
class HeldUp:
    """``share`` of the time is waited for the drive in ``place`` alone, or one like it; None if nobody can know."""

    share: float | None
    place: int
    busy: float
    text: str


@dataclass(frozen=True)
class _Seen:
    """Means over all seeds, a value a drive."""

    awaited: list[float]
    busy: list[float]
    hung: list[float]
    names: Sequence[str]
    replacement: int
    is_spare: bool
    read: int
    failed: Sequence[int]

    def alike(self, place: int) -> list[int]:
        """Drives of the same kind and part that are waited for nearly as long; ``place`` is one of them."""
        return [
            each
            for each, name in enumerate(self.names)
            if name == self.names[place]
            and (each == self.replacement) == (place == self.replacement)
            and self.awaited[each] >= _ALIKE * self.awaited[place]
        ]

    def who(self, place: int) -> str:
        name = self.names[place]
        return f"the replacement, {name}" if place == self.replacement else f"drive {place}, {name}"


def held_up(rebuilds: Sequence[Rebuild], names: Sequence[str], limit_bytes_per_s: int | None = None) -> HeldUp:
    """Of the same rebuild under several seeds; ``names`` are those of the drives, in their places.

    ``limit_bytes_per_s`` is what a rebuild holds itself to, None if to nothing.
    """
    one = rebuilds[0]
    awaited = _means([each.members["awaited"].to_list() for each in rebuilds])
    busy = _means([[ns / max(each.duration_ns, 1) for ns in each.members["busy_ns"].to_list()] for each in rebuilds])
    hung = _means([_hung(each) for each in rebuilds])
    is_spare = one.members["requests"][one.replacement] == 0
    read = sum(bool(bytes_) for place, bytes_ in enumerate(one.members["bytes_read"]) if place != one.replacement)
    failed = sorted({place for each in rebuilds for place in each.failed_on_the_way})
    seen = _Seen(awaited, busy, hung, names, one.replacement, is_spare, read, failed)
    longest, busiest = (max(range(len(names)), key=values.__getitem__) for values in (awaited, busy))
    if not busy[busiest] and not awaited[longest] and sum(one.members["requests"].to_list()):
        return HeldUp(None, busiest, 0.0, _UNKNOWN)
    filled = fmean(each.filled_bytes / each.duration_s for each in rebuilds)
    near = _HELD_BACK if busy[busiest] < _AT_ITS_END else _AT_THE_LIMIT
    if limit_bytes_per_s and filled >= near * limit_bytes_per_s:
        return HeldUp(awaited[busiest], busiest, busy[busiest], _limited(seen, limit_bytes_per_s, filled))
    cores_busy = fmean(each.cores_busy for each in rebuilds)
    if cores_busy >= _AT_ITS_END:
        return HeldUp(awaited[busiest], busiest, busy[busiest], _computed(seen, cores_busy))
    besides = _limited_in_part(rebuilds, limit_bytes_per_s)
    if awaited[longest] < LONG_AWAITED:
        return HeldUp(awaited[busiest], busiest, busy[busiest], _together(seen) + besides)
    alike = seen.alike(longest)
    share = sum(awaited[place] for place in alike)
    return HeldUp(share, longest, busy[longest], _alone(seen, longest, alike, share) + besides)


_UNKNOWN: Final = (
    "What holds the rebuild up is not known: these drives, like loop devices, keep no account of how busy they are."
)


def _means(rows: Sequence[Sequence[float]]) -> list[float]:
    return [fmean(values) for values in zip(*rows, strict=True)]


def _hung(rebuild: Rebuild) -> list[float]:
    """The largest share of the time in which each drive can have hung: as if one command had after the other."""
    counted, longest_ns = (rebuild.members[name].to_list() for name in ("timeouts", "longest_command_ns"))
    seen_ns = max(rebuild.simulated_ns or rebuild.duration_ns, 1)
    return [timeouts * each_ns / seen_ns for timeouts, each_ns in zip(counted, longest_ns, strict=True)]


def _alone(seen: _Seen, place: int, alike: Sequence[int], share: float) -> str:
    busy = min(seen.busy[each] for each in alike)
    if len(alike) == 1:
        why = _reason("write", busy) if place == seen.replacement else _reason_of_read(seen, busy)
        if seen.hung[place] >= _HANGS * share:
            why = f"lets commands hang until Linux gives up on them (busy {busy:.0%})"
        return f"The rebuild waits for {seen.who(place)}, {share:.0%} of the time: it {why}."
    kind = format_counts([seen.names[each] for each in alike])
    return (
        f"The rebuild waits for one or another of {kind}, {share:.0%} of the time: they are alike, and each "
        f"{_reason_of_read(seen, busy)}."
    )


def _reason(verb: str, busy: float) -> str:
    if busy >= _AT_ITS_END:
        return f"cannot {verb} faster (busy {busy:.0%})"
    return f"is slow to {verb} what it is asked for, and is not asked for more (busy {busy:.0%})"


def _reason_of_read(seen: _Seen, busy: float) -> str:
    """Of a drive that is read; whom others had to stand in for, or who had to for them, was not asked all the time."""
    if not seen.failed or busy >= _AT_ITS_END:
        return _reason("read", busy)
    drives = " and ".join(f"drive {place}" for place in seen.failed)
    return f"was read for a part of the time, before or after {drives} failed (busy {busy:.0%} of the whole)"


def _limited_in_part(rebuilds: Sequence[Rebuild], limit_bytes_per_s: int | None) -> str:
    """For how much of the time md was at its limit, where that is not all."""
    if not limit_bytes_per_s:
        return ""
    share = fmean(_at_limit(each, limit_bytes_per_s) for each in rebuilds)
    if share < _IN_PART:
        return ""
    return (
        f" For {share:.0%} of the time md was at its own limit of {format_size(limit_bytes_per_s)} a second"
        " (`speed-max`): with a higher one it would take less."
    )


def _at_limit(rebuild: Rebuild, limit_bytes_per_s: int) -> float:
    """The share of the time in which that much was done."""
    steps = rebuild.progress.select(pl.col("at_ns", "done_bytes").diff().cast(pl.Float64)).drop_nulls()
    fast = steps.filter(pl.col("done_bytes") * NS_PER_S >= _AT_THE_LIMIT * limit_bytes_per_s * pl.col("at_ns"))
    return float(fast["at_ns"].to_numpy().sum()) / max(rebuild.duration_ns, 1)


def _limited(seen: _Seen, limit_bytes_per_s: int, filled_bytes_per_s: float) -> str:
    limit = f"md limits itself to {format_size(limit_bytes_per_s)} a second (`speed-max`): {_could_do_more(seen)}"
    over = filled_bytes_per_s / limit_bytes_per_s - 1
    if over < _WELL_OVER:
        return limit
    return (
        f"{limit} The rebuild goes {over:.0%} faster than that: when md looks how fast it is, what is under way does"
        " not count yet."
    )


def _computed(seen: _Seen, cores_busy: float) -> str:
    return (
        f"The host's cores hold the rebuild up: what is read is verified and rebuilt {cores_busy:.0%} of their time"
        f" (`cores`, `core-rate`): {_could_do_more(seen)}"
    )


def _could_do_more(seen: _Seen) -> str:
    top = max(seen.busy)
    more = "could do more" if top < _AT_ITS_END else "could hardly do more"
    return f"each drive {more}; the busiest is {seen.who(seen.busy.index(top))}, {top:.0%} of the time."


def _together(seen: _Seen) -> str:
    """Of a rebuild that waits for no drive alone: those that are as busy as the busiest, and who is awaited besides."""
    longest = max(range(len(seen.names)), key=seen.awaited.__getitem__)
    if seen.awaited[longest] < _NOW_AND_THEN:
        return _busiest(seen, is_one_awaited=False)
    besides = f"For {seen.awaited[longest]:.0%} of the time it waits for {seen.who(longest)} alone."
    return f"{_busiest(seen, is_one_awaited=True)} {besides}"


def _busiest(seen: _Seen, *, is_one_awaited: bool) -> str:
    top = max(seen.busy)
    busiest = [place for place, busy in enumerate(seen.busy) if busy >= top - _AS_BUSY]
    has_rest = seen.replacement not in busiest and not seen.is_spare
    rest = f", the replacement {seen.busy[seen.replacement]:.0%}" if has_rest else ""
    if top < _MOSTLY_BUSY:
        return (
            f"No drive holds the rebuild up; each could do more: the busiest is {seen.who(seen.busy.index(top))}, "
            f"{top:.0%} of the time{rest}. Too few requests are outstanding to keep any of them busy."
        )
    none = "No single drive holds the rebuild up" + (" most of the time" if is_one_awaited else "")
    if len(busiest) == 1:
        return f"{none}: the busiest is {seen.who(busiest[0])}, {top:.0%} of the time."
    drives = format_counts([seen.names[place] for place in busiest])
    if has_rest and len(busiest) < seen.read:
        drives += f", of {seen.read} that are read,"
    drives += f" are busy {top:.0%} of the time"
    if top < _AT_ITS_END and is_one_awaited:
        return f"The rebuild waits for one drive or another: {drives}{rest}."
    if seen.replacement in busiest:
        return f"{none}: {drives}."
    between = " (it has commands; what it writes from DRAM between them is not counted)" if has_rest else ""
    return f"{none}; those that are read do so together: {drives}{rest}{between}."
