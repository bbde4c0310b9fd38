"""In what runs of one protocol were asked for different things: what makes their figures hard to compare."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final

from shakedown.report.apart import in_a_line
from shakedown.result.run_record import RunRecord
from shakedown.units import format_counts, format_share, format_size

_LONGEST: Final = 60
"""Characters of a value that is told; of longer ones only that they differ."""

_OF_A_REBUILD: Final = {
    "layout": "layout",
    "members": "drives",
    "replacement": "new drive",
    "failed": "failed drive",
    "member_bytes": "member size",
    "fill": "fill",
    "state": "state",
    "load": "load",
    "set": "set",
    "faults": "faults",
    "whole": "played whole",
}


def differences(records: Sequence[RunRecord], labels: Sequence[str]) -> tuple[str, ...]:
    """``depth (1 in [1], 4 in [2])`` for each thing that is not alike in all; empty where all were asked the same."""
    asked = [_asked(record) for record in records]
    keys = dict.fromkeys(key for each in asked for key in each)
    differing = [key for key in keys if any(a.get(key) != b.get(key) for a, b in pairwise(asked))]
    return tuple(_told(key, [each.get(key) for each in asked], labels) for key in differing)


def _told(name: str, values: Sequence[str | None], labels: Sequence[str]) -> str:
    if name in _UNTOLD or any(len(value or "") > _LONGEST for value in values):
        return name
    who: dict[str | None, list[str]] = {}
    for value, label in zip(values, labels, strict=True):
        who.setdefault(value, []).append(label)
    told = (f"{value or 'none'} in {' '.join(of)}" for value, of in who.items())
    return f"{name} ({', '.join(told)})"


def _asked(record: RunRecord) -> dict[str, str | None]:
    """Of a rebuild all of its order but the seed, of others their text and its parameters; of both the scale."""
    scale = {"scale": f"1/{record.target.scale_divisor}" if record.target.scale_divisor > 1 else "whole"}
    if record.protocol.name == "rebuild":
        with suppress(ValueError, AttributeError):
            return dict(_ordered(json.loads(record.protocol.text), record.parameters)) | scale
        return {_ORDER: record.protocol.sha256, **record.parameters, **scale}
    return {_TEXT: record.protocol.sha256, **record.parameters, **scale}


_TEXT: Final = "the text of the protocol"
_ORDER: Final = "the array"
_UNTOLD: Final = (_TEXT, _ORDER)
"""Whose values nobody can read at a glance."""


def _ordered(order: Mapping[str, Any], parameters: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
    """By the names that people use; what a newer version orders besides goes by its own."""
    # These two are told in words by the parameters, and the scale by the target.
    told = dict(order) | {"set": parameters.get("set"), "faults": parameters.get("faults")}
    for name, value in told.items():
        if name not in ("seed", "options", "scale_divisor"):
            yield _OF_A_REBUILD.get(name, name), None if value is None else _value(name, value)


def _value(name: str, value: Any) -> str:
    match name:
        case "members":
            return format_counts(value)
        case "member_bytes":
            return format_size(value)
        case "fill":
            return format_share(value)
        case "load":
            return in_a_line(value)
        case "whole":
            return "yes" if value else "no"
        case _:
            return str(value)
