"""A published figure and the model's, compared."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Final

from shakedown.reference import Row
from shakedown.result.folder import Run
from shakedown.validate.measure import MEASURES, UNITS
from shakedown.validate.question import Experiment, Question
from shakedown.validate.role import Role, role_of

_RANGE: Final = re.compile(r"^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$")
_SEED: Final = re.compile(r"\(field notes [ABC]\)")


@dataclass(frozen=True)
class Answer:
    """One row answered.

    ``low`` and ``high`` are equal unless the published figure is a range; ``predicted`` is in the same ``unit``, None
    where the run held no such figure. ``error`` is predicted / published - 1: to the nearer end of a range, 0 within.
    """

    row: str
    part: str
    profile: str
    subject: str
    quantity: str
    low: float
    high: float
    unit: str
    predicted: float | None
    error: float | None
    role: Role
    seed: bool
    source: str

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def answer(question: Question, experiment: Experiment, row: Row, run: Run) -> Answer:
    """Read the figure from the experiment's run and lay it beside the row's."""
    unit = question.unit or row.unit
    low, high = published(question, row)
    base = _figure(question, run)
    predicted = None if base is None else _in_unit(base, unit)
    return Answer(
        row=row.id,
        part=question.part,
        profile=_profile(question, experiment),
        subject=row.subject,
        quantity=row.quantity,
        low=low,
        high=high,
        unit=unit,
        predicted=predicted,
        error=None if predicted is None else _error(predicted, low, high, unit),
        role=_role(question, experiment),
        seed=_SEED.search(row.source) is not None,
        source=row.source,
    )


def published(question: Question, row: Row) -> tuple[float, float]:
    """The published figure as a range: the question's own reading, or the row's plain number or ``low-high``."""
    if question.value is not None:
        return question.value, question.value
    if question.low is not None and question.high is not None:
        return question.low, question.high
    if found := _RANGE.match(row.value):
        return float(found[1]), float(found[2])
    return float(row.value), float(row.value)


def _profile(question: Question, experiment: Experiment) -> str:
    if question.of == "baseline":
        assert experiment.baseline is not None, f"{question.row} asks for a baseline"
        return experiment.baseline
    return experiment.profile


def _role(question: Question, experiment: Experiment) -> Role:
    """Of all drives that have a part in the figure. What follows from rows that are no checks is none either."""
    profiles = [_profile(question, experiment)]
    if question.over == "baseline" and experiment.baseline is not None:
        profiles.append(experiment.baseline)
    roles = {role_of(question.row, profile) for profile in profiles}
    sources = [{role_of(row, profile) for profile in profiles} for row in question.follows_from]
    if sources and all(found != {"check"} for found in sources):
        roles |= set().union(*sources)
    return next(role for role in ("fit", "input", "check") if role in roles)


def _figure(question: Question, run: Run) -> float | None:
    read = MEASURES[question.measure]
    asked = run.baseline if question.of == "baseline" else run
    if asked is None:
        return None
    figure = read(asked, question.step)
    if question.over is not None:
        other = run.baseline if question.over == "baseline" else asked
        step = question.step if question.over == "baseline" else question.over
        under = None if other is None else read(other, step)
        figure = figure / under if figure is not None and under else None
    return 1 / figure if question.inverse and figure else figure


def _in_unit(base: float, unit: str) -> float:
    return (base - 1) * 100 if unit == "percent" else base / UNITS[unit]


def _error(predicted: float, low: float, high: float, unit: str) -> float:
    """Of a change in percent, the error of the ratio."""
    if unit == "percent":
        predicted, low, high = (1 + value / 100 for value in (predicted, low, high))
    nearest = min(max(predicted, low), high)
    return predicted / nearest - 1 if nearest else float(predicted != 0)
