"""``reference/questions.toml``: which published rows a modelled drive can answer, how, and why not the others."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from shakedown.data import reference_path
from shakedown.reference import read_rows
from shakedown.validate.measure import MEASURES, UNITS

RowId = Annotated[str, StringConstraints(pattern=r"^R\d{3}$")]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Experiment(_Table):
    """A protocol (``procedure``: a name, or a file beside the questions) on a modelled drive, or on two."""

    name: str
    profile: str
    procedure: str
    baseline: str | None = None
    settings: dict[str, str] = Field(default_factory=dict)


class Question(_Table):
    """How one row is answered: a ``measure`` of a ``step`` of an ``experiment``.

    ``value`` (or ``low`` and ``high``) stands for the row's own text where that is not a plain number or range;
    ``part`` says which part of the row it is. ``over`` divides the measure by the same of another step, or of the
    baseline.
    ``follows_from`` names rows of which this one is mere arithmetic.
    """

    row: RowId
    experiment: str
    step: str
    measure: str
    of: Literal["candidate", "baseline"] = "candidate"
    over: str | None = None
    inverse: bool = False
    part: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str | None = None
    follows_from: Annotated[tuple[RowId, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.measure not in MEASURES:
            raise ValueError(f"{self.row}: there is no measure `{self.measure}`")
        if self.unit is not None and self.unit not in UNITS:
            raise ValueError(f"{self.row}: there is no unit `{self.unit}`")
        return self


class Unanswered(_Table):
    """Rows that no single modelled drive answers, and why."""

    rows: Annotated[tuple[str, ...], Field(strict=False)]
    why: str

    def ids(self) -> list[str]:
        """Every row; ``R001-R004`` names all that lie between."""
        return [row for text in self.rows for row in _between(text)]


class Questions(_Table):
    """All of them."""

    format_version: Literal[1]
    experiments: Annotated[tuple[Experiment, ...], Field(strict=False)]
    questions: Annotated[tuple[Question, ...], Field(strict=False)]
    unanswered: Annotated[tuple[Unanswered, ...], Field(strict=False)]

    @model_validator(mode="after")
    def _agree(self) -> Self:
        known = {experiment.name for experiment in self.experiments}
        if strange := [each.row for each in self.questions if each.experiment not in known]:
            raise ValueError(f"{', '.join(strange)}: there is no such experiment")
        if idle := known - {each.experiment for each in self.questions}:
            raise ValueError(f"no question asks for {', '.join(sorted(idle))}")
        return self

    def experiment(self, name: str) -> Experiment:
        """The experiment of that name."""
        return next(each for each in self.experiments if each.name == name)

    def reasons(self) -> dict[str, str]:
        """Why a row is not answered, by row."""
        return {row: group.why for group in self.unanswered for row in group.ids()}


_RANGE: Final = re.compile(r"^(R\d{3})-(R\d{3})$")


def _between(text: str) -> list[str]:
    if found := _RANGE.match(text):
        return [row for row in read_rows(reference_path("published.csv")) if found[1] <= row <= found[2]]
    return [text]


@cache
def read_questions(path: Path) -> Questions:
    """The questions in a file."""
    return Questions.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
