"""The runs among the folders that somebody gave: ``runs/*`` holds demos, matrices and pages, too."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from shakedown.cli.plain import plain
from shakedown.errors import UsageError
from shakedown.result.folder import folders_of_runs_deeper_in, runs_in


def runs_of(paths: Sequence[Path]) -> list[Path]:
    """Folders of runs, those of a folder of runs among them; what holds none is told of and left out.

    What leads nowhere stays, and so does all if there is no run at all: whoever reads it says what is wrong.
    """
    found = {path: runs_in(path) if path.exists() else [path] for path in paths}
    for path, runs in found.items():
        if not runs:
            _refuse_interrupted(path)
    if not any(found.values()):
        return list(paths)
    for path, runs in found.items():
        if not runs:
            print(plain(f"left out: `{path}` holds no run"), file=sys.stderr)
        for folder in folders_of_runs_deeper_in(path) if runs else ():
            print(plain(f"left out: `{folder}`, whose runs lie deeper: name it itself"), file=sys.stderr)
    return [run for path in paths for run in found[path]]


def _refuse_interrupted(path: Path) -> None:
    """Raise UsageError for a folder of what has found nothing yet, and is to be gone on with."""
    # Nobody whose runs are there waits for these.
    from shakedown.array.in_lab import is_cut_off_in_lab  # noqa: PLC0415
    from shakedown.array.parts import is_cut_off_in_model  # noqa: PLC0415
    from shakedown.array.state import State  # noqa: PLC0415
    from shakedown.protocol.in_lab import LabOrder  # noqa: PLC0415

    commands = {
        "rebuild": is_cut_off_in_lab(path) or is_cut_off_in_model(path) or State.is_in(path),
        "run": LabOrder.read(path) is not None,
    }
    for command, is_interrupted in commands.items():
        if is_interrupted:
            way_on = shlex.join(("shakedown", command, "--resume", str(path)))
            raise UsageError(
                f"the {command} in `{path}` has been interrupted, or goes on still: it has found nothing yet",
                hint=f"go on with it: `{way_on}`",
            )
