"""What ``rebuild`` and ``matrix`` are told of arrays in the same way."""

from __future__ import annotations

import re
from typing import Annotated

from cyclopts import Parameter

from shakedown.array.order import refuse_fill
from shakedown.errors import UsageError

ArraySettings = Annotated[
    tuple[str, ...],
    Parameter(
        "--set",
        show_default=False,
        help="an option of the array, NAME=VALUE: docs/rebuild.md, docs/zfs.md (repeatable)",
    ),
]


def parse_share(text: str) -> float:
    """``75%`` as a share. Raises UsageError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", text)
    if match is None:
        raise UsageError(f"`{text}` is not a share", hint="write it like 75%")
    if not match[2]:
        refuse_fill(float(match[1]) / 100)  # nothing else can be meant
        raise UsageError(f"`{text}` is not a share", hint=f"did you mean `{_meant(float(match[1]))}`?")
    return float(match[1]) / 100


def _meant(number: float) -> str:
    return f"{number if number > 1 else 100 * number:g}%"
