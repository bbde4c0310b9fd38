"""In what surroundings a run was made: versions and kinds, never the name of a machine or a path."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version


def shakedown_version() -> str:
    """The version of this installation."""
    try:
        return version("shakedown")
    except PackageNotFoundError:
        return "unknown"


def describe_environment() -> dict[str, str]:
    """What may bear on the figures and is the same for two runs on the same machine."""
    return {
        "shakedown": shakedown_version(),
        "python": platform.python_version(),
        "kernel": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
    }
