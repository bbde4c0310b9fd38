"""What ``rebuild`` and ``matrix`` are told of arrays in the same way."""

from __future__ import annotations

import re
from typing import Annotated

from cyclopts import Parameter

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
    if match is None or not match[2]:
        meant = f": `{text}%`?" if match and float(match[1]) > 1 else ""
        raise UsageError(f"`{text}` is not a share", hint=f"write it like 75%{meant}")
    return float(match[1]) / 100
