"""The findings of a rebuild: how long, how fast, who held it up, what users felt, how true the estimate was."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Final

import polars as pl

from shakedown.analysis.finding import Finding, FindingKind
from shakedown.analysis.status import are_alike, look_at, off_by
from shakedown.array.bottleneck import HeldUp, held_up
from shakedown.array.felt import users_findings
from shakedown.array.host import together_bytes_per_s
from shakedown.array.interval import interval, sampled_off
from shakedown.array.ordered_rate import OrderedRate
from shakedown.array.rebuild import Rebuild
from shakedown.units import NS_PER_S, format_duration, format_share

REBUILD: Final = "rebuild"
_MIB: Final = 2**20


def findings(
    rebuilds: Sequence[Rebuild],
    names: Sequence[str],
    limit_bytes_per_s: int | None = None,
    ordered: OrderedRate | None = None,
) -> list[Finding]:
    """Findings of the same rebuild under several seeds; ``names`` are those of the drives, in their places.

    ``limit_bytes_per_s`` is what it holds itself to, None if to nothing; ``ordered`` is the rate that the users' job
    orders.
    """
    if any(each.ended == "failed" for each in rebuilds):
        return [_failed(rebuilds, names), _longest(rebuilds, names), *users_findings(rebuilds, ordered)]
    if not any(each.duration_ns for each in rebuilds):
        return [_nothing()]
    slowest = _slowest(held_up(rebuilds, names, limit_bytes_per_s), names)
    found = [_duration(rebuilds, names), _rate(rebuilds), slowest, _longest(rebuilds, names)]
    return [*found, _estimate(rebuilds), *users_findings(rebuilds, ordered)]


def ratios(found: Sequence[Finding], baseline: Sequence[Finding]) -> list[Finding]:
    """Candidate over baseline, for what both have."""
    theirs = {(each.kind, each.step): each for each in baseline}
    result = []
    for ours in found:
        other = theirs.get((ours.kind, ours.step))
        if ours.kind in _RATIOS and ours.value and other is not None and other.value:
            low, high = _ratio_bounds(ours, other)
            ratio = ours.value / other.value
            kind, text = _RATIOS[ours.kind], f"{ratio:.3g} times the baseline's"
            result.append(Finding(kind=kind, step=ours.step, value=ratio, unit="ratio", low=low, high=high, text=text))
    return result


_RATIOS: Final[dict[FindingKind, FindingKind]] = {
    "rebuild-time": "rebuild-time-ratio",
    "throughput": "throughput-ratio",
    "latency": "latency-ratio",
    "worst-latency": "worst-latency-ratio",
}


def _ratio_bounds(ours: Finding, other: Finding) -> tuple[float | None, float | None]:
    if ours.low is None or ours.high is None or not other.low or not other.high:
        return None, None
    return ours.low / other.high, ours.high / other.low


def _nothing() -> Finding:
    text = "Nothing is allocated, so nothing is resilvered."
    return Finding(kind="rebuild-time", step=REBUILD, value=0.0, unit="s", text=text)


def _duration(rebuilds: Sequence[Rebuild], names: Sequence[str]) -> Finding:
    mean, low, high = interval([each.duration_s for each in rebuilds], sampled_off(rebuilds))
    lost = max(each.lost_bytes for each in rebuilds)
    losses = f"; {lost} bytes could not be rebuilt: they were unreadable elsewhere" if lost else ""
    return Finding(
        kind="rebuild-time",
        step=REBUILD,
        value=mean,
        unit="s",
        low=low,
        high=high,
        evidence={
            "seeds": len(rebuilds),
            "whole": int(all(each.whole for each in rebuilds)),
            "lost_bytes": lost,
            "failed_on_the_way": max(len(each.failed_on_the_way) for each in rebuilds),
            "bad_places": max(sum(each.members["bad_places"].to_list()) for each in rebuilds),
            "timeouts": max(sum(each.members["timeouts"].to_list()) for each in rebuilds),
        },
        text=f"The rebuild takes {format_duration(mean * NS_PER_S)}{losses}.{_survived(rebuilds, names)}"
        + _made_up_for(rebuilds, names, all_of_it=not lost)
        + _given_up_on(rebuilds, names),
    )


def _made_up_for(rebuilds: Sequence[Rebuild], names: Sequence[str], *, all_of_it: bool) -> str:
    """Sectors that could not be read. Of a drive that was left out its end is told."""
    said = ""
    for place, most, seeds in _most_of("bad_places", rebuilds):
        places = "one place" if most == 1 else f"{_up_to(most, seeds)} places"
        said += f" Drive {place}, {names[place]}, could not be read at {places}{_counted_in(seeds, len(rebuilds))}"
        said += ", which the array made up for." if all_of_it else "."
    return said


def _given_up_on(rebuilds: Sequence[Rebuild], names: Sequence[str]) -> str:
    """Commands that Linux gave up on. Of a drive that was left out its end is told."""
    said = ""
    for place, most, seeds in _most_of("timeouts", rebuilds):
        commands, were = ("one command", "it was") if most == 1 else (f"{_up_to(most, seeds)} commands", "they were")
        said += f" Linux gave up on {commands} of drive {place}, {names[place]}{_counted_in(seeds, len(rebuilds))}: "
        said += f"{were} not answered in time."
    return said


def _most_of(column: str, rebuilds: Sequence[Rebuild]) -> list[tuple[int, int, int]]:
    """Of each drive that was not left out: its place, the most that any seed counted, and in how many seeds any."""
    counted: dict[int, list[int]] = {}
    for each in rebuilds:
        for place, count in enumerate(each.members[column].to_list()):
            if count and place not in each.failed_on_the_way:
                counted.setdefault(place, []).append(int(count))
    return [(place, max(counts), len(counts)) for place, counts in sorted(counted.items())]


def _up_to(most: int, seeds: int) -> str:
    return str(most) if seeds == 1 else f"up to {most}"


def _counted_in(seeds: int, of: int) -> str:
    """In how many of the seeds anything was counted; nothing of the only one."""
    return "" if of == 1 else f", in {_seeds(seeds, of)}"


def _seeds(some: int, of: int) -> str:
    if some == 1:
        return f"one of {of} seeds"
    return f"{f'all {of}' if some == of else f'{some} of {of}'} seeds"


def _survived(rebuilds: Sequence[Rebuild], names: Sequence[str]) -> str:
    """Of those that failed on the way, the earliest times."""
    earliest: dict[int, tuple[int, str]] = {}
    for each in rebuilds:
        for place, at_ns in each.failed_on_the_way.items():
            earliest[place] = min((at_ns, _cause(each, place)), earliest.get(place, (at_ns + 1, "")))
    return "".join(
        f" Drive {place}, {names[place]}, fails after {format_duration(at_ns)}, which the array survives.{cause}"
        for place, (at_ns, cause) in earliest.items()
    )


def _rate(rebuilds: Sequence[Rebuild]) -> Finding:
    mean, low, high = interval([each.filled_bytes / _MIB / each.duration_s for each in rebuilds], sampled_off(rebuilds))
    text = f"The replacement is filled at {mean:.3g} MiB/s on average."
    evidence: dict[str, float | int | str] = {"together_bytes_per_s": together_bytes_per_s(rebuilds)}
    return Finding(
        kind="throughput",
        step=REBUILD,
        value=mean,
        unit="MiB/s",
        low=low,
        high=high,
        evidence=evidence,
        text=text,
    )


def _slowest(held: HeldUp, names: Sequence[str]) -> Finding:
    evidence: dict[str, float | int | str] = {"member": held.place, "drive": names[held.place], "busy": held.busy}
    return Finding(kind="bottleneck", step=REBUILD, value=held.share, unit="share", evidence=evidence, text=held.text)


def _longest(rebuilds: Sequence[Rebuild], names: Sequence[str]) -> Finding:
    one = max(rebuilds, key=lambda each: each.longest_command_ms)
    others_ns, other = max(
        (longest_ns, place)
        for each in rebuilds
        for place, longest_ns in enumerate(each.members["longest_command_ns"].to_list())
        if place != one.filled
    )
    evidence: dict[str, float | int | str] = {
        "member": one.filled,
        "silence_ms": float(one.members["longest_silence_ns"][one.filled]) / 1e6,
        "others_ms": others_ns / 1e6,
        "others_longest": other,
        "is_flush": int(one.is_longest_a_flush(one.filled)),
    }
    longest_ms = one.longest_command_ms
    who = "The replacement" if one.filled == one.replacement else f"Drive {one.filled}, {names[one.filled]}"
    command = "longest command, a flush," if evidence["is_flush"] else "longest command"
    text = f"{who}'s {command} takes {format_duration(longest_ms * 1e6)}."
    return Finding(kind="worst-latency", step=REBUILD, value=longest_ms, unit="ms", evidence=evidence, text=text)


def _estimate(rebuilds: Sequence[Rebuild]) -> Finding:
    """How far the estimate was off when a tenth was done: until then people decide whether to wait."""
    looks = [look_at(0.1, each.progress.to_dicts(), each.duration_ns) for each in rebuilds]
    seen = [look for look in looks if look is not None]
    errors = [look.error for look in seen]
    if not errors:
        text = f"With a tenth done no estimate was shown: {_why_none(rebuilds)}."
        return Finding(kind="estimate-error", step=REBUILD, value=None, unit="share", text=text)
    shown = "zpool status's" if rebuilds[0].allocated_bytes else "/proc/mdstat's"
    least, most = min(errors), max(errors)
    sides = "anything from " if least < 0 < most and not are_alike(least, most) else ""
    done = _done([look.share for look in seen])
    nearest = "" if done == "10%" else ", the look nearest to a tenth,"
    text = f"With {done} done{nearest} {shown} estimate is {sides}{off_by(least, most)}."
    evidence: dict[str, float | int | str] = {"least": least, "most": most}
    return Finding(kind="estimate-error", step=REBUILD, value=fmean(errors), unit="share", evidence=evidence, text=text)


def _why_none(rebuilds: Sequence[Rebuild]) -> str:
    is_slow = any(_is_silent(each) for each in rebuilds)
    return f"below {_SILENT_BELOW >> 20} MiB/s `zpool status` shows none" if is_slow else "it was over too soon"


def _is_silent(rebuild: Rebuild) -> bool:
    """Of a resilver, somebody looked before a fifth was done, and it was too slow."""
    early = pl.col("done_bytes").is_between(1, rebuild.allocated_bytes // 5)
    slow = pl.col("left_ns").is_null() & (pl.col("shown_bytes_per_s") < _SILENT_BELOW)
    return not rebuild.progress.filter(early & slow).is_empty()


_SILENT_BELOW: Final = 10 << 20
"""Bytes a second: `print_scan_scrub_resilver_status` of OpenZFS."""


def _done(shares: Sequence[float]) -> str:
    """Who looks now and then does not look when just a tenth is done."""
    least, most = (f"{share:.0%}" for share in (min(shares), max(shares)))
    return least if least == most else f"{least} to {most}"


def _failed(rebuilds: Sequence[Rebuild], names: Sequence[str]) -> Finding:
    """The soonest failure stands for all: each seed is told of in a table."""
    failed = [each for each in rebuilds if each.ended == "failed"]
    one = min(failed, key=lambda each: each.duration_ns)
    place = one.failed_place
    after, done = format_duration(one.duration_ns), format_share(one.done)
    is_lost = place != one.replacement
    why = "that is one too many: the array is lost" if is_lost else "it is the one put in"
    text = f"The rebuild fails{_in_seeds(len(failed), len(rebuilds))} after {after}, {done} done: drive {place}, "
    text += f"{names[place]}, fails, and {why}."
    evidence: dict[str, float | int | str] = {"member": place, "drive": names[place], "done": one.done}
    evidence |= {"array_lost": int(is_lost)}
    evidence |= {key: int(one.members[key][place]) for key in ("timeouts", "is_faulted")}
    evidence |= {"seeds": len(rebuilds), "seeds_failed": len(failed)}
    text += _cause(one, place)
    return Finding(kind="rebuild-time", step=REBUILD, value=None, unit="s", evidence=evidence, text=text)


def _in_seeds(failed: int, seeds: int) -> str:
    """In how many of them; nothing of the only one."""
    if seeds == 1:
        return ""
    return f" in {_seeds(failed, seeds)}," + ("" if failed == 1 else " the soonest")


def _cause(one: Rebuild, place: int) -> str:
    """Why a drive was left out, where it was there; empty where it was gone, or nobody knows."""
    counted = one.members.row(place, named=True)
    timeouts, bad_places, is_faulted = (int(counted[key]) for key in ("timeouts", "bad_places", "is_faulted"))
    late = f"{'one' if timeouts == 1 else timeouts} of its commands took longer than Linux waits"
    if is_faulted:
        unread = f"it could not be read at {'one place' if bad_places == 1 else f'{bad_places} places'}"
        why = " and ".join([late] * bool(timeouts) + [unread] * bool(bad_places)) or "too many of its commands failed"
        each = "" if timeouts + bad_places == 1 else "each "
        return f" ZFS has set it faulty, for {why}, {each}{_HOLDS_SEVERAL}."
    return f" Linux has given it up: {late}, and were asked again in vain." if timeouts else ""


_HOLDS_SEVERAL: Final = "an error for every request of ZFS that was joined in the command"
"""Why fewer commands than errors set a drive faulty: docs/faults.md."""
