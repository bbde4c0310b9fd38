"""What a rebuild keeps in its run folder beside findings: the order, the answer of each seed, who waits how long."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from shakedown.errors import UsageError
from shakedown.result.read import read_regular

ANSWERS_NAME: Final = "rebuild.json"
"""In ``raw/``."""


def read_answers(folder: Path) -> dict[str, Any]:
    """Those of the run in ``folder``. Raises UsageError where it is no rebuild."""
    try:
        content = read_regular(folder / "raw" / ANSWERS_NAME, "give the folder of a rebuild")
        answers: dict[str, Any] = json.loads(content)
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise UsageError(f"`{folder}` tells of no rebuild", hint="shakedown rebuild makes such runs") from error
    return answers
