"""What the model is meant to reach, and whether it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from shakedown.validate.answer import Answer

NEAR: Final = 0.10
FAR: Final = 0.25
SHARE_NEAR: Final = 0.90
ARRAY: Final = 0.15


@dataclass(frozen=True)
class Goal:
    """A goal, whether it is held, and by what: one sentence."""

    name: str
    held: bool
    text: str

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def goals(answers: Sequence[Answer]) -> list[Goal]:
    """The goals that these answers bear on."""
    seeds = [answer for answer in answers if answer.seed and not answer.array]
    checks = [answer for answer in answers if answer.role == "check" and not answer.array]
    arrays = [answer for answer in answers if answer.array]
    return [
        *([_seeds(seeds)] if seeds else []),
        *([_near(checks), _far(checks)] if checks else []),
        *([_arrays(arrays)] if arrays else []),
    ]


def is_within(answer: Answer, limit: float) -> bool:
    """Whether an answer's error is known and no larger; a range's near edge included."""
    return answer.error is not None and abs(answer.error) <= limit


def checks_nothing(answer: Answer) -> bool:
    """Whether the profiles were made with the row."""
    return answer.role in {"fit", "input"}


def advice(answers: Sequence[Answer]) -> str:
    """What was told and not measured is held to no goal; one sentence on it, if there is any."""
    told = [each for each in answers if each.role == "advice"]
    near, far = (sum(is_within(each, limit) for each in told) for limit in (NEAR, FAR))
    return (
        f"{near} of {len(told)} rows that makers tell and nobody measured within {NEAR:.0%}, {far} within {FAR:.0%}"
        if told
        else ""
    )


def _named(answers: Sequence[Answer]) -> str:
    return ", ".join(f"{each.row}{f' ({each.part})' if each.part else ''}" for each in answers)


def _fits(held: Sequence[Answer]) -> str:
    """How many of those that are near enough check nothing."""
    fits = sum(checks_nothing(each) for each in held)
    return f" ({fits} of the {len(held)} are fits or inputs)" if fits else ""


def _seeds(seeds: Sequence[Answer]) -> Goal:
    missed = [each for each in seeds if not is_within(each, NEAR)]
    held = [each for each in seeds if is_within(each, NEAR)]
    text = f"{len(held)} of {len(seeds)} seed rows of single drives (accounts A, B, C) within {NEAR:.0%}{_fits(held)}"
    return Goal("seeds-near", not missed, text + (f"; not {_named(missed)}" if missed else ""))


def _near(checks: Sequence[Answer]) -> Goal:
    missed = [each for each in checks if not is_within(each, NEAR)]
    near = len(checks) - len(missed)
    text = f"{near} of {len(checks)} checks within {NEAR:.0%}, {SHARE_NEAR:.0%} are asked for"
    return Goal("checks-near", near >= SHARE_NEAR * len(checks), text + (f"; not {_named(missed)}" if missed else ""))


def _far(checks: Sequence[Answer]) -> Goal:
    missed = [each for each in checks if not is_within(each, FAR)]
    worst = max((abs(each.error) for each in checks if each.error is not None), default=0.0)
    text = f"{len(checks) - len(missed)} of {len(checks)} checks within {FAR:.0%}, worst {worst:.0%}"
    return Goal("checks-far", not missed, text + (f"; not {_named(missed)}" if missed else ""))


def _arrays(arrays: Sequence[Answer]) -> Goal:
    missed = [each for each in arrays if not is_within(each, ARRAY)]
    held = [each for each in arrays if is_within(each, ARRAY)]
    text = f"{len(held)} of {len(arrays)} rows that arrays answer within {ARRAY:.0%}{_fits(held)}"
    return Goal("arrays", not missed, text + (f"; not {_named(missed)}" if missed else ""))
