"""What a run will do to a disk, said before it begins: what the guard knows, bytes to be written, hours, what stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shakedown.errors import Planned, UsageError
from shakedown.protocol.expect import expect
from shakedown.protocol.schema import Protocol, Step
from shakedown.target.arena import Arena
from shakedown.tools.fio.job import Section, parse_fio_bytes, parse_job
from shakedown.units import NS_PER_S, format_interval, format_size

# Of hard drives, slowest to fastest, in order and at random: assumed, and only for telling hours from days.
_IN_ORDER_BYTES_S: Final = (60e6, 280e6)
_AT_RANDOM_S: Final = (20.0, 600.0)


@dataclass(frozen=True)
class Work:
    """How much is written and how long it takes; bounds, for what ends a step may be something that is to be seen.

    What only time ends is written as fast as the drive can: ``is_bound`` tells whether the bytes hold for any drive, or
    only for hard drives.
    """

    written_bytes: int
    least_s: float
    most_s: float
    is_bound: bool = True

    def __add__(self, other: Work) -> Work:
        """One after the other."""
        return Work(
            self.written_bytes + other.written_bytes,
            self.least_s + other.least_s,
            self.most_s + other.most_s,
            self.is_bound and other.is_bound,
        )


def plan_of(protocol: Protocol, arena: Arena) -> Planned | None:
    """The plan for a disk; None for a target that is none."""
    guarded = arena.guarded()
    if guarded is None:
        return None
    capacity_bytes = arena.identity.capacity_bytes
    work = sum((_work(step, capacity_bytes) for step in protocol.steps), Work(0, 0, 0))
    least, most = format_interval(work.least_s * NS_PER_S, work.most_s * NS_PER_S)
    steps = "one step" if len(protocol.steps) == 1 else f"{len(protocol.steps)} steps"
    lines = (
        *guarded.lines,
        f"will write  {_written(work)}, in {steps} of {protocol.name}",
        f"will take   {most if least == most else f'{least} to {most}'}, if it is a hard drive",
        f"left behind {_left_behind(work)}",
    )
    document = guarded.document | {
        "protocol": protocol.name,
        "written_bytes_at_most": work.written_bytes if work.is_bound else None,
        "written_bytes_at_most_by_a_hard_drive": work.written_bytes,
        "seconds_at_least": round(work.least_s),
        "seconds_at_most": round(work.most_s),
        "options_to_type": list(guarded.options),
    }
    return Planned(lines, document)


def _written(work: Work) -> str:
    if not work.written_bytes:
        return "nothing: all steps only read"
    faster = "" if work.is_bound else " if it is a hard drive; what is faster, more: only time ends some steps"
    return f"up to {format_size(work.written_bytes)}{faster}"


def _left_behind(work: Work) -> str:
    if not work.written_bytes:
        return "everything as it was; what a drive does when it is written to stays unknown"
    return "test data; what stood at the edges of the disk and its partitions is kept in the run's folder `before`"


def _work(step: Step, capacity_bytes: int) -> Work:
    """Of a step: its end where that is known, otherwise from nothing to the latest that it allows."""
    expected = expect(step, capacity_bytes)
    if step.job is None:
        seconds = (expected.duration_ns or 0) / NS_PER_S
        return Work(0, seconds, seconds)
    sections = parse_job(step.job, step.name)
    slow, fast = map(sum, zip(*(_rates(section) for section in sections), strict=True))
    writes = any(move != "read" for section in sections for move in section.directions)
    amount = expected.amount_bytes or (
        None if expected.at_most_ns or expected.duration_ns else _sizes(sections, capacity_bytes)
    )
    if expected.duration_ns is not None:
        least_s = most_s = expected.duration_ns / NS_PER_S
    else:
        least_s = amount / fast if amount else 0.0
        ends = [expected.at_most_ns / NS_PER_S] if expected.at_most_ns else []
        most_s = min([*ends, *([amount / slow] if amount else [])], default=0.0)
    moved = min([most_s * fast, *([amount] if amount else [])])
    return Work(int(moved) if writes else 0, min(least_s, most_s), most_s, is_bound=bool(amount) or not writes)


def places_bytes(job: str, step: str, capacity_bytes: int) -> int:
    """How much of a target a step's job goes to: more than that it writes over again."""
    sizes = (_bytes(section.last("size") or "100%", capacity_bytes) for section in parse_job(job, step))
    return min(sum(sizes), capacity_bytes)


def _sizes(sections: tuple[Section, ...], capacity_bytes: int) -> int:
    """What the sections move if nothing but their size ends them."""
    moved = 0
    for section in sections:
        size = section.last("io_size") or section.last("size") or "100%"
        moved += section.count("numjobs", 1) * _bytes(size, capacity_bytes)
    return moved


def _rates(section: Section) -> tuple[float, float]:
    """Bytes a second, least and most."""
    if "rand" not in section.last("rw", "read"):
        return _IN_ORDER_BYTES_S
    block = _bytes(section.last("bs", "4k").split(",")[0].split("-")[0], 0) or 4096
    slow, fast = _AT_RANDOM_S
    return min(slow * block, _IN_ORDER_BYTES_S[0]), min(fast * block, _IN_ORDER_BYTES_S[1])


def _bytes(text: str, whole_bytes: int) -> int:
    try:
        return parse_fio_bytes(text, whole_bytes)
    except UsageError:
        return 0
