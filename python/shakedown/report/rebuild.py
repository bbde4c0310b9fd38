"""A rebuild as text: how long, its progress, who held it up, what users felt, who would lose patience."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, pairwise
from typing import Any, Final

from shakedown.analysis.finding import Finding
from shakedown.analysis.kick import judge_patience
from shakedown.analysis.status import look_at
from shakedown.report import words
from shakedown.report.plain_text import table, wrap
from shakedown.report.seeds import seeds_table
from shakedown.report.told_table import ToldTable
from shakedown.result.answers import read_answers
from shakedown.result.folder import Run
from shakedown.result.run_record import RunRecord
from shakedown.units import NS_PER_S, format_counts, format_duration

_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_COLUMNS: Final = 56
_FEWEST_LOOKS: Final = 3
"""Beginning and end alone tell one speed: a line of it would look like one that never changed."""
_LOOKS: Final = (0.1, 0.25, 0.5, 0.75, 0.9)
_VERDICTS: Final = {"no": "no", "close": "close", "yes": "YES"}


def answers_of(run: Run) -> dict[str, Any]:
    """The order, the answer of each seed, and who waits how long. Raises UsageError where it is no rebuild."""
    return read_answers(run.path)


def render_rebuild(run: Run) -> str:
    """80 columns of plain text; ends with a newline."""
    sides = [("candidate", run)] + ([("baseline", run.baseline)] if run.baseline else [])
    cautions = words.cautions(run.record)
    parts = [_heading(run), "\n".join([_figures(run), *(wrap(note, "") for note in cautions)])]
    parts += [_progress(name, side) for name, side in sides]
    parts += [told.text for told in (seeds_table(run), _estimates(run), _patience(run)) if told is not None]
    parts.append("\n".join(wrap(note, "") for note in run.record.notes if note not in cautions))
    return "\n\n".join(filter(None, parts)) + "\n"


def has_lost(duration: Finding) -> bool:
    """Whether a rebuild that came to an end cost the array data, or one more drive."""
    return bool(duration.evidence.get("lost_bytes") or duration.evidence.get("failed_on_the_way"))


def bad_news(duration: Finding) -> str:
    """The headline of a rebuild that failed, or came to an end at a price; empty of any other and of other findings."""
    if _has_failed(duration):
        return "THE ARRAY IS LOST." if duration.evidence.get("array_lost") else "THE REBUILD FAILS."
    if duration.evidence.get("lost_bytes"):
        return "DATA IS LOST."
    if duration.evidence.get("failed_on_the_way"):
        return "ANOTHER DRIVE FAILS."
    return "COMMANDS WERE GIVEN UP." if duration.evidence.get("timeouts") else ""


def baseline_news(run: Run) -> tuple[str, ...]:
    """How the baseline ended, where that was badly: what stands beside a figure of it, or in place of one."""
    found = run.baseline.record.findings if run.baseline else ()
    duration = next((each for each in found if each.kind == "rebuild-time"), None)
    if duration is None or not bad_news(duration):
        return ()
    return (f"Baseline: {bad_news(duration)} {duration.text}",)


def told_tables(run: Run) -> tuple[ToldTable, ...]:
    """How each seed ended, who would be kicked, and the estimates beside the truth.

    Without the sentences on kicks and near misses: how it ended tells them, and this stands beside it.
    Raises UsageError where it is no rebuild.
    """
    return tuple(
        each for each in (seeds_table(run), _patience(run, in_full=False), _estimates(run)) if each is not None
    )


def _heading(run: Run) -> str:
    record = run.record
    who = [_put_in(record)]
    if run.baseline is not None:
        who.append(f"beside {_put_in(run.baseline.record)}, the baseline")
    if _on_spare(run):
        who = [f"{format_counts(answers_of(run)['order']['members'])}; no new one is put in."]
    lines = [f"REBUILD: {record.protocol.title}", *who, *([words.MODELLED] if record.is_modelled else [])]
    if "set" in record.parameters:
        lines.append(f"Set: {record.parameters['set']}.")
    if "load" in record.parameters:
        lines.append(f"Load beside it: {record.parameters['load']}.")
    if "faults" in record.parameters:
        lines.append(ordered_faults(record.parameters["faults"]))
    if record.scale_divisor > 1:
        lines.append(
            f"Scaled down by {record.scale_divisor}: what takes as long as a drive is large takes so many times less, "
            "and what a cache can hold fills sooner. Rates are those of whole drives where it takes an hour, and too"
            " low where it takes minutes, onto shingled drives most. Who would be kicked, and so whether a rebuild onto"
            " such a drive gets through, is a question of whole drives."
        )
    return "\n".join(wrap(line, "") for line in lines)


def ordered_faults(faults: str) -> str:
    """Beside whatever fails of them: they are no prediction."""
    return f"Faults that were ordered, not predicted: {faults}."


def _put_in(record: RunRecord) -> str:
    return f"{words.target_name(record.target)} ({record.target.text}, {record.parameters['state']})"


def _figures(run: Run) -> str:
    theirs = {(each.kind, each.step): each for each in run.baseline.record.findings} if run.baseline else {}
    names = _NAMES | (_OF_A_SPARE if _on_spare(run) else {})
    found = [each for each in run.record.findings if not each.kind.endswith("-ratio")]
    rows = []
    for each in found:
        other = theirs.get((each.kind, each.step))
        if _is_figure(each) or _has_failed(each):
            name = names.get((each.kind, each.step), f"{words.kind_name(each.kind)} ({each.step})")
            rows += [[name, *_row(each, other)], *_silent_longer(each)]
    # Of one seed nobody knows an interval, and without a baseline there is none to show.
    shown_if = (True, True, any(row[2] for row in rows), run.baseline is not None)
    head, *told = (list(compress(row, shown_if)) for row in (["", "candidate", "95 % interval", "baseline"], *rows))
    shown = table(head, told) if rows else ""
    return "\n".join(filter(None, [shown, *(wrap(text, "") for text in (*_sentences(found), *baseline_news(run)))]))


def _is_figure(found: Finding) -> bool:
    return found.value is not None and found.kind not in ("bottleneck", "estimate-error")


def _has_failed(found: Finding) -> bool:
    return found.kind == "rebuild-time" and found.value is None


def _row(found: Finding, other: Finding | None) -> list[str]:
    """The value, its interval, and the baseline's value."""
    values = [words.found(each.kind, each.value, each.unit) if each else words.NONE for each in (found, other)]
    return [values[0], words.bounds(found.value, found.low, found.high, found.unit), values[1]]


def _sentences(found: Sequence[Finding]) -> list[str]:
    """What no table can tell; how it ended first, if that needs words."""
    first, rest = [], []
    for each in found:
        if headline := bad_news(each):
            first.append(f"{headline} {each.text}")
        elif not _is_figure(each) or is_less_than_ordered(each):
            rest.append(each.text)
        elif each.kind == "rebuild-time" and (not each.value or any(each.evidence.get(key) for key in _TROUBLE)):
            first.append(each.text)
    return [*first, *rest]


def is_less_than_ordered(found: Finding) -> bool:
    """Whether users got less than their job orders: who compares loads by what they order would be misled."""
    return bool(found.evidence.get("less_than_ordered"))


def _silent_longer(longest: Finding) -> list[list[str]]:
    """A row for the one of the others that was silent longest, if somebody is about to lose patience with it."""
    told = longest.evidence
    others_ms = float(told.get("others_ms", 0.0))
    is_patient = all(each.kicked == "no" for each in judge_patience(others_ms, is_lost=False))
    if "others_longest" not in told or longest.value is None or others_ms <= longest.value or is_patient:
        return []
    who = f"drive {told['others_longest']}'s longest command"
    return [[who, words.quantity(others_ms, "ms"), "", words.NONE]]


_TROUBLE: Final = ("bad_places", "timeouts")

_NAMES: Final = {
    ("rebuild-time", "rebuild"): "time to rebuild",
    ("throughput", "rebuild"): "replacement filled at",
    ("worst-latency", "rebuild"): "its longest command",
    ("throughput", "rebuild-load"): "users get",
    ("latency", "rebuild-load"): "users' mean latency",
    ("worst-latency", "rebuild-load"): "users' longest wait",
    ("throughput", "load-alone"): "they get alone",
    ("latency", "load-alone"): "their mean latency alone",
    ("worst-latency", "load-alone"): "their longest wait alone",
}


_OF_A_SPARE: Final = {
    ("throughput", "rebuild"): "spare filled at",
    ("worst-latency", "rebuild"): "a drive's longest command",
}


def _on_spare(run: Run) -> bool:
    """Of dRAID: the drives share out what the failed one held."""
    return answers_of(run)["order"]["options"].get("spare") is not None


def _progress(name: str, run: Run) -> str:
    """The speed over the drive, a character each: what is left of it as the tracks get shorter or caches fill."""
    one = answers_of(run)["rebuilds"][0]
    looks = [look for look in one["progress"] if look["at_ns"] <= one["duration_ns"]]
    whole = max((look["done_bytes"] for look in looks), default=0)
    if not whole or len({look["done_bytes"] for look in looks}) < _FEWEST_LOOKS:
        return ""
    times = [_time_at(looks, whole * column / _COLUMNS) for column in range(_COLUMNS + 1)]
    if one["ended"] == "failed":
        times[-1] = one["duration_ns"]  # before it failed nothing may have been filled for long
    speeds = [whole / _COLUMNS / max(later - sooner, 1) * NS_PER_S / 2**20 for sooner, later in pairwise(times)]
    top = max(speeds)
    line = "".join(_BLOCKS[min(7, round(speed / top * 7))] for speed in speeds)
    last = "last before it failed" if one["ended"] == "failed" else "last"
    return f"{name:<10}{line}\n          MiB/s from the first byte to the {last}; full height {words.number(top)}"


def _time_at(looks: list[dict[str, Any]], done: float) -> float:
    before = looks[0]
    for look in looks:
        if look["done_bytes"] >= done:
            span = look["done_bytes"] - before["done_bytes"]
            share = (done - before["done_bytes"]) / span if span else 0.0
            return float(before["at_ns"] + share * (look["at_ns"] - before["at_ns"]))
        before = look
    return float(before["at_ns"])


def _estimates(run: Run) -> ToldTable | None:
    """What ``/proc/mdstat`` or ``zpool status`` would have said was left, beside what was."""
    one = answers_of(run)["rebuilds"][0]
    if one["ended"] == "failed":
        return None  # nobody knows what was left
    looks = [look_at(share, one["progress"], one["duration_ns"]) for share in _LOOKS]
    rows = tuple(
        (f"{look.share:.0%} done", format_duration(look.said_ns), format_duration(look.left_ns))
        for look in dict.fromkeys(looks)
        if look is not None
    )
    shown = "zpool status" if one["allocated_bytes"] else "/proc/mdstat"
    return ToldTable((shown, "says is left", "is left"), rows) if rows else None


def _patience(run: Run, *, in_full: bool = True) -> ToldTable | None:
    """Who would lose patience with the drive that is filled; ``in_full`` also with which of the others, if any."""
    judged = answers_of(run)["patience"]
    if run.record.scale_divisor > 1 or not judged:
        return None  # the heading says why
    if not answers_of(run)["rebuilds"][0]["duration_ns"]:
        return None  # nothing was asked of it
    first = judged[0]
    ours = sorted((each for each in judged if each.get("member") == first.get("member")), key=is_elsewhere)
    rows = tuple((_waiting(each), format_duration(each["limit_ms"] * 1e6), _verdict(each)) for each in ours)
    head = (f"Kicked for a command of {format_duration(first['longest_ms'] * 1e6)}?", "waits", "")
    told = (*near_misses(judged), *_others(judged[len(ours) :])) if in_full else ()
    return ToldTable(head, rows, (*_instead(ours), *_instead_of_others(judged[len(ours) :]), *told))


def _verdict(judged: dict[str, Any]) -> str:
    """For the eye: who has waited for too long and yet kicked nobody out was not merely close to it."""
    return "passed, kept" if _is_passed(judged) else _VERDICTS[judged["kicked"]]


def _is_passed(judged: dict[str, Any]) -> bool:
    return bool(judged["longest_ms"] >= judged["limit_ms"] and judged["kicked"] != "yes")


def is_elsewhere(judged: dict[str, Any]) -> bool:
    """Whether who waits is in another box than the one that was rebuilt: what it would do is no part of the outcome."""
    return bool(judged.get("in_another_box", False))


def _waiting(judged: dict[str, Any]) -> str:
    return f"in another box: {judged['who']}" if is_elsewhere(judged) else str(judged["who"])


def _instead(judged: list[dict[str, Any]]) -> list[str]:
    """What those do who have waited for too long, and yet kick nobody out."""
    return [f"{_in_its_box(each)}{as_subject(each)} {each['then']}." for each in judged if _does_something(each)]


def _instead_of_others(judged: list[dict[str, Any]]) -> list[str]:
    """The same of drives that no row stands for: whose command it was, and how long, is told with it."""
    return [
        f"Drive {each['member']}, {each['drive']}, takes {format_duration(each['longest_ms'] * 1e6)} for a command: "
        f"{'in another box ' if is_elsewhere(each) else ''}{as_subject(each)} waits "
        f"{format_duration(each['limit_ms'] * 1e6)}, {each['then']}."
        for each in judged
        if _does_something(each)
    ]


def _does_something(judged: dict[str, Any]) -> bool:
    return _is_passed(judged) and "then" in judged


def as_subject(judged: dict[str, Any]) -> str:
    """As the subject of a sentence: behind what is said of one comes a comma."""
    who = str(judged["who"])
    return f"{who}," if "," in who else who


def _in_its_box(judged: dict[str, Any]) -> str:
    return "In another box: " if is_elsewhere(judged) else ""


def near_misses(judged: Sequence[dict[str, Any]]) -> list[str]:
    """Who waits longer than a drive was silent, but not twice as long: in the rebuild's own box.

    Of a drive that is not the one that is filled in others, too: that one's table tells of these.
    """
    filled = [each for each in judged if each.get("member") == judged[0].get("member")]
    told = [
        f"A near miss: a command took {words.below(each['longest_ms'], each['limit_ms'])}, and {as_subject(each)} waits"
        f" {format_duration(each['limit_ms'] * 1e6)}. The next drive may be slower."
        for each in filled
        if is_near_miss(each) and not is_elsewhere(each)
    ]
    by_waiter: dict[tuple[str, bool], list[dict[str, Any]]] = {}
    for each in judged[len(filled) :]:
        if is_near_miss(each):
            by_waiter.setdefault((as_subject(each), is_elsewhere(each)), []).append(each)
    return [*told, *(_others_near(who, rows) for (who, _), rows in by_waiter.items())]


def _others_near(who: str, rows: Sequence[dict[str, Any]]) -> str:
    took = [
        f"drive {each['member']}, {each['drive']}, took {words.below(each['longest_ms'], each['limit_ms'])}"
        for each in rows
    ]
    waits = f"{who.rstrip(',')}, in another box," if is_elsewhere(rows[0]) else who
    limit = format_duration(rows[0]["limit_ms"] * 1e6)
    misses = "A near miss" if len(rows) == 1 else "Near misses"
    return f"{misses}: {'; '.join(took)} for a command, and {waits} waits {limit}."


def is_near_miss(judged: dict[str, Any]) -> bool:
    """Whether a command came close to the limit of one who waits, and kept within it."""
    return bool(judged["kicked"] == "close" and judged["longest_ms"] < judged["limit_ms"])


def _others(judged: list[dict[str, Any]]) -> list[str]:
    """A sentence for each of the others that somebody would kick out."""
    by_member: dict[tuple[int, bool], list[dict[str, Any]]] = {}
    for each in judged:
        if each["kicked"] == "yes":
            by_member.setdefault((each["member"], is_elsewhere(each)), []).append(each)
    told = []
    for (member, elsewhere), rows in by_member.items():
        drive, takes = rows[0]["drive"], format_duration(rows[0]["longest_ms"] * 1e6)
        who = " and ".join(row["who"] for row in rows)
        begin = f"Drive {member}, {drive}, takes" if elsewhere else f"DRIVE {member}, {drive}, TAKES"
        where = ", in another box" if elsewhere else ""
        told.append(
            f"{begin} {takes} for a command, too long for {who}{where}: kicked out, too, it is missing in what is "
            "being rebuilt."
        )
    return told
