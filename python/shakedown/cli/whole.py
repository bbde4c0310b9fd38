"""Whole numbers among the options: how they are read, and which of them a seed may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cyclopts import Parameter, Token

from shakedown.errors import UsageError

ANY_SEED: Final = 2**63
"""What a seed is below; those of arrays are below ``ARRAY_SEED``."""

ARRAY_SEED: Final = 2**32


def _whole(_kind: object, tokens: Sequence[Token]) -> int:
    """The number itself: cyclopts rounds ``4.5`` to 4 without a word."""
    (token,) = tokens
    try:
        return int(token.value)
    except ValueError as error:
        told = " ".join(filter(None, (token.keyword, token.value)))
        raise UsageError(f"`{told:.60}` is not a whole number", hint="write it in digits alone") from error


WHOLE: Final = Parameter(converter=_whole)
"""Stands with every option that is an ``int``."""


def check_seed(seed: int, below: int = ANY_SEED) -> int:
    """The seed. Raises UsageError unless it is from 0 and below that, a power of two."""
    if not 0 <= seed < below:
        raise UsageError(
            f"`--seed {seed}` is out of range", hint=f"any whole number from 0 to 2^{below.bit_length() - 1} - 1"
        )
    return seed
