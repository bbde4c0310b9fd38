"""``NAME=VALUE`` of whoever builds arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shakedown.errors import UsageError


def read_settings(
    texts: Sequence[str], known: Mapping[str, tuple[str, Callable[[str], Any]]], of: str, examples: str
) -> dict[str, Any]:
    """The values that ``known`` makes of the texts, by its keys. Raises UsageError that says what may be set."""
    given = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            raise UsageError(f"`{text}` is no option of {of}", hint=f"NAME=VALUE with {', '.join(known)}")
        key, parse = known[name]
        try:
            given[key] = parse(value)
        except (ValueError, KeyError) as error:
            raise UsageError(f"`{text}` cannot be read", hint=examples) from error
    return given
