"""``shakedown report``: runs as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from shakedown.cli.document import print_document
from shakedown.errors import EnvironmentFailure, UsageError
from shakedown.report.html import write

# What the page says of itself in its head.
_GENERATOR: Final = b'<meta name="generator" content="Shakedown">'
_HEAD_BYTES: Final = 4096


def report(
    *runs: Path,
    out: Annotated[Path, Parameter(("--out", "-o"), help="the page to write; an earlier report is replaced")] = Path(
        "report.html"
    ),
    json: Annotated[
        bool, Parameter(show_default=False, help="print one JSON document instead of the page's path")
    ] = False,
) -> None:
    """Write the report of one run or more as one page that opens offline.

    For example:

    shakedown report runs/cliff-wd40efax -o report.html

    Parameters
    ----------
    runs
        Folders of runs. The run of a baseline is shown with its candidate.
    """
    _refuse_other_file(out)
    page = write(runs, out)
    if json:
        print_document("report", {"report": str(page), "runs": [str(run) for run in runs]})
    else:
        print(page)


def _refuse_other_file(out: Path) -> None:
    """Raise UsageError unless there is nothing at ``out``, or a report."""
    if not out.exists() and not out.is_symlink():
        return
    try:
        is_report = out.is_file() and _GENERATOR in _head(out)
    except OSError as error:
        raise EnvironmentFailure(f"`{out}` cannot be examined: {error.strerror}") from error
    if not is_report:
        raise UsageError(f"`{out}` exists and is not a report of Shakedown", hint="choose another path with --out")


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES)
