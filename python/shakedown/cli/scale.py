"""``--scale``: how much smaller than the real one a modelled drive is made."""

from __future__ import annotations

import re
from typing import Annotated

from cyclopts import Parameter

from shakedown.errors import UsageError

Scale = Annotated[
    str, Parameter(help="make modelled drives smaller: 1/100 has a hundredth of the capacity and the persistent cache")
]


def parse_scale(text: str) -> int:
    """``1/100`` (or ``1``) to the divisor. Raises UsageError."""
    match = re.fullmatch(r"1(?:/([1-9]\d{0,8}))?", text)
    if match is None:
        raise UsageError(f"`--scale {text}` is not a scale", hint="write it like `1/100`, with nine digits at most")
    return int(match[1] or 1)
