"""smartctl, asked who a drive is. A drive that does not answer must not stop us."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from shakedown.analysis.identify.facts import Facts
from shakedown.analysis.identify.smart import smart_facts

LIMIT_S: Final = 20.0
_REAP_S: Final = 1.0
_LARGEST_BYTES: Final = 4 << 20
_UNOPENED: Final = 0x2
"""Bits of the exit status tell of the drive's health; only this one says that there was no drive to ask."""


def ask_smartctl(device: Path, limit_s: float = LIMIT_S) -> Facts:
    """What smartctl says of a drive; what keeps it from saying anything is in ``unread``. Never fails."""
    name = device.name
    program = shutil.which("smartctl")
    if program is None:
        return Facts(name=name, unread=("smartctl is not installed: apt install smartmontools",))
    with tempfile.TemporaryFile() as output:
        try:
            child = subprocess.Popen(
                [program, "--json=c", "--info", "--", str(device)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
                start_new_session=True,
            )
        except OSError as error:
            return Facts(name=name, unread=(f"smartctl cannot be started: {error.strerror}",))
        try:
            status = child.wait(limit_s)
        except subprocess.TimeoutExpired:
            _abandon(child)
            return Facts(name=name, unread=(f"smartctl did not answer within {limit_s:g} s",))
        output.seek(0)
        return _facts(output.read(_LARGEST_BYTES), status, name)


def _abandon(child: subprocess.Popen[bytes]) -> None:
    """Kill it; where it is stuck in the kernel, which no signal ends, leave it behind."""
    child.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(_REAP_S)


def _facts(output: bytes, status: int, name: str) -> Facts:
    try:
        facts = smart_facts(json.loads(output), name)
    except (ValueError, RecursionError):
        return Facts(name=name, unread=(f"smartctl printed no JSON (exit status {status}); version 7 and later do",))
    if status & _UNOPENED and not facts.unread:
        return facts.completed_by(Facts(name=name, unread=("smartctl could not open the drive",)))
    return facts
