"""Every experiment that the asked rows need, played on the model, over all cores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

from shakedown.data import list_profiles, profile_name, reference_path
from shakedown.errors import UsageError
from shakedown.parallel import on_every_core
from shakedown.protocol.complain import did_you_mean
from shakedown.protocol.load import load_protocol
from shakedown.protocol.play import Listener
from shakedown.protocol.run import Order, run
from shakedown.reference import Row, read_rows
from shakedown.result.folder import Run, read_run
from shakedown.target.storage_box import drives_of
from shakedown.validate.answer import Answer, answer, answer_figure
from shakedown.validate.chunks import seconds
from shakedown.validate.question import Chunks, Experiment, Question, Questions, RebuildQuestion, all_questions
from shakedown.validate.rebuild import rebuild_answers, rebuilds_of
from shakedown.validate.role import takers
from shakedown.validate.waiting import Piece, Waiting, effort


@dataclass(frozen=True)
class Validation:
    """Rows answered, in the table's order, and rows that are not, each with the reason."""

    answers: list[Answer]
    unanswered: dict[str, str]


def validate(
    rows: Sequence[str] = (), profile: str | None = None, told: Callable[[str], None] = lambda _line: None
) -> Validation:
    """Answer the asked rows, or all, or all that a profile answers; ``told`` hears of the progress.

    Raises UsageError for a row or a profile that is not there, and for a profile that answers none of the rows.
    """
    published = read_rows(reference_path("published.csv"))
    questions = all_questions()
    _refuse_unknown(rows, published)
    profile = None if profile is None else _ours(profile)
    asked = [each for each in questions.questions if _is_asked(each, questions, rows, profile)]
    arrays = [each for each in questions.rebuild_questions if _is_rebuild_asked(each, questions, rows, profile)]
    if profile is not None and not asked and not arrays:
        raise _nothing_asked(rows, profile, questions)
    reasons = {} if profile else unanswered(questions, published)
    waiting = Waiting([*_experiments(asked), *rebuilds_of(arrays)], told)
    found = _answers(asked, questions, published, waiting) + rebuild_answers(arrays, questions, published, waiting)
    found.sort(key=lambda each: each.row)
    return Validation(found, {row: why for row, why in reasons.items() if not rows or row in rows})


def unanswered(questions: Questions, published: dict[str, Row]) -> dict[str, str]:
    """Why each row without a question has none; a row without a question or a reason is an error of the table."""
    answered = questions.answered()
    stated = questions.reasons()
    return {row.id: stated.get(row.id) or _reason(row) for row in published.values() if row.id not in answered}


def _reason(row: Row) -> str:
    if names := takers(row.id):
        return f"a parameter of a profile and no outcome: {', '.join(names)}"
    if row.confidence != "published":
        return "not verified, and no profile uses it"
    raise AssertionError(f"{row.id} has neither a question nor a reason: reference/questions.toml")


def _refuse_unknown(rows: Iterable[str], published: dict[str, Row]) -> None:
    for row in rows:
        if row not in published:
            padded = f"R{row.upper().removeprefix('R'):>03}"
            # Another number is another measurement: one that merely looks like it is not what was meant.
            named = f"rows are named as in reference/published.csv, from `{min(published)}` to `{max(published)}`"
            hint = f"did you mean `{padded}`?" if padded in published else named
            raise UsageError(f"there is no row `{row}`", hint=hint)


def _ours(profile: str) -> str:
    """Our name of a drive. Raises UsageError of one that is not ours."""
    name = profile_name(profile)
    if name is None:
        meant = did_you_mean(profile.lower(), list_profiles())
        raise UsageError(f"there is no profile `{profile}`", hint=meant or "`shakedown profiles` lists all")
    return name


def _nothing_asked(rows: Sequence[str], profile: str, questions: Questions) -> UsageError:
    """The error for a profile that answers none of the rows, or none at all."""
    single = {drive for each in questions.questions if each.row in rows for drive in _drives(each, questions)}
    many = {drive for each in questions.rebuild_questions if each.row in rows for drive in _members(each, questions)}
    return UsageError(
        f"`{profile}` does not answer {', '.join(rows) or 'any row'}",
        hint=f"drives that do: {', '.join(sorted(single | many))}"
        if single | many
        else "docs/validation-table.md says why",
    )


def _is_asked(question: Question, questions: Questions, rows: Sequence[str], profile: str | None) -> bool:
    return (not rows or question.row in rows) and (profile is None or profile in _drives(question, questions))


def _drives(question: Question, questions: Questions) -> list[str]:
    experiment = questions.experiment(question.experiment)
    return [
        drive for each in (experiment.profile, experiment.baseline) if each is not None for drive in drives_of(each)
    ]


def _is_rebuild_asked(
    question: RebuildQuestion, questions: Questions, rows: Sequence[str], profile: str | None
) -> bool:
    return (not rows or question.row in rows) and (profile is None or profile in _members(question, questions))


def _members(question: RebuildQuestion, questions: Questions) -> list[str]:
    return [drive for name in question.rebuilds for drive in questions.rebuild(name).drives]


def _answers(asked: list[Question], questions: Questions, published: dict[str, Row], waiting: Waiting) -> list[Answer]:
    names = _experiments(asked)
    groups = [(questions.experiment(name), [each for each in asked if each.experiment == name]) for name in names]
    found: list[Answer] = []
    for answers in _in_parallel(groups, published, waiting):
        found += answers
    order = {(each.row, each.part): index for index, each in enumerate(asked)}
    return sorted(found, key=lambda each: (each.row, order[each.row, each.part]))


def _experiments(asked: Iterable[Question]) -> list[str]:
    """Each once, those that take longest first."""
    return sorted(dict.fromkeys(each.experiment for each in asked), key=effort, reverse=True)


def _in_parallel(
    groups: list[tuple[Experiment, list[Question]]], published: dict[str, Row], waiting: Waiting
) -> Iterable[list[Answer]]:
    # The folders are ours, so that those of processes that are killed go with us.
    with TemporaryDirectory(prefix="shakedown-validate-") as folder:
        orders = [
            (experiment, asked, [published[each.row] for each in asked], Path(folder) / str(number))
            for number, (experiment, asked) in enumerate(groups)
        ]
        with on_every_core(_experiment, orders) as pending:
            pieces = [
                Piece(experiment.name, _what(experiment), each)
                for each, (experiment, _) in zip(pending, groups, strict=True)
            ]
            for _, answers in waiting.as_ended(pieces):
                yield answers


def _what(experiment: Experiment) -> str:
    beside = "" if experiment.baseline is None else f" beside {experiment.baseline}"
    played = "chunks" if isinstance(experiment.procedure, Chunks) else experiment.procedure.removesuffix(".toml")
    return f"{experiment.name} ({played} on {experiment.profile}{beside})"


def _experiment(
    experiment: Experiment, asked: list[Question], rows: list[Row], folder: Path
) -> tuple[list[Answer], float]:
    """Play one experiment and read its figures; with how long that took. Its run is in the folder meanwhile."""
    began_s = time.monotonic()
    if isinstance(experiment.procedure, Chunks):
        figure = seconds(experiment.procedure, experiment.profile)
        answers = [answer_figure(each, experiment, row, figure) for each, row in zip(asked, rows, strict=True)]
    else:
        with _played(experiment, procedure_name(experiment.procedure), folder) as played:
            answers = [answer(each, experiment, row, played) for each, row in zip(asked, rows, strict=True)]
    return answers, time.monotonic() - began_s


@contextmanager
def _played(experiment: Experiment, protocol: str, folder: Path) -> Iterator[Run]:
    """The run of a protocol, whose samples can be read meanwhile."""
    loaded = load_protocol(protocol, experiment.settings)
    baseline = None if experiment.baseline is None else f"model:{experiment.baseline}"
    run(loaded, Order(f"model:{experiment.profile}", baseline), folder, Listener())
    try:
        yield read_run(folder)
    finally:
        rmtree(folder)  # of all experiments together they would be many


def procedure_name(procedure: str) -> str:
    """What ``load_protocol`` knows an experiment's procedure by: a protocol's name, or a path in reference/."""
    return str(reference_path(f"procedures/{procedure}")) if procedure.endswith(".toml") else procedure
