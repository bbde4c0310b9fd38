"""What of a job beside a modelled rebuild is not as it was written: when it ends, and on ZFS where it queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Final

from shakedown.array.order import RebuildOrder
from shakedown.array.ordered_rate import Unit, rate_of
from shakedown.array.rebuild import Rebuild
from shakedown.protocol.measured import load_of, pace_of
from shakedown.sample import Direction
from shakedown.tools.fio.job import Section, parse_fio_time_ns, parse_job
from shakedown.units import format_duration, format_size, format_two_sizes

_ENDS: Final = {"runtime": "0", "number_ios": "0", "io_size": "0", "loops": "1"}
"""What ends a job, and with which value it does not; `size` does, too, but says first where the job works."""

_ALIKE: Final = 0.01
"""What two resilvers fill less apart than this is as much."""


_NS_PER_US: Final = 1000


def told_users(job: str | None) -> str:
    """What each user does: ``reader: 8.0 KiB, 70 % reads, 100 % random, 4 outstanding``; empty without any."""
    return "; ".join(f"{section.name}: {_asked(section)}" for section in (parse_job(job, "load") if job else ()))


def _asked(section: Section) -> str:
    load, pace = load_of(section), pace_of(section)
    # Of requests of several sizes the options themselves tell most.
    told = str(load) if load else " ".join(f"{each.name}={each.value}" for each in section.options)
    if pace is None or load is None:
        return told
    name, value = pace
    if name == "thinktime":
        every = section.last("thinktime_blocks", "1")
        after = "each" if every == "1" else f"every {every} requests"
        return f"{told}, a pause of {format_duration(parse_fio_time_ns(value, _NS_PER_US))} after {after}"
    rate = rate_of(section)
    return f"{told}, {f'{name}={value}' if rate is None else f'{_at_most(*rate)} a second at the most'}"


def _at_most(unit: Unit, rates: Mapping[Direction, int]) -> str:
    """``40 requests``, ``40 reads and 40 writes``, ``1.0 MiB``, ``1.0 MiB of reads and 1.0 MiB of writes``.

    A direction has its own rate, so a mixed job has no share of reads while it keeps to them.
    """
    several = len(rates) > 1
    if unit == "requests":
        named = {way: way if several else "request" for way in rates}
        return " and ".join(f"{per_s} {named[way]}{'' if per_s == 1 else 's'}" for way, per_s in rates.items())
    return " and ".join(f"{format_size(per_s)}{f' of {way}s' if several else ''}" for way, per_s in rates.items())


def users_otherwise(order: RebuildOrder) -> Iterator[str]:
    """A sentence for each thing that the load says and its users do not heed."""
    if order.load is None:
        return
    sections = parse_job(order.load, "load")
    for name, endless in _ENDS.items():
        if any(section.last(name, endless) != endless for section in sections):
            yield f"The load's `{name}` is ignored: its users go on until the rebuild is over."
    if order.layout == "raid10":
        yield (
            "In a raid10 users and the recovery take turns at md's barrier, a block of 64 KiB each time: that slows "
            "the rebuild down, and `speed-min` hardly helps."
        )
    if order.is_zfs and any(section.last("iodepth", "1") != "1" for section in sections):
        yield (
            "The load's `iodepth` only makes requests wait: ZFS takes a program's next one when it has answered the "
            "last (docs/zfs.md). The wait counts, so with `iodepth=4` a request takes four times as long as ZFS itself "
            "needs. md works on all of them at once: do not compare users of md with those of ZFS."
        )


def longest_wait(order: RebuildOrder, rebuilds: Sequence[Rebuild]) -> tuple[str, ...]:
    """Of a sample: what was not gone through may hold a longer one."""
    if order.load is None or all(each.whole for each in rebuilds):
        return ()
    return (
        "The users' longest wait is that of the stretches that were played; between them one may be longer. "
        "--whole goes through every request.",
    )


def rewritten(order: RebuildOrder, ours: Sequence[Rebuild], baseline: Sequence[Rebuild]) -> tuple[str, ...]:
    """Why two resilvers of the same pool did not fill as much: users were ahead of one of them more often."""
    filled, theirs = (fmean(each.filled_bytes for each in some) for some in (ours, baseline))
    if order.load is None or not order.is_zfs or abs(filled - theirs) < _ALIKE * max(filled, theirs):
        return ()
    told, told_theirs = format_two_sizes(round(filled), round(theirs))
    return (
        "What users rewrite meanwhile reaches the new drive at once and need not be resilvered: this resilver filled "
        f"{told}, the baseline's {told_theirs}. So speeds and times are not in the same proportion.",
    )
