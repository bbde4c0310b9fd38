"""Where fio is, and what it can do."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from shakedown.errors import EnvironmentFailure

_INSTALL_HINT: Final = "install fio 3 or later: `apt install fio`, `dnf install fio` or `brew install fio`"
_ANSWER_LIMIT_S: Final = 20


@dataclass(frozen=True)
class Fio:
    """An installed fio: its path, its version such as ``3.33``, and the I/O engines it was built with."""

    path: Path
    version: str
    engines: frozenset[str]

    def require_engine(self, engine: str, hint: str) -> None:
        """Raise EnvironmentFailure with ``hint`` unless this fio was built with ``engine``."""
        if engine not in self.engines:
            raise EnvironmentFailure(f"{self.path} has no I/O engine `{engine}`", hint=hint)


def locate_fio(program: str | Path = "fio") -> Fio:
    """Find fio on PATH (or at a path) and ask it about itself, once a process. Raises EnvironmentFailure."""
    found = shutil.which(program)
    if found is None:
        raise EnvironmentFailure(f"`{program}` is not installed", hint=_INSTALL_HINT)
    return _asked(found, Path(found).stat().st_mtime_ns)


@cache
def _asked(found: str, _written_ns: int) -> Fio:
    """What a program says of itself; one that was replaced since is asked again."""
    answer = _ask(found, "--version")
    version = re.search(r"fio-(\d+)\.(\d+)", answer)
    if version is None:
        raise EnvironmentFailure(f"{found} does not answer like fio: {answer[:80]!r}", hint=_INSTALL_HINT)
    if int(version[1]) < 3:
        raise EnvironmentFailure(f"{found} is fio {version[1]}.{version[2]}, too old", hint=_INSTALL_HINT)
    engines = frozenset(line.strip() for line in _ask(found, "--enghelp").splitlines()[1:])
    return Fio(Path(found), f"{version[1]}.{version[2]}", engines)


def _ask(program: str, question: str) -> str:
    try:
        answer = subprocess.run(
            [program, question], capture_output=True, text=True, errors="replace", timeout=_ANSWER_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFailure(f"{program} {question}: {error}", hint=_INSTALL_HINT) from error
    return answer.stdout
