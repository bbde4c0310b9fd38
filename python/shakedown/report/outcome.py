"""What a rebuild came to, the same in a report and in a comparison: how it ended, who would be kicked, what users felt.

What ``shakedown rebuild`` printed when it was done, out of the run's folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shakedown.analysis.finding import Finding
from shakedown.analysis.verdict import Status
from shakedown.report import words
from shakedown.report.rebuild import (
    as_subject,
    bad_news,
    baseline_news,
    has_lost,
    is_elsewhere,
    is_less_than_ordered,
    is_near_miss,
    near_misses,
    ordered_faults,
    told_tables,
)
from shakedown.report.told_table import ToldTable
from shakedown.result.answers import NoAnswersError, read_answers
from shakedown.result.folder import Run
from shakedown.units import format_duration

_REBUILD: Final = "rebuild"


@dataclass(frozen=True)
class Outcome:
    """``headline`` in capitals where it is bad news; sentences, the first of which says how it ended.

    ``beneath`` is what a good headline leaves out: that it took longer than the baseline, who would kick a drive,
    and who nearly did; ``longer`` is the first of these, which no sentence tells. ``faults`` were ordered.
    """

    status: Status
    headline: str
    sentences: tuple[str, ...]
    tables: tuple[ToldTable, ...]
    seeds: int
    beneath: str = ""
    longer: str = ""
    faults: str = ""

    def ended(self, beside: str = "") -> str:
        """How it ended, and the faults that were ordered; of those that are told ``beside`` it only that they were."""
        if not self.faults:
            return self.sentences[0]
        told = "Its faults were ordered, not predicted." if self.faults in beside else ordered_faults(self.faults)
        return f"{self.sentences[0]} {told}"


def outcome(run: Run) -> Outcome | None:
    """None for a run that is no rebuild. Raises UsageError where its answers are damaged."""
    found = [each for each in run.record.findings if not each.kind.endswith("-ratio")]
    duration = next((each for each in found if each.kind == "rebuild-time"), None)
    if run.record.protocol.name != _REBUILD or duration is None:
        return None
    try:
        answers = read_answers(run.path)
        tables = told_tables(run)
    except NoAnswersError:  # a folder without them tells of its findings still
        answers, tables = {}, ()
    judged = answers.get("patience", ())
    kicked = [each for each in judged if each["kicked"] == "yes"]
    is_whole = run.record.scale_divisor == 1
    is_kicked = not all(is_elsewhere(each) for each in kicked)
    status, headline = _ended(duration, is_kicked=is_kicked and is_whole)
    if not is_whole and status == "pass":
        status = "inconclusive"
    ended = " ".join([duration.text, *((*_kicks(kicked), *near_misses(judged)) if is_whole else ())])
    sentences = (ended, *_why(found), *_felt(found), *baseline_news(run))
    longer = _longer(run) if not bad_news(duration) else ""
    beneath = " ".join(filter(None, (longer, _narrowly(judged if is_whole and not bad_news(duration) else ()))))
    seeds, faults = int(duration.evidence.get("seeds", 1)), run.record.parameters.get("faults", "")
    return Outcome(status, headline, sentences, tables, seeds, beneath, longer, faults)


def _longer(run: Run) -> str:
    ratio = next((each.value for each in run.record.findings if each.kind == "rebuild-time-ratio"), None)
    if ratio and ratio > 1 and (longer := words.times("rebuild-time", ratio)) != words.times("rebuild-time", 1):
        return f"It takes {longer} than the baseline."
    return ""


def _narrowly(judged: Sequence[dict[str, Any]]) -> str:
    elsewhere = [as_subject(each) for each in judged if each["kicked"] == "yes" and is_elsewhere(each)]
    told = [f"In another box {who} would kick a drive out." for who in dict.fromkeys(elsewhere)]
    close = [as_subject(each) for each in judged if is_near_miss(each) and not is_elsewhere(each)]
    told += [f"A command came close to what {who} puts up with." for who in dict.fromkeys(close)]
    return " ".join(told)


def _ended(duration: Finding, *, is_kicked: bool) -> tuple[Status, str]:
    headline = bad_news(duration)
    if duration.value is None:
        return "fail", headline
    if is_kicked and not has_lost(duration):
        return "fail", "A DRIVE WOULD BE KICKED OUT."
    if headline:  # it was survived, and of commands that were given up the next rebuild may not survive as many
        return ("fail" if has_lost(duration) else "inconclusive"), headline
    return "pass", "The rebuild is complete."


def _kicks(kicked: Sequence[dict[str, Any]]) -> Iterator[str]:
    for each in sorted(kicked, key=is_elsewhere):
        takes, waits = (format_duration(each[name] * 1e6) for name in ("longest_ms", "limit_ms"))
        who = f"drive {each['member']}" if "member" in each else "the replacement"
        told = f"For a command that takes {takes} {as_subject(each)} kicks {who} out: it waits {waits}."
        yield f"In another box: f{told[1:]}" if is_elsewhere(each) else told


def _why(found: Sequence[Finding]) -> Iterator[str]:
    return (each.text for each in found if each.kind in ("bottleneck", "estimate-error"))


def _felt(found: Sequence[Finding]) -> Iterator[str]:
    """Beside the rebuild and without it: only together they say what it costs. And where they got less than ordered."""
    means = {each.step: each.value for each in found if each.kind == "latency"}
    during, alone = means.get("rebuild-load"), means.get("load-alone")
    if during and alone:
        yield (
            f"Users wait {words.quantity(during, 'ms')} on average beside the rebuild and {words.quantity(alone, 'ms')}"
            f" on the healthy array: {words.times('latency', during / alone)}."
        )
    yield from (each.text for each in found if is_less_than_ordered(each))
