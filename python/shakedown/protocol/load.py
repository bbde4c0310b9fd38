"""A protocol from its name or its file, with its parameters filled in."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import ValidationError

from shakedown.data import protocol_path
from shakedown.errors import UsageError
from shakedown.named_file import read_named_file
from shakedown.protocol.complain import complaint, did_you_mean
from shakedown.protocol.job import JobTextError, check_job_text, with_section
from shakedown.protocol.parameters import Parameters
from shakedown.protocol.schema import Protocol
from shakedown.toml import TomlError, parse_toml
from shakedown.tools.fio.job import OptionError

_LARGEST_FILE_BYTES: Final = 1024 * 1024
_WRITING_YOUR_OWN: Final = "docs/protocols/writing-your-own.md tells what a protocol may say"


@dataclass(frozen=True)
class LoadedProtocol:
    """A protocol ready to be played, and where it came from.

    ``text`` is the file as it is, ``sha256`` that of its bytes, ``label`` what messages call it; ``parameters`` are the
    values in effect.
    """

    protocol: Protocol
    text: str
    sha256: str
    parameters: dict[str, str]
    label: str = field(compare=False)
    _origin: Parameters = field(compare=False, repr=False)

    def job_refusal(self, step: int, error: UsageError) -> UsageError:
        """The error for the job of a step that a target refused: the file, the key, what is wrong, and what set it."""
        place = f"steps[{step}].job"
        behind = self._origin.behind(place, error.option) if isinstance(error, OptionError) else ""
        return UsageError(f"`{self.label}`: `{place}`: {error}{behind}", hint=error.hint)


def load_protocol(text: str, settings: Mapping[str, str] | None = None) -> LoadedProtocol:
    """Read a protocol by name or path; ``settings`` override its parameters. Raises UsageError."""
    content = read_named_file(protocol_path(text), hint=_WRITING_YOUR_OWN, most_bytes=_LARGEST_FILE_BYTES)
    return parse_protocol(content, text if text.endswith(".toml") else f"protocols/{text}.toml", settings)


def parse_protocol(content: bytes, label: str, settings: Mapping[str, str] | None = None) -> LoadedProtocol:
    """Make a protocol of a file's bytes; ``label`` names the file in messages. Raises UsageError."""
    table = _parse_toml(content, label)
    parameters = _parameters(table, label, settings or {})
    if isinstance(table.get("steps"), list):
        table["steps"] = parameters.fill_in(table["steps"], "steps")
    try:
        protocol = Protocol.model_validate(table)
    except ValidationError as error:
        message, hint = complaint(error, label, parameters.behind)
        raise UsageError(message, hint=hint or _WRITING_YOUR_OWN) from error
    text = content.decode()
    digest = hashlib.sha256(content).hexdigest()
    checked = _with_checked_jobs(protocol, label, parameters)
    return LoadedProtocol(checked, text, digest, parameters.values, label, parameters)


def _parse_toml(content: bytes, label: str) -> dict[str, Any]:
    try:
        return parse_toml(content.decode())
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"`{label}` is not UTF-8 text (line {line})", hint="save it as UTF-8") from error
    except TomlError as error:
        raise UsageError(f"`{label}` is not TOML: {error}", hint=_WRITING_YOUR_OWN) from error


def _parameters(table: dict[str, Any], label: str, settings: Mapping[str, str]) -> Parameters:
    declared: object = table.get("parameters", {})
    if not isinstance(declared, dict):
        raise UsageError(f"`{label}`: `parameters` must be a table", hint=_WRITING_YOUR_OWN)
    for name in settings:
        if name not in declared:
            known = ", ".join(f"`{key}`" for key in declared) or "none at all"
            hint = did_you_mean(name, declared) or f"its parameters are {known}"
            raise UsageError(f"`{label}` has no parameter `{name}`", hint=hint)
    for name, value in declared.items():
        if not isinstance(value, str):
            raise UsageError(
                f"`{label}`: `parameters.{name}` is {value!r:.60}: must be text in quotes", hint=_WRITING_YOUR_OWN
            )
    parameters = Parameters(declared, settings, label)
    table["parameters"] = parameters.values
    return parameters


def _with_checked_jobs(protocol: Protocol, label: str, parameters: Parameters) -> Protocol:
    steps = []
    for index, step in enumerate(protocol.steps):
        job = None if step.job is None else with_section(step.job, step.name)
        try:
            check_job_text(job or "[pause]")
        except JobTextError as error:
            place = f"steps[{index}].job"
            behind = parameters.behind(place, error.option)
            raise UsageError(f"`{label}`: `{place}` {error}{behind}", hint=error.hint) from error
        steps.append(step.model_copy(update={"job": job}))
    return protocol.model_copy(update={"steps": tuple(steps)})
