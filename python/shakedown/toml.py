"""TOML as the core reads it, so that one reader decides what a file says."""

from __future__ import annotations

from typing import Any, Final

from shakedown import _core

TomlError: Final = _core.TomlError

FAULTS_HINT: Final = "docs/faults.md tells what may go wrong with a drive"
"""For whoever has written a list of faults that cannot be."""


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a text, dates as text. Raises TomlError, which tells line, column and reason."""
    return _core.parse_toml(text)
