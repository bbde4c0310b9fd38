"""``shakedown compare``: runs beside each other."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from shakedown.cli.output import print_result
from shakedown.cli.runs import runs_of
from shakedown.report.compare import compare as compare_runs
from shakedown.result.folder import read_run
from shakedown.result.under_way import with_step_under_way


def compare(
    *runs: Path,
    json: Annotated[bool, Parameter(show_default=False, help="print one JSON document instead of tables")] = False,
) -> None:
    """Lay the findings of several runs side by side, each with its ratio to the first.

    For example:

    shakedown compare runs/cliff-wd40efax runs/cliff-wd40efrx

    Parameters
    ----------
    runs
        Folders of runs, or of several, like a demo's. The run of a baseline is compared as well.
    """
    comparison = compare_runs([with_step_under_way(read_run(run)) for run in runs_of(runs)])
    if json:
        print_result(json_text.dumps(comparison.to_json(), indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    else:
        print_result(comparison.to_text())
