"""``shakedown validate``: predicted beside published, row by row."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from shakedown.cli.document import print_document
from shakedown.cli.output import print_result, tell
from shakedown.cli.plain import plain
from shakedown.cli.status import EXIT_FAIL, EXIT_OF
from shakedown.validate.goal import goals
from shakedown.validate.run import validate as validate_rows
from shakedown.validate.table import to_text


def validate(
    *,
    row: Annotated[
        tuple[str, ...], Parameter(show_default=False, help="only this row of the reference; repeatable")
    ] = (),
    profile: Annotated[str | None, Parameter(show_default=False, help="only rows that this drive answers")] = None,
    json: Annotated[bool, Parameter(show_default=False, help="print one JSON document instead of the table")] = False,
    quiet: Annotated[bool, Parameter(show_default=False, help="no progress on standard error")] = False,
) -> int:
    """Lay what the modelled drives do beside what others measured.

    Plays the protocol, or rebuilds the array, behind each row of reference/published.csv that modelled
    drives can answer. A row that a profile was fitted to, or takes a value from, is marked fit or input
    and is no check.
    Exit status 0: all goals are held; 1: some are missed, and which; 3: nothing of it is answered.

    For example:

    shakedown validate --profile wd40efax
    """
    done = validate_rows(row, profile, (lambda _line: None) if quiet else tell)
    reached = goals(done.answers)
    held = 0 if all(goal.held for goal in reached) else EXIT_FAIL
    status = held if done.answers else EXIT_OF["inconclusive"]
    if json:
        print_document(
            "validate",
            {
                "rows": [answer.to_json() for answer in done.answers],
                "unanswered": [{"row": name, "why": why} for name, why in done.unanswered.items()],
                "goals": [goal.to_json() for goal in reached],
                "exit_status": status,
            },
        )
    else:
        print_result(plain(to_text(done)))
    return status
