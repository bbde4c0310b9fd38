"""The summary that one can paste into a mail or a forum: 80 columns of plain text, nothing that needs a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import indent
from typing import Final

import numpy as np
import polars as pl

from shakedown.report import sweep, words
from shakedown.report.apart import told_apart
from shakedown.report.figures import NOT_STEADY, Candidate, Figure, candidates, figures
from shakedown.report.outcome import outcome
from shakedown.report.overview import endings
from shakedown.report.plain_text import table, wrap
from shakedown.report.played import rate_unit, samples_of
from shakedown.report.series import Grid, envelope, tracks
from shakedown.result.folder import Run
from shakedown.units import format_duration, format_size

_INDENT: Final = "  "
_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_SPARK_BINS: Final = 56
_MARKS: Final = {"fail": "-", "caution": "!", "inconclusive": "?", "pass": "+"}


def render(runs: Sequence[Run]) -> str:
    """Verdict for each use with its reasons, findings, rates over time, and what was run where; ends with a newline."""
    return "\n\n".join(_candidate(candidate) for candidate in candidates(runs)) + "\n"


def _candidate(candidate: Candidate) -> str:
    parts = [_heading(candidate), _verdict(candidate)]
    differing = told_apart([run.record for run in candidate.runs])
    parts += [_protocol(run, options) for run, options in zip(candidate.runs, differing, strict=True)]
    parts.append(_where(candidate))
    return "\n\n".join(parts)


def _heading(candidate: Candidate) -> str:
    target = candidate.runs[0].record.target
    beside = dict.fromkeys(words.target_name(run.baseline.record.target) for run in candidate.runs if run.baseline)
    scale = words.scaled([run.record for run in candidate.runs])
    lines = [f"{candidate.name} ({target.text}, {format_size(target.capacity_bytes)}{scale})"]
    if beside:
        lines.append(f"beside {', '.join(beside)}, the baseline{'s' if len(beside) > 1 else ''}")
    if any(run.record.is_of_a_model for run in candidate.runs):
        lines.append(words.MODELLED)
    return "\n".join(wrap(line, "") for line in lines)


def _verdict(candidate: Candidate) -> str:
    lines = ["VERDICT", *(wrap(text, _INDENT) for _, text in words.in_short(candidate.verdict.uses))]
    for use in words.worst_first(candidate.verdict.uses):
        lines.append(f"{_INDENT}{words.USE_NAMES[use.use]}: {words.trust(use).upper()}")
        for reason in use.reasons:
            names = "".join(f" [{name}]" for _, name in candidate.sources(reason))
            facts = f" {words.sentence(reason.facts)}" if reason.status != "pass" and reason.facts else ""
            said = f"{_MARKS[reason.status]} {words.sentence(reason.headline)}{facts}{names}"
            lines.append(wrap(said, _INDENT * 2, _INDENT * 3))
    for of, told in endings(candidate):
        lines.append(wrap(f"{of and f'{of}: '}{told.headline} {told.ended(of)}", _INDENT))
        lines += [wrap(told.longer, _INDENT)] if told.longer else []
    if not candidate.verdict.uses and len(lines) == 1:
        lines.append(wrap(candidate.unjudged, _INDENT))
    return "\n".join(lines)


def _protocol(run: Run, differing: str) -> str:
    record = run.record
    lines = [wrap(f"{record.protocol.name.upper()}: {record.protocol.title}{differing and f' ({differing})'}", "")]
    if record.status != "complete":
        lines.append(wrap(f"The run is {words.unfinished(record)}; this is what was measured.", _INDENT))
    rows = [
        [
            f"{words.kind_name(figure.kind)} ({figure.step})",
            figure.candidate_text(),
            figure.baseline_text(),
            " ".join(filter(None, (figure.ratio_text(), _bracketed(figure.interval_text())))),
        ]
        for figure in figures(run)
    ]
    if rows:
        head = ["", "candidate", "baseline", "ratio (95 % interval)"]
        columns = len(head) if run.baseline else 2
        lines.append(table(head[:columns], [row[:columns] for row in rows], _INDENT))
    lines += [wrap(text, _INDENT, _INDENT * 2) for text in words.cautions_of(run)]
    lines += [wrap(text, _INDENT, _INDENT * 2) for text in _remarks(figures(run))]
    lines += [wrap(text, _INDENT, _INDENT * 2) for text in sweep.answers(run)]
    if told := outcome(run):
        lines += [wrap(text, _INDENT, _INDENT * 2) for text in told.sentences[1:]]
        lines += [f"\n{indent(each.text, _INDENT)}" for each in told.tables]
        lines += [""] if told.tables else []
    lines.append(_sparklines(run))
    return "\n".join(lines)


def _bracketed(text: str) -> str:
    return f"({text})" if text else ""


def _remarks(rows: Iterable[Figure]) -> Iterable[str]:
    """Sentences of what a table cannot tell, and the published figures."""
    rows = list(rows)
    told = ""
    if any(row.interval_text() == NOT_STEADY for row in rows):
        yield "Not steady: the rate fell or rose within the step, so its mean has no confidence interval."
    for row in rows:
        if row.kind in ("cliff", "recovery", "knee"):
            yield row.sentence
        for side, comparison in row.published:
            ours = f"; ours is {comparison.error_text}" if comparison.error_text else ""
            name = f"{'' if side == 'candidate' else 'the baseline, '}{words.kind_name(row.kind)} ({row.step})"
            is_as_before = comparison.differs and comparison.differs == told
            note = f"Ours differs as said above. {comparison.note}" if is_as_before else comparison.remark
            row_of = f"[{comparison.row.id}, {comparison.row.source}]"
            yield f"Published for {name}: {comparison.text}{ours} {row_of}. {note}".rstrip()
            told = comparison.differs


def _sparklines(run: Run) -> str:
    """Mean rate of each step that findings speak of: both targets on the longer time and the higher scale.

    Of a run that was cut off before anything was found, of all steps that it has.
    """
    wanted = {finding.step for finding in run.record.findings} or {step.name for step in run.record.steps}
    drawn = [_sparkline(run, step.name) for step in run.record.steps if step.name in wanted and step.job]
    return "\n".join(filter(None, drawn)) or f"{_INDENT}Nothing was measured."


def _sparkline(run: Run, step: str) -> str:
    sides = [("candidate", run)] + ([("baseline", run.baseline)] if run.baseline else [])
    spans = [
        (name, samples_of(side, [record]), record)
        for name, side in sides
        for record in side.record.steps
        if record.name == step and record.end_ns > record.start_ns
    ]
    longest_ns = max((record.end_ns - record.start_ns for _, _, record in spans), default=0)
    if not longest_ns:
        return ""
    levels = []
    for name, samples, record in spans:
        grid = Grid.over(record.start_ns, record.start_ns + longest_ns, 1, _SPARK_BINS)
        levels.append((name, _levels(samples, grid)))
    top = max(float(np.nanmax(values, initial=0.0)) for _, values in levels)
    time = "virtual time" if run.record.is_modelled else "time"
    unit = rate_unit(run, spans[0][2])
    lines = [f"{_INDENT}{step}: {unit} over {format_duration(longest_ns)} of {time}, full height {words.number(top)}"]
    lines += [f"{_INDENT}{name:<10}{_spark(values, top)}".rstrip() for name, values in levels]
    return "\n".join(lines)


def _levels(samples: pl.DataFrame, grid: Grid) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Completions per second in each bin, those of a row spread over its time; NaN where nothing was asked."""
    covered = ~np.isnan(envelope(grid, tracks(samples)["iops"])[:, 0])
    rows = samples.group_by("start_ns").agg(pl.col("duration_ns").max(), pl.col("count").sum()).sort("start_ns")
    start_ns, done = rows["start_ns"].to_numpy(), np.cumsum(rows["count"].to_numpy())
    times = np.column_stack([start_ns, start_ns + rows["duration_ns"].to_numpy()]).ravel()
    reached = np.column_stack([done - rows["count"].to_numpy(), done]).ravel()
    edges = grid.start_ns + grid.bin_ns * np.arange(grid.bins + 1)
    counts = np.diff(np.interp(edges, np.maximum.accumulate(times), reached))
    return np.where(covered, counts / grid.bin_ns * 1e9, np.nan)


def _spark(values: np.ndarray[tuple[int], np.dtype[np.float64]], top: float) -> str:
    steps = len(_BLOCKS) - 1
    return "".join(
        " " if np.isnan(value) else _BLOCKS[min(steps, round(value / top * steps))] if top else _BLOCKS[0]
        for value in values
    )


def _where(candidate: Candidate) -> str:
    lines = ["WHAT WAS RUN WHERE"]
    for run in candidate.runs:
        record = run.record
        lines.append(wrap(f"{record.protocol.name}: {words.where(record)}", _INDENT, _INDENT * 2))
        cautions = words.cautions(record)  # told beside the figures
        lines += [wrap(note, _INDENT * 2) for note in record.notes if note not in cautions]
    record = candidate.runs[0].record
    versions = ", ".join(f"{name} {value}" for name, value in sorted(record.environment.items()))
    lines.append(wrap(f"Shakedown {record.shakedown_version}" + (f"; {versions}" if versions else ""), _INDENT))
    return "\n".join(lines)
