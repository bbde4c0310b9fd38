"""A protocol from its name or its file, with its parameters filled in."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from shakedown.data import protocol_path
from shakedown.errors import UsageError
from shakedown.protocol.complain import complaint, did_you_mean
from shakedown.protocol.job import JobTextError, check_job_text, with_section
from shakedown.protocol.schema import Protocol

_LARGEST_FILE_BYTES: Final = 1024 * 1024
_WRITING_YOUR_OWN: Final = "docs/protocols/writing-your-own.md tells what a protocol may say"


@dataclass(frozen=True)
class LoadedProtocol:
    """A protocol ready to be played, and where it came from.

    ``text`` is the file as it is, ``sha256`` that of its bytes; ``parameters`` are the values in effect.
    """

    protocol: Protocol
    text: str
    sha256: str
    parameters: dict[str, str]


def load_protocol(text: str, settings: Mapping[str, str] | None = None) -> LoadedProtocol:
    """Read a protocol by name or path; ``settings`` override its parameters. Raises UsageError."""
    path = protocol_path(text)
    return parse_protocol(_read(path), text if text.endswith(".toml") else f"protocols/{text}.toml", settings)


def parse_protocol(content: bytes, label: str, settings: Mapping[str, str] | None = None) -> LoadedProtocol:
    """Make a protocol of a file's bytes; ``label`` names the file in messages. Raises UsageError."""
    table = _parse_toml(content, label)
    parameters = _parameters(table, label, settings or {})
    if isinstance(table.get("steps"), list):
        table["steps"] = _filled_in(table["steps"], parameters, label, "steps")
    try:
        protocol = Protocol.model_validate(table)
    except ValidationError as error:
        message, hint = complaint(error, label)
        raise UsageError(message, hint=hint or _WRITING_YOUR_OWN) from error
    text = content.decode()
    digest = hashlib.sha256(content).hexdigest()
    return LoadedProtocol(_with_checked_jobs(protocol, label), text, digest, parameters)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"`{path}` cannot be read: {error.strerror}") from error
    if len(content) > _LARGEST_FILE_BYTES:
        raise UsageError(f"`{path}` is larger than 1 MiB: that is no protocol", hint=_WRITING_YOUR_OWN)
    return content


def _parse_toml(content: bytes, label: str) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"`{label}` is not UTF-8 text (line {line})", hint="save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"`{label}` is not TOML: {error}", hint=_WRITING_YOUR_OWN) from error
    except RecursionError as error:
        raise UsageError(f"`{label}` is nested too deeply", hint=_WRITING_YOUR_OWN) from error
    except ValueError as error:  # a number of more digits than Python converts
        raise UsageError(f"`{label}` is not TOML: {error}", hint=_WRITING_YOUR_OWN) from error


def _parameters(table: dict[str, Any], label: str, settings: Mapping[str, str]) -> dict[str, str]:
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
    table["parameters"] = {**declared, **settings}
    return {**declared, **settings}


def _filled_in(value: Any, parameters: dict[str, str], label: str, where: str) -> Any:
    """``value`` with every ``${parameter}`` replaced in all its texts."""
    if isinstance(value, dict):
        return {key: _filled_in(item, parameters, label, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [_filled_in(item, parameters, label, f"{where}[{index}]") for index, item in enumerate(value)]
    if not isinstance(value, str):
        return value

    def replace(match: re.Match[str]) -> str:
        if match[1] not in parameters:
            hint = did_you_mean(match[1], parameters) or "declare it under [parameters]"
            raise UsageError(f"`{label}`: `{where}` uses `${{{match[1]}}}`, which is not a parameter", hint=hint)
        return parameters[match[1]]

    return re.sub(r"\$\{([^}]*)\}", replace, value)


def _with_checked_jobs(protocol: Protocol, label: str) -> Protocol:
    steps = []
    for index, step in enumerate(protocol.steps):
        job = None if step.job is None else with_section(step.job, step.name)
        try:
            check_job_text(job or "[pause]")
        except JobTextError as error:
            raise UsageError(f"`{label}`: `steps[{index}].job` {error}", hint=error.hint) from error
        steps.append(step.model_copy(update={"job": job}))
    return protocol.model_copy(update={"steps": tuple(steps)})
