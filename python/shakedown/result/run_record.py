"""``run.json``: all that is known about a run except its samples.

Written with sorted keys and without wall-clock times, so that two identical runs in the model arena are the same bytes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from shakedown.analysis.finding import Finding
from shakedown.analysis.rules import Use
from shakedown.analysis.verdict import Failure, Verdict
from shakedown.errors import UsageError, damaged
from shakedown.result.identity import Identity
from shakedown.result.version import refuse_newer

FORMAT_VERSION: Final[Literal[1]] = 1

EndedBecause = Literal["condition", "job-ended", "idle-over", "failed", "interrupted", "skipped"]


class Part(BaseModel):
    """What every part of a record has in common: closed, immutable, no infinities."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Published(Part):
    """A row of ``reference/published.csv`` to stand beside this finding of this step on the drive ``subject``.

    A share of a baseline's figure is of the baseline ``beside``, where the row has one, and of no other.
    ``note`` is what the reader must know of the row: that it contradicts another, or was taken under other conditions.
    """

    finding: str
    step: str
    row: str
    subject: str
    beside: str = ""
    note: str = ""


class ProtocolRecord(Part):
    """The protocol that was run: ``text`` is its file, ``RunRecord.parameters`` the values of its ``${parameters}``."""

    name: str
    title: str
    question: str
    source: str
    uses: tuple[Use, ...]
    text: str
    sha256: str
    published: tuple[Published, ...] = ()


class StepRecord(Part):
    """A step as it was played.

    Times are nanoseconds since the start of the run. ``job`` is the fio job with its parameters filled in, None for an
    idle step. ``detail`` says what the condition saw, or why the step was skipped; ``error`` what the target
    did wrong, or, where the step failed, the environment.
    """

    name: str
    title: str
    start_ns: int
    end_ns: int
    interval_ns: int
    ended_because: EndedBecause
    detail: str | None = None
    error: str | None = None
    job: str | None = None


class RunRecord(Part):
    """The content of ``run.json``.

    ``size_bytes`` is the size that was asked for where the target is a file or a folder. At
    ``temperature_limit_celsius`` the load pauses. ``baseline`` is the folder of
    the baseline's own run, seen from this one. ``notes`` are what the reader should know before trusting the figures.
    """

    format_version: Literal[1] = FORMAT_VERSION
    shakedown_version: str
    protocol: ProtocolRecord
    parameters: dict[str, str]
    target: Identity
    arena: Literal["model", "lab", "device"]
    environment: dict[str, str]
    seed: int
    scale_divisor: int
    size_bytes: int | None = None
    temperature_limit_celsius: int | None = None
    status: Literal["running", "complete", "interrupted", "failed"]
    steps: tuple[StepRecord, ...] = ()
    findings: tuple[Finding, ...] = ()
    verdict: Verdict | None = None
    baseline: Literal["baseline"] | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_modelled(self) -> bool:
        """Whether the drive is a model, and time virtual."""
        return self.arena != "device"

    @property
    def is_of_a_model(self) -> bool:
        """Whether the drive is a model, if served in real time."""
        return self.is_modelled or self.target.details.get("modelled") == "yes"

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What the target did wrong; not that of steps that failed because the environment did."""
        return tuple(
            Failure(self.protocol.name, step.name, step.error)
            for step in self.steps
            if step.error is not None and step.ended_because != "failed"
        )

    def to_json(self) -> bytes:
        """The bytes of ``run.json``."""
        text = json.dumps(self.model_dump(mode="json"), indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return text.encode() + b"\n"


def parse_run_record(content: bytes, path: Path) -> RunRecord:
    """The record in ``content``; ``path`` is for the messages. Raises UsageError."""
    again = "the run cannot be read: restore the file from a copy, or run the protocol again"
    _refuse_other_version(content, path, again)
    try:
        return RunRecord.model_validate_json(content)
    except ValidationError as error:
        raise damaged(f"`{path}`", error, again) from error


class _VersionOnly(BaseModel):
    model_config = ConfigDict(strict=True)
    format_version: int


def _refuse_other_version(content: bytes, path: Path, again: str) -> None:
    try:
        version = _VersionOnly.model_validate_json(content).format_version
    except ValidationError as error:
        first: Any = error.errors()[0]
        reasons = {"json_invalid": f"{first['msg']}", "missing": "it has no `format_version`"}
        wrong = f"its `format_version` is {first['input']!r:.60}, not a whole number"
        reason = reasons.get(first["type"], wrong if first["loc"] else "it is no JSON object")
        raise UsageError(f"`{path}` is not the record of a run: {reason}", hint=again) from error
    if version < 1:
        raise UsageError(f"`{path}` has format version {version}, which never existed", hint=again)
    refuse_newer(version, FORMAT_VERSION, path)
