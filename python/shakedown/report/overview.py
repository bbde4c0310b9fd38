"""Several runs at a glance, before each is told on its own: a row for each rebuild, else a column for each drive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shakedown.analysis.finding import Finding
from shakedown.analysis.verdict import UseVerdict
from shakedown.report import words
from shakedown.report.apart import told_apart
from shakedown.report.compare import Line, cell_text, grouped
from shakedown.report.figures import Candidate, figures
from shakedown.report.outcome import Outcome, outcome


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
    rebuilds = [run.record for candidate in candidates for run in candidate.runs if outcome(run) is not None]
    options = iter(told_apart(rebuilds))
    rows = [
        Row(number, run_name(candidate, index, next(options)), told.status, told.headline, *_times(candidate, index))
        for number, candidate in enumerate(candidates, start=1)
        for index, run in enumerate(candidate.runs)
        if (told := outcome(run)) is not None
    ]
    return rows if len(rows) > 1 else []


@dataclass(frozen=True)
class Column:
    """One run of a protocol; ``number`` is the candidate's place on the page, from 1 on.

    ``options`` are those in which it differs from others beside it.
    """

    number: int
    name: str
    target: str
    options: str
    uses: tuple[UseVerdict, ...]


@dataclass(frozen=True)
class SideBySide:
    """What several drives did in one protocol; the ratios of a line are to the first of them."""

    title: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]

    def rows(self) -> Iterator[tuple[str, str, list[tuple[Column, str, str]]]]:
        """Kind and step of a figure, and for each drive its value and how that is beside the first's."""
        for line in self.lines:
            texts = [cell_text(line, cell) for cell in line.cells]
            ratios = [
                "",
                *(words.times(line.kind, cell.ratio) if cell and cell.ratio else "" for cell in line.cells[1:]),
            ]
            yield words.kind_name(line.kind), line.step, list(zip(self.columns, texts, ratios, strict=True))


def side_by_side(candidates: Sequence[Candidate]) -> list[SideBySide]:
    """A table for each protocol that several of the candidates have played; rebuilds have one of their own."""
    runs = [
        (number, candidate, run)
        for number, candidate in enumerate(candidates, start=1)
        for run in candidate.runs
        if outcome(run) is None
    ]
    options = told_apart([run.record for _, _, run in runs])
    placed = [
        (Column(number, candidate.name, run.record.target.text, differing, candidate.verdict.uses), run)
        for (number, candidate, run), differing in zip(runs, options, strict=True)
    ]
    tables = []
    for group in grouped([run for _, run in placed]):
        columns = tuple(placed[number][0] for number in group.runs)
        if len({column.number for column in columns}) > 1:
            title = placed[group.runs[0]][1].record.protocol.title
            tables.append(SideBySide(title, columns, group.lines))
    return tables


def run_name(candidate: Candidate, index: int, differing: str = "") -> str:
    """The drive that is put in, the array, what of it is not as usual, and what tells it from others beside it."""
    record = candidate.runs[index].record
    options, faults = (record.parameters.get(name, "") for name in ("set", "faults"))
    told = [text for text in (options, faults and f"faults: {faults}") if text not in differing]
    named = f"{candidate.name}: {record.protocol.title}{words.scaled([record])}"
    return ", ".join(filter(None, (named, *told, differing)))


def endings(candidate: Candidate) -> list[tuple[str, Outcome]]:
    """How each rebuild of a candidate ended, with what tells it from its others; without a word where there is one."""
    records = [run.record for run in candidate.runs]
    found = [
        (differing or record.protocol.title, told)
        for run, record, differing in zip(candidate.runs, records, told_apart(records), strict=True)
        if (told := outcome(run)) is not None
    ]
    return found if len(found) > 1 else [("", told) for _, told in found]


def _times(candidate: Candidate, index: int) -> tuple[str, str, str]:
    """To rebuild, of the baseline to rebuild, and the longest command of any drive."""
    run = candidate.runs[index]
    shown = {(row.kind, row.step): row for row in figures(run)}
    details = run.record.target.details
    new = int(details.get("replaced", int(details.get("width", 0)) - 1))
    time, longest = shown.get(("rebuild-time", "rebuild")), shown.get(("worst-latency", "rebuild"))
    return (
        time.candidate_text() if time else words.NONE,
        time.baseline_text() if time else words.NONE,
        _longest(longest.candidate, new) if longest and longest.candidate else words.NONE,
    )


def _longest(found: Finding, new: int) -> str:
    """Of any drive, and whose; the one in the place ``new`` is the one that is put in."""
    longest_ms, place = found.value, found.evidence.get("member")
    others_ms = float(found.evidence.get("others_ms", 0.0))
    if longest_ms is None or others_ms > longest_ms:
        longest_ms, place = others_ms, found.evidence.get("others_longest")
    whose = "" if place is None else ", the replacement" if place == new else f", drive {place}"
    return words.quantity(longest_ms, "ms") + whose
