"""What is wrong with an option's value is told with the option's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from shakedown.errors import UsageError

_Value = TypeVar("_Value")


def named(option: str, parse: Callable[[str], _Value], text: str) -> _Value:
    """What ``parse`` makes of the option's text. Raises UsageError."""
    try:
        return parse(text)
    except UsageError as error:
        raise UsageError(f"{option}: {error}", hint=error.hint) from None
