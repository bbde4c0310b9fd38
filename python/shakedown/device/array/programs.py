"""Other people's programs: run, and what they said when they failed."""

from __future__ import annotations

import os
import shutil
import subprocess

from shakedown.errors import EnvironmentFailure

_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def require(programs: dict[str, str]) -> None:
    """Raise EnvironmentFailure unless all are here; values are the packages that have them."""
    missing = sorted({package for name, package in programs.items() if shutil.which(name, path=_PATH) is None})
    if missing:
        raise EnvironmentFailure(f"an array needs {', '.join(missing)}", hint=f"apt install {' '.join(missing)}")


def call(*command: str) -> str:
    """What a program prints. Raises EnvironmentFailure with its own words when it fails."""
    done = attempt(*command)
    if done.returncode != 0:
        words = " ".join(f"{done.stderr} {done.stdout}".split()) or f"exit status {done.returncode}"
        raise EnvironmentFailure(f"`{' '.join(command[:3])} ...` failed: {words[:500]}", hint="`dmesg` may tell why")
    return done.stdout


def attempt(*command: str) -> subprocess.CompletedProcess[str]:
    """The same where failure is an answer. In a session of its own: a Ctrl-C is ours to act upon."""
    environment = os.environ | {"LC_ALL": "C", "PATH": _PATH}
    try:
        return subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            start_new_session=True,
        )
    except OSError as error:
        raise EnvironmentFailure(f"`{command[0]}` cannot be run: {error.strerror}") from error
