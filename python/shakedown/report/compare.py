"""Any number of runs side by side, protocol by protocol and step by step, each with its ratio to the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from shakedown.analysis.finding import Finding
from shakedown.errors import UsageError
from shakedown.layouts import ZFS_LAYOUTS
from shakedown.report import words
from shakedown.report.apart import told_apart
from shakedown.report.differing import differences
from shakedown.report.figures import spread
from shakedown.report.outcome import Outcome, outcome
from shakedown.report.plain_text import WIDTH, table, wrap
from shakedown.report.rebuild import answers_of
from shakedown.result.folder import Run

FORMAT_VERSION: Final = 1


@dataclass(frozen=True)
class Cell:
    """What one run found; ``ratio`` is its value over the first run's, None where either has none."""

    value: float | None
    unit: str
    low: float | None
    high: float | None
    ratio: float | None
    text: str


@dataclass(frozen=True)
class Line:
    """One kind of finding in one step; a cell for each run of the group, None where a run lacks it."""

    step: str
    kind: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Group:
    """The runs of one protocol, by their numbers in the comparison, and what they found."""

    protocol: str
    runs: tuple[int, ...]
    same_text: bool
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """Runs beside each other: ``names`` are numbered from 0 as in the groups; so are the ``outcomes`` of rebuilds.

    ``alone`` are in no group. ``apart`` says that no group has two of the runs that were given: each stands beside its
    own baseline at the most.
    """

    names: tuple[str, ...]
    groups: tuple[Group, ...]
    alone: tuple[int, ...] = ()
    apart: bool = False
    outcomes: tuple[Outcome | None, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """One document with ``format_version``; values in the units of the findings, ratios to a group's first."""
        return {
            "format_version": FORMAT_VERSION,
            "runs": list(self.names),
            "outcomes": [
                told
                and {"status": told.status, "headline": told.headline, "sentences": [told.ended(), *told.sentences[1:]]}
                for told in self.outcomes
            ],
            "protocols": [
                {
                    "protocol": group.protocol,
                    "runs": list(group.runs),
                    "same_text": group.same_text,
                    "notes": list(group.notes),
                    "findings": [
                        {
                            "step": line.step,
                            "kind": line.kind,
                            "values": [vars(cell) if cell else None for cell in line.cells],
                        }
                        for line in group.lines
                    ],
                }
                for group in self.groups
            ],
            "alone": list(self.alone),
            "apart": self.apart,
        }

    def to_text(self) -> str:
        """Tables for people; ends with a newline."""
        legend = [wrap(f"{_label(number)} {name}", "", "    ") for number, name in enumerate(self.names)]
        told = [
            wrap(" ".join([_label(number), each.headline, each.ended(name), *each.sentences[1:]]), "", "    ")
            for number, (name, each) in enumerate(zip(self.names, self.outcomes, strict=True))
            if each
        ]
        parts = ["\n".join(lines) for lines in (legend, told) if lines]
        parts += [_group_text(group) for group in self.groups]
        if self.alone:
            labels = ", ".join(_label(number) for number in self.alone)
            parts.append(wrap(f"Nothing to compare with: {labels}, the only one of its protocol."))
        if self.apart:
            said = (
                "No two of the runs that were given have a protocol in common: each table is of one and its baseline."
            )
            parts.append(wrap(said))
        return "\n\n".join(parts) + "\n"


def compare(runs: Sequence[Run]) -> Comparison:
    """Compare runs, and their baselines, that ran the same protocol; a baseline that several share is shown once.

    Raises UsageError when a run is given twice or is damaged, no protocol was run by two of them or they share no
    finding.
    """
    paths = [run.path.resolve() for run in runs]
    for run, path in zip(runs, paths, strict=True):
        if paths.count(path) > 1:
            raise UsageError(f"`{run.path}` is given twice", hint="a run compared with itself says nothing")
    sides = _sides(runs)
    for run in runs:
        for side in filter(None, (run, run.baseline)):
            _ = side.samples  # the findings of a damaged run are no evidence any more
    groups = grouped(sides)
    if not groups:
        found = ", ".join(f"`{run.path}` ({run.record.protocol.name})" for run in sides) or "no run at all"
        raise UsageError(
            f"nothing to compare: {found}",
            hint="give two runs or more of the same protocol that came far enough to find something",
        )
    shown = {number for group in groups for number in group.runs}
    alone = tuple(number for number in range(len(sides)) if number not in shown)
    differing = told_apart([side.record for side in sides])
    names = [_name(run, sides, options) for run, options in zip(sides, differing, strict=True)]
    given = {sides.index(run) for run in runs}
    apart = len(given) > 1 and all(len(given.intersection(group.runs)) < 2 for group in groups)
    return Comparison(tuple(names), tuple(groups), alone, apart, tuple(map(outcome, sides)))


def grouped(sides: Sequence[Run]) -> list[Group]:
    """The protocols that two of the runs or more have played and found something of the same kind in."""
    by_protocol: dict[str, list[int]] = {}
    for number, run in enumerate(sides):
        by_protocol.setdefault(run.record.protocol.name, []).append(number)
    groups = [_group(name, numbers, sides) for name, numbers in by_protocol.items() if len(numbers) > 1]
    return [group for group in groups if group.lines]


def _sides(runs: Sequence[Run]) -> list[Run]:
    """The runs with their baselines behind them; a modelled baseline that is the same to the byte comes once."""
    sides: list[Run] = []
    for run in runs:
        sides.append(run)
        known = [side.record for side in sides if side.record.is_modelled]
        if run.baseline and run.baseline.record not in known:
            sides.append(run.baseline)
    return sides


def _name(run: Run, sides: Sequence[Run], options: str) -> str:
    record = run.record
    # A rebuild's name says nothing of the array, its title does.
    told = outcome(run)
    what = record.protocol.name if told is None else f"{record.protocol.name}, {record.protocol.title}"
    whose = [_label(other) for other, side in enumerate(sides) if side.baseline and side.baseline.record == record]
    role = f"baseline of {', '.join(whose)}; " if whose else ""
    where = "; ".join(filter(None, (words.where(record), options)))
    return f"{words.target_name(record.target)} ({record.target.text}), {what}: {role}{where}"


def _group(protocol: str, numbers: list[int], sides: Sequence[Run]) -> Group:
    found = [
        {(finding.step, finding.kind): finding for finding in sides[number].record.findings if _is_plain(finding)}
        for number in numbers
    ]
    keys = dict.fromkeys(key for findings in found for key in findings)
    lines = []
    for step, kind in keys:
        row = [findings.get((step, kind)) for findings in found]
        if sum(finding is not None for finding in row) > 1:
            lines.append(Line(step, kind, tuple(_cell(finding, row[0]) for finding in row)))
    records = [sides[number].record for number in numbers]
    differing = differences(records, [_label(number) for number in numbers])
    notes = [f"these differ, compare with care: {'; '.join(differing)}."] if differing else []
    notes += [f"{_label(number)} {note}" for number in numbers for note in words.cautions(sides[number].record)]
    notes += [_USERS_APART] if _has_users_of_both([sides[number] for number in numbers]) else []
    return Group(protocol, tuple(numbers), not differing, tuple(lines), tuple(notes))


_USERS_APART: Final = (
    "Users of md and of ZFS are not alike: md has `iodepth` requests of a program under way at once, ZFS one, while "
    "the others' wait counts; and ZFS answers from its cache and its log. Their latencies do not tell which is faster."
)


def _has_users_of_both(runs: Sequence[Run]) -> bool:
    """Whether a job ran beside rebuilds of md and of ZFS."""
    loaded = [run for run in runs if any(each.step == "rebuild-load" for each in run.record.findings)]
    return len({answers_of(run).get("order", {}).get("layout") in ZFS_LAYOUTS for run in loaded}) > 1


def _is_plain(finding: Finding) -> bool:
    """Ratios to a run's own baseline are left out: here everything stands beside the first run."""
    return not finding.kind.endswith("-ratio")


def _cell(finding: Finding | None, first: Finding | None) -> Cell | None:
    if finding is None:
        return None
    comparable = first is not None and first.unit == finding.unit
    ratio = finding.value / first.value if comparable and first and finding.value is not None and first.value else None
    return Cell(finding.value, finding.unit, *spread(finding), ratio, finding.text)


def _label(number: int) -> str:
    return f"[{number + 1}]"


def _group_text(group: Group) -> str:
    """A table, or several below each other where the runs do not fit beside each other: the first run is in each.

    What the figures do not tell comes first: whoever has read them has compared them.
    """
    tables, shown = [wrap(f"{group.protocol}: {note}", "") for note in group.notes], 1
    while shown < len(group.runs):
        fitting = next(
            (many for many in range(len(group.runs) - shown, 1, -1) if _fits(_table(group, shown, shown + many))), 1
        )
        tables.append(_table(group, shown, shown + fitting))
        shown += fitting
    return "\n\n".join(tables)


def _fits(text: str) -> bool:
    return max(map(len, text.splitlines())) <= WIDTH


def _table(group: Group, start: int, stop: int) -> str:
    """The first run and those at ``start`` to ``stop`` in the group."""
    head = [group.protocol, _label(group.runs[0])]
    for number in group.runs[start:stop]:
        head += [_label(number), f"to {_label(group.runs[0])}"]
    return table(head, [_row(line, start, stop) for line in group.lines])


def _row(line: Line, start: int, stop: int) -> list[str]:
    row = [f"{words.kind_name(line.kind)} ({line.step})", cell_text(line, line.cells[0])]
    for cell in line.cells[start:stop]:
        row += [cell_text(line, cell), words.times(line.kind, cell.ratio if cell else None)]
    return row


def cell_text(line: Line, cell: Cell | None) -> str:
    """The value with its unit."""
    return words.found(line.kind, cell.value, cell.unit, cell.low, cell.high) if cell else words.NONE
