"""The findings of a run as rows: candidate, baseline, their ratio, and what was published."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shakedown.report import words
from shakedown.report.published import Comparison, beside
from shakedown.result.folder import Run
from shakedown.result.run_record import Finding, Outcome, Use, UseVerdict

_RATIO = "-ratio"


@dataclass(frozen=True)
class Figure:
    """What was found in one step: the findings of both targets and the ratio between them, where there are any."""

    kind: str
    step: str
    candidate: Finding | None
    baseline: Finding | None
    ratio: Finding | None
    published: tuple[Comparison, ...]

    @property
    def sentence(self) -> str:
        """The finding in words."""
        found = self.candidate or self.ratio
        return found.text if found else ""

    def candidate_text(self) -> str:
        """The candidate's value with its unit."""
        return _value(self.candidate)

    def baseline_text(self) -> str:
        """The baseline's value with its unit."""
        return _value(self.baseline)

    def ratio_text(self) -> str:
        """``15.9× slower``."""
        return words.times(self.kind, self.ratio.value) if self.ratio else words.NONE

    def interval_text(self) -> str:
        """``15.4 to 16.3``, or empty."""
        return words.interval(self.ratio.low, self.ratio.high) if self.ratio else ""


def _value(finding: Finding | None) -> str:
    if finding is None:
        return words.NONE
    if finding.value is None:
        return "not seen" if finding.kind in ("cliff", "recovery") else words.NONE
    return words.quantity(finding.value, finding.unit)


def figures(run: Run) -> list[Figure]:
    """One row for each kind and step, in the order of the run's findings."""
    ours = _by_kind_and_step(run.record.findings)
    theirs = _by_kind_and_step(run.baseline.record.findings) if run.baseline else {}
    keys = dict.fromkeys((kind.removesuffix(_RATIO), step) for kind, step in ours)
    rows = []
    for kind, step in keys:
        candidate, ratio = ours.get((kind, step)), ours.get((kind + _RATIO, step))
        published = (beside(run.record, finding) for finding in (candidate, ratio) if finding)
        shown = tuple(comparison for comparison in published if comparison)
        rows.append(Figure(kind, step, candidate, theirs.get((kind, step)), ratio, shown))
    return rows


def _by_kind_and_step(findings: Iterable[Finding]) -> dict[tuple[str, str], Finding]:
    return {(finding.kind, finding.step): finding for finding in findings}


@dataclass(frozen=True)
class UseSummary:
    """The verdict for one use over several runs, with each reason and the run it comes from."""

    use: Use
    outcome: Outcome
    reasons: tuple[tuple[Run, str], ...]


_GRAVITY: dict[Outcome, int] = {"pass": 0, "inconclusive": 1, "fail": 2}


def gravest(outcomes: Iterable[Outcome]) -> Outcome:
    """One failure is a failure; without one, a doubt is a doubt; no outcome at all is not enough evidence."""
    return max(outcomes, key=_GRAVITY.__getitem__, default="inconclusive")


def use_summaries(runs: Iterable[Run]) -> list[UseSummary]:
    """The verdicts of the runs of one candidate, use by use; reasons of the gravest outcome first."""
    judged: dict[Use, list[tuple[Run, UseVerdict]]] = {use: [] for use in words.USE_NAMES}
    for run in runs:
        for use, verdict in (run.record.verdict.uses if run.record.verdict else {}).items():
            judged[use].append((run, verdict))
    summaries = []
    for use, parts in judged.items():
        by_gravity = sorted(parts, key=lambda part: -_GRAVITY[part[1].outcome])
        reasons = tuple((run, reason.text) for run, verdict in by_gravity for reason in verdict.reasons)
        if parts:
            summaries.append(UseSummary(use, by_gravity[0][1].outcome, reasons))
    return summaries


@dataclass(frozen=True)
class Candidate:
    """All runs of one target."""

    name: str
    runs: tuple[Run, ...]

    @property
    def outcome(self) -> Outcome:
        """The gravest outcome over all runs."""
        return gravest(run.record.verdict.outcome for run in self.runs if run.record.verdict)


def candidates(runs: Iterable[Run]) -> list[Candidate]:
    """Runs grouped by their target, in the order given."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.record.target.model_dump_json(), []).append(run)
    return [Candidate(words.target_name(group[0].record.target), tuple(group)) for group in groups.values()]
