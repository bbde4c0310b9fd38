"""The runs among the folders that somebody gave: ``runs/*`` holds demos, matrices and pages, too."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from shakedown.cli.plain import plain
from shakedown.result.folder import folders_of_runs_deeper_in, runs_in


def runs_of(paths: Sequence[Path]) -> list[Path]:
    """Folders of runs, those of a folder of runs among them; what holds none is told of and left out.

    What leads nowhere stays, and so does all if there is no run at all: whoever reads it says what is wrong.
    """
    found = {path: runs_in(path) if path.exists() else [path] for path in paths}
    if not any(found.values()):
        return list(paths)
    for path, runs in found.items():
        if not runs:
            print(plain(f"left out: `{path}` holds no run"), file=sys.stderr)
        for folder in folders_of_runs_deeper_in(path) if runs else ():
            print(plain(f"left out: `{folder}`, whose runs lie deeper: name it itself"), file=sys.stderr)
    return [run for path in paths for run in found[path]]
