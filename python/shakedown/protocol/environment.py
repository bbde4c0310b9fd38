"""In what surroundings a run was made: versions and kinds, never the name of a machine or a path."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from shakedown.tools.fio.locate import locate_fio


def shakedown_version() -> str:
    """The version of this installation."""
    try:
        return version("shakedown")
    except PackageNotFoundError:
        return "unknown"


def describe_environment(arena: str) -> dict[str, str]:
    """What may bear on the figures and is the same for two runs on the same machine; ``arena`` is its name."""
    fio = {"fio": locate_fio("fio").version} if arena != "model" else {}
    return fio | {
        "python": platform.python_version(),
        "kernel": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
    }
