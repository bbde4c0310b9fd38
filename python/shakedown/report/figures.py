"""The findings of a run as rows: candidate, baseline, their ratio, and what was published."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from shakedown.analysis.finding import Finding
from shakedown.analysis.rules import USES
from shakedown.analysis.verdict import Reason, Verdict, judge
from shakedown.report import words
from shakedown.report.published import Comparison, beside
from shakedown.result.folder import Run
from shakedown.result.part import part_divisor
from shakedown.units import format_size

Side = Literal["candidate", "baseline"]

NOT_STEADY: Final = "not steady"
_RATIO: Final = "-ratio"


@dataclass(frozen=True)
class Figure:
    """What was found in one step: the findings of both targets and the ratio between them, where there are any."""

    kind: str
    step: str
    candidate: Finding | None
    baseline: Finding | None
    ratio: Finding | None
    published: tuple[tuple[Side, Comparison], ...]

    @property
    def sentence(self) -> str:
        """The finding in words."""
        found = self.candidate or self.ratio
        return found.text if found else ""

    def candidate_text(self) -> str:
        """The candidate's value with its unit."""
        return _value(self.candidate)

    def candidate_interval_text(self) -> str:
        """``7 h 40 min to 7 h 54 min``, or empty."""
        return _interval(self.candidate)

    def baseline_text(self) -> str:
        """The baseline's value with its unit."""
        return _value(self.baseline)

    def ratio_text(self) -> str:
        """``15.9× slower``."""
        return words.times(self.kind, self.ratio.value) if self.ratio else words.NONE

    def interval_text(self) -> str:
        """``15.4 to 16.3``, or empty."""
        if not self.ratio:
            return ""
        if "value_low" in self.ratio.evidence:
            return NOT_STEADY
        return words.interval(self.kind, self.ratio.value, self.ratio.low, self.ratio.high)


def _value(finding: Finding | None) -> str:
    return words.found(finding.kind, finding.value, finding.unit, *spread(finding)) if finding else words.NONE


def _interval(finding: Finding | None) -> str:
    """From where to where a value is with 95 % confidence, where it is known to be anywhere."""
    return words.bounds(finding.value, finding.low, finding.high, finding.unit) if finding else ""


def spread(finding: Finding) -> tuple[float | None, float | None]:
    """The interval of a value; of an estimate's errors, which have none, the least and the most of all seeds."""
    if finding.kind == "estimate-error" and finding.value is not None:
        return float(finding.evidence.get("least", finding.value)), float(finding.evidence.get("most", finding.value))
    return finding.low, finding.high


def figures(run: Run) -> list[Figure]:
    """One row for each kind and step, in the order of the run's findings."""
    ours = _by_kind_and_step(run.record.findings)
    theirs = _by_kind_and_step(run.baseline.record.findings) if run.baseline else {}
    keys = dict.fromkeys((kind.removesuffix(_RATIO), step) for kind, step in ours)
    rows = []
    for kind, step in keys:
        candidate, ratio = ours.get((kind, step)), ours.get((kind + _RATIO, step))
        baseline = theirs.get((kind, step))
        published: list[tuple[Side, Comparison | None]] = [
            ("candidate", _beside(run, candidate)),
            ("candidate", _beside(run, ratio)),
        ]
        published.append(("baseline", _beside(run.baseline, baseline)))
        shown = tuple((side, comparison) for side, comparison in published if comparison)
        rows.append(Figure(kind, step, candidate, baseline, ratio, shown))
    return rows


def _beside(run: Run | None, finding: Finding | None) -> Comparison | None:
    if run is None or finding is None:
        return None
    return beside(run.record, finding, run.baseline.record.target.name if run.baseline else None)


def _by_kind_and_step(findings: Iterable[Finding]) -> dict[tuple[str, str], Finding]:
    return {(finding.kind, finding.step): finding for finding in findings}


@dataclass(frozen=True)
class Candidate:
    """All runs of one target."""

    name: str
    runs: tuple[Run, ...]

    @property
    def heading(self) -> str:
        """Of rebuilds the arrays, too: a page of several would have the same drive again and again."""
        arrays = [run.record.protocol.title for run in self.runs if run.record.protocol.name == "rebuild"]
        return ": ".join(filter(None, (self.name, "; ".join(dict.fromkeys(arrays)))))

    @property
    def baselines(self) -> list[str]:
        """Models of what the runs stand beside, each with its scale."""
        beside = [run.baseline.record for run in self.runs if run.baseline]
        models = dict.fromkeys(record.target.model for record in beside)
        return [f"{each}{words.scaled([one for one in beside if one.target.model == each])}" for each in models]

    @cached_property
    def verdict(self) -> Verdict:
        """All runs judged together, for the uses on which any of them bears: one fills what another lacks."""
        evidence: dict[str, list[Finding]] = {}
        records = [run.record for run in self.runs]
        for record in records:
            evidence.setdefault(record.protocol.name, []).extend(record.findings)
        bearing = {use for record in records for use in record.protocol.uses}
        scale_divisor = max(record.target.scale_divisor for record in records)
        return judge(
            evidence,
            [use for use in USES if use in bearing],
            scale_divisor=scale_divisor,
            of_twin=part_divisor(records[0].target.model) > 1,
            failures=[failure for record in records for failure in record.failures],
            unfinished=evidence.keys() - {record.protocol.name for record in records if record.status == "complete"},
            of_array=self.is_array,
        )

    @property
    def is_array(self) -> bool:
        """Whether it is an array: the rules of single drives are then not asked."""
        return self.runs[0].record.target.is_array

    @property
    def unjudged(self) -> str:
        """Why there is nothing to judge, where no use is."""
        if self.is_array:
            return "Of an array: the rules of these uses are of single drives, so there is nothing to judge."
        these = "These protocols bear" if len(self.runs) > 1 else "This protocol bears"
        return f"{these} on no use: there is nothing to judge."

    def sources(self, reason: Reason) -> list[tuple[int, str]]:
        """Index and protocol of the runs from whose findings (named ``protocol/step/kind``) a reason follows."""
        cited = {name.partition("/")[0] for name in reason.findings}
        names = [run.record.protocol.name for run in self.runs]
        return [(index, name) for index, name in enumerate(names) if name in cited]


@dataclass(frozen=True)
class Highlight:
    """A figure for readers in a hurry: ``33.2× slower``, of what, and the two figures behind it."""

    value: str
    of: str
    detail: str


def highlights(candidate: Candidate) -> list[Highlight]:
    """What stands out of all runs: rebuild, cliff, worst ratio, recovery and longest request, where there are any."""
    found = [(run, row) for run in candidate.runs for row in figures(run)]
    rows = [row for _, row in found]
    return [
        *(_rebuilt(row) for row in rows if row.kind == "rebuild-time" and row.candidate and row.candidate.value),
        *(_fall(row.candidate) for row in rows if row.kind == "cliff" and row.candidate and row.candidate.value),
        *_worst_ratio([(run, row) for run, row in found if run.baseline]),
        *(
            Highlight(_value(row.candidate), "until it is itself again", "after the last write")
            for row in rows
            if row.kind == "recovery" and row.candidate and row.candidate.value
        ),
        *_longest(found),
    ]


def _rebuilt(row: Figure) -> Highlight:
    interval = row.candidate_interval_text()
    known = [f"95 % interval {interval}"] if interval else []
    known += [f"the baseline’s: {row.baseline_text()}"] if row.baseline else []
    return Highlight(row.candidate_text(), "to rebuild", "; ".join(known))


def _worst_ratio(rows: list[tuple[Run, Figure]]) -> Iterable[Highlight]:
    known = [
        (row.ratio.value, run, row) for run, row in rows if row.kind == "throughput" and row.ratio and row.ratio.value
    ]
    if known:
        _, run, row = min(known, key=lambda each: each[0])
        of = _where(run, row)
        doubt = f", {NOT_STEADY}" if row.interval_text() == NOT_STEADY else ""
        yield Highlight(row.ratio_text(), of, f"{row.candidate_text()} against {row.baseline_text()}{doubt}")


def _fall(cliff: Finding) -> Highlight:
    facts = cliff.evidence
    before, after = (float(facts[name]) for name in ("rate_before", "rate_after"))
    return Highlight(
        f"{words.number(before)} → {words.quantity(after, str(facts['rate_unit']))}",
        "when its cache is full",
        f"requests a second (IOPS), after {format_size(float(facts['bytes_before']))} of writing",
    )


def _longest(rows: list[tuple[Run, Figure]]) -> Iterable[Highlight]:
    known = [
        (row.candidate.value, run, row)
        for run, row in rows
        if row.kind == "worst-latency" and row.candidate and row.candidate.value
    ]
    if known:
        _, run, row = max(known, key=lambda each: each[0])
        # Like beside like: nothing of a baseline that did not play this step, whatever it did in others.
        played = row.baseline is not None and row.baseline.value is not None
        beside = f"; the baseline’s there: {row.baseline_text()}" if played else ""
        yield Highlight(row.candidate_text(), _whose(run, row.candidate), _where(run, row) + beside)


def _whose(run: Run, longest: Finding | None) -> str:
    """Of a rebuild it is that of the drive that is filled, whoever else takes longer."""
    member = longest.evidence.get("member") if longest else None
    if member is None:
        return "longest request"
    is_last = member == int(run.record.target.details.get("width", 0)) - 1
    return f"longest command of {'the replacement' if is_last else f'drive {member}'}"


def _where(run: Run, row: Figure) -> str:
    """The protocol and, in plain words, the step."""
    titles = {step.name: step.title for step in run.record.steps}
    if row.step == run.record.protocol.name and row.step in titles:  # of a rebuild: the protocol says nothing more
        title = titles[row.step]
        return f"while {title[:1].lower()}{title[1:]}"
    return f"in {run.record.protocol.name}: {titles.get(row.step) or row.step}"


def candidates(runs: Iterable[Run]) -> list[Candidate]:
    """Runs grouped by their target, in the order given."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.record.target.model_dump_json(), []).append(run)
    return [Candidate(words.target_name(group[0].record.target), tuple(group)) for group in groups.values()]
