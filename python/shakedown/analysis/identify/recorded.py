"""Facts that were recorded on another machine: this program's own JSON, or smartctl's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from shakedown.analysis.identify.facts import Facts
from shakedown.analysis.identify.smart import smart_facts
from shakedown.errors import UsageError, damaged

_HINT = "give what `shakedown identify --json` or `smartctl --json -i DEVICE` printed, one document or more"


def parse_recorded(text: str) -> list[Facts]:
    """The facts of every drive in one JSON document, a list, or documents one after the other. Raises UsageError."""
    found = [facts for document in _documents(text) for facts in _facts(document)]
    if not found:
        raise UsageError("the recording speaks of no drive", hint=_HINT)
    return found


def _documents(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    text, place = text.removeprefix("\ufeff"), 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        try:
            document, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"the recording is not JSON: {error}", hint=_HINT) from error
        yield from document if isinstance(document, list) else [document]


def _facts(document: Any) -> Iterator[Facts]:
    if not isinstance(document, dict):
        raise UsageError(f"the recording holds {str(document)[:40]!r} where a drive should be", hint=_HINT)
    drives = document.get("drives")
    if document.get("command") == "identify" and isinstance(drives, list):
        for drive in drives:
            yield _own(drive.get("facts") if isinstance(drive, dict) else None)
    elif "smartctl" in document or "device" in document:
        yield smart_facts(document)
    else:
        raise UsageError("the recording is neither smartctl's nor this program's", hint=_HINT)


def _own(facts: Any) -> Facts:
    try:
        return Facts.model_validate(facts)
    except ValidationError as error:
        raise damaged("the recording", error, _HINT) from error
