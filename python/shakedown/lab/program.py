"""Other people's programs while the lab is built: those that are missing, and how one of them failed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from shakedown.errors import EnvironmentFailure
from shakedown.lab.room import hint_if_full

Say = Callable[[str], None]


# What apt cannot fetch has a new version, or there is no way to it.
HINT_GET: Final = "is the network there? if it is: apt update"
_HEADERS: Final = Path("/usr/include")
# What we start ends with us even if we are killed: setpriv becomes the program.
_ENDS_WITH_US: Final = ("setpriv", "--pdeathsig", "TERM")
# Of a program that has failed: what unpacks on a full disk has a line for each of 25,000 files.
_LAST_LINES: Final = 20


def require(packages_of: Mapping[str, str]) -> None:
    """Raise EnvironmentFailure unless all programs and C headers (keys) are here; it names their packages (values)."""
    missing = {name: package for name, package in packages_of.items() if not _is_here(name)}
    if missing:
        raise EnvironmentFailure(
            f"missing to build the lab: {', '.join(missing)}",
            hint=f"apt install {' '.join(sorted(set(missing.values())))}",
        )


def _is_here(name: str) -> bool:
    return (_HEADERS / name).is_file() if name.endswith(".h") else shutil.which(name) is not None


def run(command: Sequence[str | Path], *, cwd: Path, hint: str = "") -> str:
    """Run a program to its end and return its standard output. Raises EnvironmentFailure with its last words."""
    return follow(command, cwd=cwd, hint=hint, on_line=None)


def follow(command: Sequence[str | Path], *, cwd: Path, hint: str = "", on_line: Callable[[str], None] | None) -> str:
    """As ``run``; every line goes to ``on_line`` as it comes, errors included, if that is given.

    The program ends with us, however we end, and what it has started a little later: the cache's lock tells of that.
    """
    process = subprocess.Popen(
        [*_ENDS_WITH_US, *(os.fspath(part) for part in command)],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if on_line else subprocess.PIPE,
        text=True,
        errors="replace",
        env=os.environ | {"LC_ALL": "C.UTF-8"},
        close_fds=False,
        start_new_session=True,
    )
    assert process.stdout is not None, "it is piped"
    try:
        lines = []
        if on_line:
            for line in process.stdout:
                lines.append(line)
                on_line(line)
            errors = "".join(lines)
            process.wait()
        else:
            output, errors = process.communicate()
            lines.append(output)
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        raise
    if process.returncode:
        errors = "\n".join(errors.strip().splitlines()[-_LAST_LINES:])
        # Many a program that finds no room says something else: what was to be there is missing.
        hint = hint_if_full(cwd, errors) or hint
        words = " ".join(os.fspath(part) for part in command[:4])
        raise EnvironmentFailure(f"`{words} ...` failed (status {process.returncode}):\n{errors}", hint=hint)
    return "".join(lines)
