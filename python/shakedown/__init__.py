"""Shakedown: a drive, an array or a NAS on its worst day, before anybody trusts it with data.

``Drive`` and what belongs to it are for those who study disks: docs/python.md. They are imported when they are first
asked for, so that the command line need not wait for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from shakedown import trace
    from shakedown.api.drive import INTERVAL_SCHEMA, LOSS_SCHEMA, Drive
    from shakedown.api.rebuild import rebuild
    from shakedown.data import list_profiles
    from shakedown.errors import ShakedownError, UsageError
    from shakedown.requests import REQUEST_SCHEMA

__all__ = [
    "INTERVAL_SCHEMA",
    "LOSS_SCHEMA",
    "REQUEST_SCHEMA",
    "Drive",
    "ShakedownError",
    "UsageError",
    "list_profiles",
    "rebuild",
    "trace",
]

_HOMES: Final = {
    "Drive": "shakedown.api.drive",
    "INTERVAL_SCHEMA": "shakedown.api.drive",
    "LOSS_SCHEMA": "shakedown.api.drive",
    "REQUEST_SCHEMA": "shakedown.requests",
    "ShakedownError": "shakedown.errors",
    "UsageError": "shakedown.errors",
    "list_profiles": "shakedown.data",
    "rebuild": "shakedown.api.rebuild",
}


def __getattr__(name: str) -> Any:
    if name == "trace":
        return import_module("shakedown.trace")
    if name not in _HOMES:
        raise AttributeError(f"module `shakedown` has no attribute `{name}`")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
