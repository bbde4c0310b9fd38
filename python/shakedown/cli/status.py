"""From a verdict to an exit status."""

from __future__ import annotations

from typing import Final

from shakedown.analysis.rules import Use
from shakedown.analysis.verdict import Status, Verdict
from shakedown.errors import InconclusiveError

EXIT_FAIL: Final = 1
EXIT_OF: Final[dict[Status, int]] = {"pass": 0, "fail": EXIT_FAIL, "inconclusive": InconclusiveError.exit_status}


def exit_status(verdict: Verdict | None, use: Use | None) -> int:
    """0 passes, 1 fails, 3 inconclusive. With ``use`` only that use counts; else one failure fails, one pass passes.

    None is that of a complete run of which no use is judged: it was not asked for, and is no reason to be unhappy.
    """
    if verdict is None or not verdict.uses:
        return 0
    outcomes = {judgement.status for judgement in verdict.uses if use in (None, judgement.use)}
    if "fail" in outcomes:
        return EXIT_FAIL
    return 0 if "pass" in outcomes else InconclusiveError.exit_status
