"""The twin of a drive that was scaled down is as large as that part of it, and says so by its model."""

from __future__ import annotations

import re
from typing import Final

_PART: Final = re.compile(r" at 1/([1-9][0-9]*) of its size$")


def part_model(model: str, divisor: int) -> str:
    """What the twin of a 1/``divisor`` is called: whoever sees it must not take a part of a drive for the whole."""
    whole = _PART.sub("", model)
    return f"{whole} at 1/{divisor} of its size" if divisor > 1 else model


def part_divisor(model: str) -> int:
    """How many times smaller than the whole drive one of this model is; 1 for all but such twins."""
    told = _PART.search(model)
    return int(told[1]) if told else 1
