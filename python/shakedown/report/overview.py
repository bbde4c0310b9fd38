"""Several rebuilds at a glance: a row for each, before each is told on its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    """To rebuild, of the baseline to rebuild, and the longest command."""
    shown = {(row.kind, row.step): row for row in figures(candidate.runs[index])}
    time, longest = shown.get(("rebuild-time", "rebuild")), shown.get(("worst-latency", "rebuild"))
    return (
        time.candidate_text() if time else words.NONE,
        time.baseline_text() if time else words.NONE,
        longest.candidate_text() if longest else words.NONE,
    )
