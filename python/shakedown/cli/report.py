"""``shakedown report``: runs as one page, and their summary once more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from shakedown.cli.document import print_document
from shakedown.cli.output import print_result
from shakedown.cli.own_file import refuse_other_file
from shakedown.cli.plain import plain
from shakedown.cli.runs import runs_of
from shakedown.report.html import write
from shakedown.report.summary import render
from shakedown.result.folder import read_run
from shakedown.result.under_way import with_step_under_way

# What the page says of itself in its head.
_GENERATOR: Final = b'<meta name="generator" content="Shakedown">'


def report(
    *runs: Path,
    out: Annotated[Path, Parameter(("--out", "-o"), help="the page to write; an earlier report is replaced")] = Path(
        "report.html"
    ),
    json: Annotated[
        bool, Parameter(show_default=False, help="print one JSON document instead of summary and path")
    ] = False,
) -> None:
    """Write the report of one run or more as one page that opens offline, and print their summary and its path.

    For example:

    shakedown report runs/cliff-wd40efax -o report.html

    Parameters
    ----------
    runs
        Folders of runs, or of several, like a demo's. The run of a baseline is shown with its candidate.
    """
    refuse_other_file(
        out, lambda head: _GENERATOR in head, "a report of Shakedown", hint="choose another path with --out"
    )
    found = [with_step_under_way(read_run(folder)) for folder in runs_of(runs)]
    page = write(found, out)
    if json:
        print_document("report", {"report": str(page), "runs": [str(run.path) for run in found]})
    else:
        print_result(plain(f"{render(found)}\n{page}\n"))
