"""What a rebuild keeps in its run folder beside findings: the order, the answer of each seed, who waits how long."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shakedown.errors import UsageError, damaged
from shakedown.result.read import read_regular

ANSWERS_NAME: Final = "rebuild.json"
"""In ``raw/``."""


class NoAnswersError(UsageError):
    """The folder is that of a run, but of no rebuild, or what it answered was taken out."""


class _Look(BaseModel):
    at_ns: int
    done_bytes: int
    left_ns: float | None


class _Rebuild(BaseModel):
    duration_ns: int
    ended: str
    allocated_bytes: int
    progress: list[_Look]


class _Judged(BaseModel):
    """Folders from before ``in_another_box`` keep what they have said: their headline was of all who wait."""

    who: str
    limit_ms: float
    longest_ms: float
    kicked: Literal["no", "close", "yes"]
    in_another_box: bool = False


class _Answers(BaseModel):
    """What reports read of them, and so has to be there; the rest is for programs."""

    model_config = ConfigDict(strict=True)

    rebuilds: Annotated[list[_Rebuild], Field(min_length=1)]
    patience: list[_Judged]


def failed_place(failed_member: int | None, replacement: int) -> int:
    """Of a rebuild that failed, whose failure ended it: where no member's did it was the one that was put in."""
    return replacement if failed_member is None else failed_member


def read_answers(folder: Path) -> dict[str, Any]:
    """Those of the run in ``folder``. Raises NoAnswersError where there are none, UsageError where they are damaged."""
    path = folder / "raw" / ANSWERS_NAME
    try:
        content = read_regular(path, "give the folder of a rebuild")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NoAnswersError(f"`{folder}` tells of no rebuild", hint="shakedown rebuild makes such runs") from error
    hint = "restore the file from a copy, or rebuild again"
    try:
        _Answers.model_validate_json(content)
        answers: dict[str, Any] = json.loads(content)
    except ValidationError as error:
        raise damaged(f"`{path}`", error, hint) from error
    except ValueError as error:
        raise UsageError(f"`{path}` is damaged: {error}", hint=hint) from error
    return answers
