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
    ways_on = {path: _way_on(path) for path, runs in found.items() if not runs}
    if not any(found.values()):
        for path, way_on in ways_on.items():
            if way_on is not None:
                raise UsageError(f"`{path}` holds no run yet: it was interrupted, or goes on still", hint=way_on)
        return list(paths)
    for path, runs in found.items():
        if not runs:
            yet = f" yet: {way_on}" if (way_on := ways_on[path]) is not None else ""
            print(plain(f"left out: `{path}` holds no run{yet}"), file=sys.stderr)
        for folder in folders_of_runs_deeper_in(path) if runs else ():
            print(plain(f"left out: `{folder}`, whose runs lie deeper: name it itself"), file=sys.stderr)
    return [run for path in paths for run in found[path]]


def _way_on(path: Path) -> str | None:
    """What goes on with that of which this is the folder, where it was interrupted before it has found anything."""
    if not path.is_dir():
        return None
    # Nobody whose runs are there waits for these.
    from shakedown.array.cut_off import cut_off_in  # noqa: PLC0415
    from shakedown.protocol.in_lab import LabOrder  # noqa: PLC0415

    if cut_off_in(path) is not None:
        command = "rebuild"
    elif LabOrder.is_in(path):
        command = "run"
    else:
        return None
    return f"go on with it: `{shlex.join(('shakedown', command, '--resume', str(path)))}`"
