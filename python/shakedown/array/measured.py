"""What was seen of a real rebuild, in the words in which a modelled one is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from shakedown.array.capacity import Capacity
from shakedown.array.host import cautions
from shakedown.array.keep import Setting
from shakedown.array.order import RebuildOrder
from shakedown.array.rebuild import FELT_SCHEMA, MEMBERS_SCHEMA, PROGRESS_SCHEMA, Rebuild, slowest_of
from shakedown.device.array.drive import Drive
from shakedown.device.array.watch import POLL_S, Member, Watched
from shakedown.sample import SAMPLE_SCHEMA, Sample
from shakedown.units import NS_PER_S, format_duration, format_size, often


@dataclass(frozen=True)
class Traced:
    """A rebuild, the load beside it, and the same load alone: rows of samples, and rows over all of it.

    ``filled_part``: of all that is allocated the replacement is given this part at the most
    (a drive may hold more of the padding, which nobody writes, than another); 1 of md.
    """

    watched: Watched
    during: Sequence[Sequence[Sequence[Any]]]
    alone: Sequence[Sequence[Sequence[Any]]]
    allocated_bytes: int
    filled_part: float = 1.0


def measured(traced: Traced, place: int, differing: Sequence[str]) -> Rebuild:
    """``place`` is the replacement's, ``differing`` are the files that are not what they were."""
    watched = traced.watched
    members = _members(watched)
    ended = "failed" if watched.failed else "with-losses" if differing or watched.errors else "complete"
    return Rebuild(
        duration_ns=watched.duration_ns,
        ended=ended,
        lost_bytes=max(len(differing), watched.errors),
        failed_member=place if watched.failed else None,
        replacement=place,
        slowest=slowest_of(members),
        done=_done(watched),
        whole=True,
        requests=sum(member.requests for member in watched.members),
        members=members,
        progress=_progress(traced, place),
        during=_samples(traced.during[0]),
        alone=_samples(traced.alone[0]),
        felt_during=_felt(traced.during[1]),
        felt_alone=_felt(traced.alone[1]),
        allocated_bytes=traced.allocated_bytes,
    )


def setting_of(
    order: RebuildOrder, drives: Sequence[Drive], rebuild: Rebuild, watched: Watched, *, is_read_back: bool
) -> Setting:
    """Arena, identity, notes and capacity; ``drives`` are the members that the array was made of, and the new one last.

    The one that failed is among them: the array has no more of any drive than that one had.
    """
    new = drives[-1]
    identity = new.identity
    details = {"state": order.state, "layout": order.layout, "width": str(len(order.members))}
    if order.scale_divisor > 1:
        details["scale_divisor"] = str(order.scale_divisor)
    model = f"{identity.model}, used" if order.state == "used" else identity.model
    target = identity.model_copy(update={"details": {**identity.details, **details}, "model": model})
    in_lab = identity.kind == "lab"
    content = _of_content(rebuild, is_read_back=is_read_back)
    notes = (*(cautions([rebuild]) if in_lab else ()), *_notes(order, new, content, watched, rebuild.duration_s))
    capacity = Capacity.of(order, {drive.identity.text: drive.identity.capacity_bytes for drive in drives})
    return Setting("lab" if in_lab else "device", target, notes, capacity)


def taker(order: RebuildOrder, new: Drive) -> str:
    """Who takes the failed drive's place, in words."""
    return "a distributed spare" if order.on_spare else new.identity.text


def _of_content(rebuild: Rebuild, *, is_read_back: bool) -> str:
    if rebuild.ended != "complete":
        return "NOT every file is what was written."
    if not is_read_back:
        return "Whether every file is what was written is not known: they were not read back."
    return "Every file is what was written."


def _notes(order: RebuildOrder, new: Drive, content: str, watched: Watched, duration_s: float) -> list[str]:
    kind = "the real ZFS" if order.is_zfs else "the real md"
    notes = [
        f"{order.layout} of {len(order.members)} drives under {kind}; {taker(order, new)} has filled the last place.",
        f"Drives were looked at every {POLL_S * 1000:.0f} ms: how long one keeps silent, and who is waited for, is "
        "known to that.",
        content,
    ]
    if new.identity.kind == "lab":
        notes.append("A single play, and so no interval: plays of one array have differed by a factor of two.")
    if order.state == "used":
        notes.append("Used: the new drive had been filled once before, by the same rebuild.")
    if order.member_bytes is not None:
        share = new.identity.capacity_bytes / order.member_bytes
        full_s = duration_s * share
        whole = "whole drives, as full," if order.is_zfs else "whole drives"
        notes.append(
            f"Members were shrunken to {format_size(order.member_bytes)}: {whole} take {share:.3g} "
            f"times that, {format_duration(full_s * NS_PER_S)}; inner tracks are slower, so it is that or more."
        )
    if watched.interruptions:
        notes.append(f"Cut off {often(watched.interruptions)} and gone on with; the time between is not counted.")
    if watched.restarts:
        notes.append(
            f"Begun again {often(watched.restarts)} after an interruption: {new.identity.text} had been written to "
            "before."
        )
    return notes


def _members(watched: Watched) -> pl.DataFrame:
    return pl.DataFrame([_member(member, max(watched.polls, 1)) for member in watched.members], schema=MEMBERS_SCHEMA)


def longest_seen_ns(silence_ns: int, flush_ns: int) -> int:
    """The longest command that `/sys/block` tells of: a time without an answer, known to a look, or a flush."""
    return max(silence_ns + _POLL_NS, flush_ns)


def _member(member: Member, polls: int) -> dict[str, Any]:
    longest_ns = longest_seen_ns(member.longest_silence_ns, member.longest_flush_ns)
    return {
        "awaited": member.polls_awaited / polls,
        "failed_at_ns": None,
        "is_faulted": False,
        "timeouts": 0,
        "bad_places": 0,
        "faults_met": 0,
        "bytes_read": member.bytes_read,
        "bytes_written": member.bytes_written,
        "requests": member.requests,
        "busy_ns": member.busy_ns,
        "longest_ns": longest_ns,
        "longest_command_ns": longest_ns,
        "longest_flush_ns": member.longest_flush_ns,
        "longest_flush_asked_ns": member.longest_flush_ns,
        "longest_silence_ns": longest_ns,
    }


_POLL_NS: Final = round(POLL_S * NS_PER_S)


def _progress(traced: Traced, place: int) -> pl.DataFrame:
    """What the replacement was given; one that was over before anybody looked has filled what was allocated."""
    watched = traced.watched
    counted = watched.looks[-1][2] if watched.looks else traced.allocated_bytes
    part = _filled_part(traced, place, counted)
    rows: list[dict[str, float | int | None]] = [
        {
            "at_ns": at_ns,
            "done_bytes": round(done * part),
            "shown_bytes_per_s": shown,
            "left_ns": None if left_s is None else round(left_s * NS_PER_S),
        }
        for at_ns, done, _, shown, left_s in watched.looks
        if at_ns < watched.duration_ns
    ]
    first = {"at_ns": 0, "done_bytes": 0, "shown_bytes_per_s": None, "left_ns": None}
    total = round(part * counted)
    last: dict[str, float | int | None] = {
        "at_ns": watched.duration_ns,
        "done_bytes": total,
        "shown_bytes_per_s": None,
        "left_ns": 0,
    }
    if watched.failed:
        rows.append({**last, "done_bytes": rows[-1]["done_bytes"] if rows else 0, "left_ns": None})
    elif total:
        rows.append(last)
    return pl.DataFrame([first, *rows], schema=PROGRESS_SCHEMA)


def _filled_part(traced: Traced, place: int, counted: int) -> float:
    """Which part of what the status counts was written to the replacement: no more than the drive was given.

    The status leaves out what had nothing on the lost drive. A distributed spare is a part of all drives. What users
    write comes on top: then the drive was given more.
    """
    members = traced.watched.members
    written = members[place].bytes_written or sum(member.bytes_written for member in members)
    if traced.filled_part == 1.0 or traced.watched.failed or not written or not counted:
        return traced.filled_part
    return min(traced.filled_part * traced.allocated_bytes, written) / counted


def _done(watched: Watched) -> float:
    """Of one that failed, as the last look saw it."""
    if not watched.failed:
        return 1.0
    _, done, total, *_ = watched.looks[-1] if watched.looks else (0, 0, 0)
    return done / total if total else 0.0


def _samples(rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
    return pl.DataFrame([tuple(row) for row in rows], schema=SAMPLE_SCHEMA, orient="row")


def _felt(rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
    samples = [Sample(*row) for row in rows]
    told = [
        {
            "direction": sample.direction,
            "count": sample.count,
            "mean_ns": sample.latency_mean_ns,
            "p50_ns": sample.latency_p50_ns,
            "p99_ns": sample.latency_p99_ns,
            "p999_ns": sample.latency_p999_ns,
            "max_ns": sample.latency_max_ns,
        }
        for sample in samples
    ]
    return pl.DataFrame(told, schema=FELT_SCHEMA)
