"""smartctl, asked who a drive is. A drive that does not answer must not stop us."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from shakedown.analysis.identify.facts import Facts
from shakedown.analysis.identify.smart import smart_facts
from shakedown.tools.ask import LIMIT_S, Question, Unanswered

_UNOPENED: Final = 0x2
"""Bits of the exit status tell of the drive's health; only this one says that there was no drive to ask."""


def ask_smartctl(device: Path, limit_s: float = LIMIT_S) -> Facts:
    """What smartctl says of a drive; what keeps it from saying anything is in ``unread``. Never fails."""
    name = device.name
    try:
        with Question("smartctl", "--json=c", "--info", "--", str(device), limit_s=limit_s) as question:
            answer = question.wait()
    except Unanswered as why:
        return Facts(name=name, unread=(f"smartctl {why}",))
    return _facts(answer.output, answer.status, name)


def _facts(output: bytes, status: int, name: str) -> Facts:
    try:
        facts = smart_facts(json.loads(output), name)
    except (ValueError, RecursionError):
        return Facts(name=name, unread=(f"smartctl printed no JSON (exit status {status}); version 7 and later do",))
    if status & _UNOPENED and not facts.unread:
        return facts.completed_by(Facts(name=name, unread=("smartctl could not open the drive",)))
    return facts
