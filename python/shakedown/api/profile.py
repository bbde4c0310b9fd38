"""A profile as text, as a mapping, and with changes."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any, Final

import numpy as np
import tomlkit
from tomlkit.exceptions import TOMLKitError

from shakedown.errors import UsageError
from shakedown.target.profile import WHAT_IT_MAY_SAY
from shakedown.toml import TomlError, parse_toml
from shakedown.trace.frame import MOST

ORIGIN: Final = "assumed: set through the API"
_LABELS: Final = {"format_version", "name", "title"}


def parse_profile(toml: str) -> dict[str, Any]:
    """The tables of a profile; each value as ``{"value": ..., "origin": ...}``. Raises UsageError."""
    try:
        return parse_toml(toml)
    except TomlError as error:
        is_path = "\n" not in toml and toml.endswith(".toml")
        hint = f'a file is given as `pathlib.Path("{toml}")`, or to `Drive.load`' if is_path else WHAT_IT_MAY_SAY
        raise UsageError(f"the profile is not valid TOML: {error}", hint=hint) from error


def change_profile(toml: str, changes: Mapping[str, Any]) -> str:
    """The text with other values, by their full keys such as ``translation.cache.entries``; comments stay.

    What is changed is of origin ``ORIGIN`` unless a change is itself ``{"value": ..., "origin": ...}``. None takes a
    key away; a key that is not there is added. Whether the result is a drive is for the core to say. Raises UsageError.
    """
    if not isinstance(changes, Mapping) or not all(isinstance(key, str) for key in changes):
        raise UsageError(
            f"the changes are {changes!r:.60}: they must map full keys to values",
            hint='like `{"translation.cache.entries": 100_000}`',
        )
    document = tomlkit.parse(toml)
    for full_key, change in changes.items():
        *tables, key = full_key.split(".")
        table: MutableMapping[str, Any] = document
        for name in tables:
            table = table.setdefault(name, tomlkit.table())
            if not isinstance(table, MutableMapping) or "value" in table:
                raise UsageError(
                    f"`{full_key}` is no key of a profile: `{name}` is a value, not a table", hint=WHAT_IT_MAY_SAY
                )
        _set(table, key, full_key, change)
    return document.as_string()


def _set(table: MutableMapping[str, Any], key: str, full_key: str, change: Any) -> None:
    if change is None:
        table.pop(key, None)
        return
    if key not in table or full_key in _LABELS:
        table[key] = _item(full_key, change) if full_key in _LABELS else _with_origin(full_key, change)
        return
    if not isinstance(table[key], MutableMapping) or "value" not in table[key]:
        raise UsageError(f"`{full_key}` is a table, not a value", hint=f"change one of: {', '.join(table[key])}")
    for part, value in _with_origin(full_key, change).items():
        table[key][part] = value


def _with_origin(full_key: str, change: Any) -> tomlkit.items.InlineTable:
    parts = change if isinstance(change, Mapping) else {"value": change, "origin": ORIGIN}
    if parts.keys() != {"value", "origin"}:
        raise UsageError(f"`{full_key}`: {dict(change)!r} is no value", hint="a mapping has a `value` and its `origin`")
    entry = tomlkit.inline_table()
    for name, value in parts.items():
        entry[name] = _item(full_key, value)
    return entry


def _item(full_key: str, value: Any) -> tomlkit.items.Item:
    if isinstance(value, int) and not -MOST <= value <= MOST:
        raise UsageError(f"`{full_key}` is {value}: TOML holds no whole number beyond {MOST}", hint="a smaller one")
    try:
        # A number of numpy's is one of Python's in disguise.
        item: tomlkit.items.Item = tomlkit.item(value.item() if isinstance(value, np.generic) else value)
    except (TOMLKitError, ValueError, TypeError) as error:
        raise UsageError(f"`{full_key}`: {value!r} has no form in TOML", hint="a number, a text or a bool") from error
    return item
