"""Documents that a later Shakedown may write otherwise."""

from __future__ import annotations

from pathlib import Path

from shakedown.errors import UsageError


def refuse_newer(told: object, known: int, path: Path) -> None:
    """Raise UsageError if the format version that ``path`` tells is a later one, ValueError if it never was any."""
    if not isinstance(told, int) or isinstance(told, bool) or told < 1:
        raise ValueError(f"its `format_version` is {told!r:.60}")
    if told > known:
        raise UsageError(
            f"`{path}` has format version {told}; this Shakedown reads up to {known}",
            hint="it was written by a newer Shakedown: upgrade this one",
        )
