"""A published figure and the model's, compared."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Final

from shakedown.reference import Row
from shakedown.result.folder import Run
from shakedown.target.storage_box import drives_of, names_storage_box
from shakedown.validate.measure import MEASURES, UNITS
from shakedown.validate.question import Experiment, Question, Rebuild, RebuildQuestion
from shakedown.validate.role import Role, role_by, role_of

_RANGE: Final = re.compile(r"^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$")
_SEED: Final = re.compile(r"\(field notes [ABC]\)")


@dataclass(frozen=True)
class Answer:
    """One row answered.

    ``low`` and ``high`` are equal unless the published figure is a range; ``predicted`` is in the same ``unit``, None
    where the run held no such figure. ``array`` says that several drives together answer. ``error`` is predicted /
    published - 1: to the nearer end of a range, 0 within.
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
    array: bool
    source: str

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def answer(question: Question, experiment: Experiment, row: Row, run: Run) -> Answer:
    """Read the figure from the experiment's run and lay it beside the row's."""
    return answer_figure(question, experiment, row, _figure(question, run))


def answer_figure(question: Question, experiment: Experiment, row: Row, figure: float | None) -> Answer:
    """Lay an experiment's figure, in base units, beside the row's."""
    profile = _profile(question, experiment)
    return _beside(
        question,
        row,
        profile,
        question.unit or row.unit,
        figure,
        role=_role(question, experiment),
        array=names_storage_box(f"model:{profile}"),
    )


def answer_rebuild(question: RebuildQuestion, rebuild: Rebuild, row: Row, seconds: dict[str, float]) -> Answer:
    """Lay how long a rebuild takes beside the row's figure; ``seconds`` by the name of a rebuild."""
    figure = seconds[question.rebuild] / (1 if question.over is None else seconds[question.over])
    roles = {role_by(row.id, rebuild.origins.values())} | {role_of(row.id, drive) for drive in rebuild.drives}
    profile = f"{rebuild.layout} of {rebuild.width}: {', '.join(rebuild.drives)}"
    return _beside(question, row, profile, row.unit, figure, role=_gravest(roles), array=True)


def _beside(
    question: Question | RebuildQuestion,
    row: Row,
    profile: str,
    unit: str,
    figure: float | None,
    *,
    role: Role,
    array: bool,
) -> Answer:
    low, high = published(question, row)
    predicted = None if figure is None else _in_unit(figure, unit)
    return Answer(
        row=row.id,
        part=question.part,
        profile=profile,
        subject=row.subject,
        quantity=row.quantity,
        low=low,
        high=high,
        unit=unit,
        predicted=predicted,
        error=None if predicted is None else _error(predicted, low, high, unit),
        role="advice" if role == "check" and row.confidence == "advised" else role,
        seed=_SEED.search(row.source) is not None,
        array=array,
        source=row.source,
    )


def published(question: Question | RebuildQuestion, row: Row) -> tuple[float, float]:
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
    drives = [drive for profile in profiles for drive in drives_of(profile)]

    def found(row: str) -> set[Role]:
        return {role_by(row, experiment.origins.values())} | {role_of(row, drive) for drive in drives}

    roles = found(question.row)
    sources = [found(row) for row in question.follows_from]
    if sources and all(each != {"check"} for each in sources):
        roles |= set().union(*sources)
    return _gravest(roles)


def _gravest(roles: set[Role]) -> Role:
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
