"""TOML as the core reads it, so that one reader decides what a file says."""

from __future__ import annotations

from typing import Any, Final

from shakedown import _core

TomlError: Final = _core.TomlError


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a text, dates as text. Raises TomlError, which tells line, column and reason."""
    return _core.parse_toml(text)
