"""Answers as people read them: lines for a terminal, a table for the documents."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby, zip_longest
from typing import Final

from shakedown.validate.answer import Answer
from shakedown.validate.goal import advice, checks_nothing, goals
from shakedown.validate.run import Validation

_COLUMNS = ("row", "drive", "figure", "published", "predicted", "error", "role", "source")
_TERMINAL_COLUMNS: Final = 100
_MOST: Final = {"drive": 24, "figure": 26}
"""Letters in a line of a cell on a terminal; the other columns are narrow."""


def figure(value: float) -> str:
    """Three digits that matter."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def cells(answer: Answer) -> tuple[str, ...]:
    """One row, as text."""
    same = answer.low == answer.high
    published = figure(answer.low) if same else f"{figure(answer.low)}..{figure(answer.high)}"
    error = "none seen" if answer.error is None else f"{answer.error:+.1%}".replace("%", " %")
    if not same and answer.error == 0:
        error = "in range"
    return (
        answer.row,
        answer.profile,
        answer.quantity + (f" ({answer.part})" if answer.part else ""),
        f"{published} {answer.unit}",
        "-" if answer.predicted is None else figure(answer.predicted),
        error,
        answer.role,
        answer.source,
    )


def to_text(validation: Validation) -> str:
    """For a terminal: the rows, what the goals say, and how many rows are not answered."""
    rows = [cells(answer)[:-1] for answer in validation.answers]
    said = [f"{'held' if goal.held else 'MISSED'}: {goal.text}" for goal in goals(validation.answers)]
    if told := advice(validation.answers):
        said.append(f"no goal: {told}")
    if validation.answers:
        fits = sum(checks_nothing(answer) for answer in validation.answers)
        were, check = ("row was", "checks") if fits == 1 else ("rows were", "check")
        said.append(f"{fits} {were} used to make the profiles (fit, input) and {check} nothing.")
    if len(validation.unanswered) > _FEW:
        said.append(f"{len(validation.unanswered)} rows are not answered; docs/validation-table.md and --json say why.")
    else:
        said += [f"{row} is not answered: {why}" for row, why in validation.unanswered.items()]
    lines = [*(_aligned([_COLUMNS[:-1], *rows]) if rows else []), ""]
    lines += [textwrap.fill(sentence, _TERMINAL_COLUMNS, subsequent_indent="  ") for sentence in said]
    return "\n".join(lines).strip() + "\n"


_FEW = 8


def to_markdown(validation: Validation) -> str:
    """For the documents: two tables, answered and not."""
    lines = ["| " + " | ".join(_COLUMNS) + " |", "| --- " * len(_COLUMNS) + "|"]
    lines += ["| " + " | ".join(cells(answer)) + " |" for answer in validation.answers]
    lines += ["", goals_to_markdown(validation)]
    lines += ["| rows | not answered, because |", "| --- | --- |"]
    lines += [f"| {rows} | {why} |" for rows, why in _grouped(validation.unanswered)]
    return "\n".join(lines) + "\n"


def goals_to_markdown(validation: Validation) -> str:
    """One line a goal."""
    lines = [f"- {'held' if goal.held else '**missed**'}: {goal.text}\n" for goal in goals(validation.answers)]
    told = advice(validation.answers)
    return "".join([*lines, *([f"- no goal: {told}\n"] if told else [])])


def _grouped(reasons: dict[str, str]) -> Iterable[tuple[str, str]]:
    """Neighbours with one reason share a line."""
    for why, group in groupby(reasons.items(), key=lambda each: each[1]):
        rows = [row for row, _ in group]
        yield (rows[0] if len(rows) == 1 else f"{rows[0]}..{rows[-1]}"), why


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns aligned to the left; a cell that is too wide goes on in the line below."""
    folded = [[_folded(cell, _MOST.get(name)) for name, cell in zip(_COLUMNS, row, strict=False)] for row in rows]
    lines = [line for row in folded for line in zip_longest(*row, fillvalue="")]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def _folded(cell: str, most: int | None) -> list[str]:
    """The lines of a cell, broken where a target may be: behind a space, a comma or a colon."""
    lines = [""]
    for piece in re.findall(r"[^ ,:]*[ ,:]+|[^ ,:]+", cell):
        if most is not None and lines[-1] and len(lines[-1] + piece.rstrip()) > most:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]
