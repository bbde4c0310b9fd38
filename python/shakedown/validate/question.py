"""``reference/questions.toml``: which published rows a modelled drive can answer, how, and why not the others."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from shakedown.array.order import State
from shakedown.data import reference_path
from shakedown.reference import read_rows
from shakedown.toml import parse_toml
from shakedown.validate.measure import MEASURES, UNITS

_FILES: Final = (
    "questions.toml",
    "chart_questions.toml",
    "self_test_questions.toml",
    "later_questions.toml",
    "array_questions.toml",
)

RowId = Annotated[str, StringConstraints(pattern=r"^R\d{3}$")]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Chunks(_Table):
    """``amount`` in pieces of ``chunk``, ``verbs`` for each: for what no job says, as to write back what was read."""

    chunk: str
    amount: str
    verbs: Annotated[tuple[Literal["read", "write", "flush"], ...], Field(strict=False)]


class Experiment(_Table):
    """A protocol (``procedure``: a name, or a file beside the questions) on a modelled drive, or on two.

    Or chunks on one drive, of which only the ``duration`` is told, as that of the step ``chunks``.

    ``origins`` says where the settings of a storage box and of the procedure come from,
    as a profile says it of its values.
    """

    name: str
    profile: str
    procedure: str | Chunks
    baseline: str | None = None
    settings: dict[str, str] = Field(default_factory=dict)
    origins: dict[str, str] = Field(default_factory=dict)


class _Published(_Table):
    """A row and how its own text is read: ``value`` (or ``low`` and ``high``) where that is no plain number or range.

    ``part`` says which part of the row it is.
    """

    row: RowId
    part: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None


class Question(_Published):
    """How one row is answered: a ``measure`` of a ``step`` of an ``experiment``.

    ``over`` divides the measure by the same of another step, or of the baseline.
    ``follows_from`` names rows of which this one is mere arithmetic.
    """

    experiment: str
    step: str
    measure: str
    of: Literal["candidate", "baseline"] = "candidate"
    over: str | None = None
    inverse: bool = False
    unit: str | None = None
    follows_from: Annotated[tuple[RowId, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.measure not in MEASURES:
            raise ValueError(f"{self.row}: there is no measure `{self.measure}`")
        if self.unit is not None and self.unit not in UNITS:
            raise ValueError(f"{self.row}: there is no unit `{self.unit}`")
        return self

    def check_asks_duration(self) -> None:
        """Raise ValueError if it asks for what of chunks is not told."""
        asked = (self.step, self.measure, self.of, self.over, self.inverse)
        if asked != ("chunks", "duration", "candidate", None, False):
            raise ValueError(f"{self.row}: of chunks only the duration of the step `chunks` is told")


class Rebuild(_Table):
    """A rebuild, in the words of ``shakedown rebuild``: ``width`` modelled drives, one of which is replaced.

    ``origins`` says where its settings come from, as a profile says it of its values.
    """

    name: str
    layout: str
    drive: str
    width: int
    fill: float = 1.0
    member_size: str | None = None
    replace_with: str | None = None
    state: State = "new"
    settings: Annotated[tuple[str, ...], Field(strict=False)] = ()
    origins: dict[str, str] = Field(default_factory=dict)

    @property
    def drives(self) -> tuple[str, ...]:
        """The profiles that have a part in it."""
        return tuple(dict.fromkeys((self.replace_with or self.drive, self.drive)))


class RebuildQuestion(_Published):
    """How one row is answered by how long a ``rebuild`` takes, or by that over the time of another one."""

    rebuild: str
    over: str | None = None

    @property
    def rebuilds(self) -> tuple[str, ...]:
        """By name."""
        return (self.rebuild,) if self.over is None else (self.rebuild, self.over)


class Series(Rebuild):
    """Rebuilds alike but for a number, one for each of ``each``: ``{}`` in the name and the settings stands for it.

    ``rows`` (``R001-R004``) are the rows that they answer, in that order.
    """

    rows: str
    each: Annotated[tuple[int, ...], Field(strict=False)]

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if (rows := len(_between(self.rows))) != (each := len(self.each)):
            raise ValueError(f"{self.rows}: {rows} rows for {each} rebuilds")
        return self

    def rebuilds(self) -> list[Rebuild]:
        """One for each number."""
        common = self.model_dump(include=set(Rebuild.model_fields))
        return [
            Rebuild.model_validate(common | {"name": self.name.format(one), "settings": self._settings(one)})
            for one in self.each
        ]

    def questions(self) -> list[RebuildQuestion]:
        """How long each of them takes."""
        return [
            RebuildQuestion(row=row, rebuild=self.name.format(one))
            for row, one in zip(_between(self.rows), self.each, strict=True)
        ]

    def _settings(self, one: int) -> list[str]:
        return [setting.format(one) for setting in self.settings]


class Unanswered(_Table):
    """Rows that no modelled drive or array answers, and why."""

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
    rebuilds: Annotated[tuple[Rebuild, ...], Field(strict=False)] = ()
    rebuild_questions: Annotated[tuple[RebuildQuestion, ...], Field(strict=False)] = ()
    unanswered: Annotated[tuple[Unanswered, ...], Field(strict=False)]

    @model_validator(mode="after")
    def _agree(self) -> Self:
        known = {experiment.name for experiment in self.experiments}
        if strange := [each.row for each in self.questions if each.experiment not in known]:
            raise ValueError(f"{', '.join(strange)}: there is no such experiment")
        if idle := known - {each.experiment for each in self.questions}:
            raise ValueError(f"no question asks for {', '.join(sorted(idle))}")
        for each in self.questions:
            if isinstance(self.experiment(each.experiment).procedure, Chunks):
                each.check_asks_duration()
        rebuilds = {each.name for each in self.rebuilds}
        asked = {name for each in self.rebuild_questions for name in each.rebuilds}
        if rebuilds != asked:
            raise ValueError(f"rebuilds without a question, or asked for and not there: {sorted(rebuilds ^ asked)}")
        return self

    def answered(self) -> set[str]:
        """The rows that have a question."""
        return {each.row for each in (*self.questions, *self.rebuild_questions)}

    def experiment(self, name: str) -> Experiment:
        """The experiment of that name."""
        return next(each for each in self.experiments if each.name == name)

    def rebuild(self, name: str) -> Rebuild:
        """The rebuild of that name."""
        return next(each for each in self.rebuilds if each.name == name)

    def reasons(self) -> dict[str, str]:
        """Why a row is not answered, by row."""
        return {row: group.why for group in self.unanswered for row in group.ids()}


_RANGE: Final = re.compile(r"^(R\d{3})-(R\d{3})$")


def _between(text: str) -> list[str]:
    if found := _RANGE.match(text):
        return [row for row in read_rows(reference_path("published.csv")) if found[1] <= row <= found[2]]
    return [text]


@cache
def read_questions(*paths: Path) -> Questions:
    """The questions in the files, together."""
    tables = [parse_toml(path.read_text(encoding="utf-8")) for path in paths]
    together: dict[str, Any] = {}
    for table in tables:
        for key, value in table.items():
            together[key] = [*together.get(key, []), *value] if isinstance(value, list) else value
    for series in [Series.model_validate(table) for table in together.pop("series", [])]:
        together["rebuilds"] = [*together.get("rebuilds", []), *series.rebuilds()]
        together["rebuild_questions"] = [*together.get("rebuild_questions", []), *series.questions()]
    return Questions.model_validate(together)


def all_questions() -> Questions:
    """Those of single drives and of arrays."""
    return read_questions(*(reference_path(name) for name in _FILES))
