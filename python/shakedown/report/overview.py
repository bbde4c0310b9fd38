"""Several rebuilds at a glance: a row for each, before each is told on its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shakedown.analysis.finding import Finding
from shakedown.report import words
from shakedown.report.figures import Candidate, figures
from shakedown.report.outcome import outcome


@dataclass(frozen=True)
class Row:
    """``number`` is the candidate's place on the page, from 1 on."""

    number: int
    name: str
    status: str
    headline: str
    time: str
    baseline: str
    longest: str


def overview(candidates: Sequence[Candidate]) -> list[Row]:
    """The rebuilds among all; empty unless there are several to choose from."""
    rows = [
        Row(number, run_name(candidate, index), told.status, told.headline, *_times(candidate, index))
        for number, candidate in enumerate(candidates, start=1)
        for index, run in enumerate(candidate.runs)
        if (told := outcome(run)) is not None
    ]
    return rows if len(rows) > 1 else []


def run_name(candidate: Candidate, index: int) -> str:
    """The drive that is put in, the array, and what of it is not as usual."""
    record = candidate.runs[index].record
    options = f", {record.parameters['set']}" if "set" in record.parameters else ""
    return f"{candidate.name}: {record.protocol.title}{words.scaled([record])}{options}"


def _times(candidate: Candidate, index: int) -> tuple[str, str, str]:
    """To rebuild, of the baseline to rebuild, and the longest command of any drive."""
    run = candidate.runs[index]
    shown = {(row.kind, row.step): row for row in figures(run)}
    width = int(run.record.target.details.get("width", 0))
    time, longest = shown.get(("rebuild-time", "rebuild")), shown.get(("worst-latency", "rebuild"))
    return (
        time.candidate_text() if time else words.NONE,
        time.baseline_text() if time else words.NONE,
        _longest(longest.candidate, width) if longest and longest.candidate else words.NONE,
    )


def _longest(found: Finding, width: int) -> str:
    """Of any drive, and whose; the last of ``width`` is the one that is put in."""
    longest_ms, place = found.value, found.evidence.get("member")
    others_ms = float(found.evidence.get("others_ms", 0.0))
    if longest_ms is None or others_ms > longest_ms:
        longest_ms, place = others_ms, found.evidence.get("others_longest")
    whose = "" if place is None else ", the replacement" if place == width - 1 else f", drive {place}"
    return words.quantity(longest_ms, "ms") + whose
