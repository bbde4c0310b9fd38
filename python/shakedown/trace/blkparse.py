"""The text that ``blkparse`` prints, in its default format."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import polars as pl

from shakedown.trace.device import OTHER_ACTION, Action, check_action, one_device
from shakedown.trace.frame import Request, malformed, number, numbered_lines, trace_frame, unaskable
from shakedown.trace.reader import trace_path
from shakedown.units import SECTOR_BYTES

_EVENT: Final = re.compile(
    r"(?P<device>\d+,\d+)\s+\d+\s+\d+\s+(?P<s>\d+)\.(?P<ns>\d{9})\s+\d+\s+(?P<action>[A-Za-z]+)\s+(?P<rwbs>[A-Z]+)"
    r"(?:\s+(?P<sector>-?\d+) \+ (?P<sectors>-?\d+))?(?:\s.*)?"
)
_SUMMARY: Final = re.compile(r"(CPU\d+|Total) \(.*\):")
_MESSAGE: Final = re.compile(r"\d+,\d+\s+\d+\s+\d+\s+\d+\.\d+\s+\d+\s+m\s")


def read_blkparse(path: str | Path, *, action: Action = "issue", device: str | None = None) -> pl.DataFrame:
    """The requests of a text that blkparse printed, with ``TRACE_SCHEMA``.

    ``action`` picks the events that become requests: ``issue`` (D: what went to the drive) or ``queue`` (Q: what was
    asked of the block layer, before merging and sorting). ``device`` (``"8,0"``) is needed where there are several.
    The summary at the end is left out. May be compressed with gzip. Raises UsageError with file, line and reason.
    Warns where the last line has no end and is not that of a whole event.
    """
    path = trace_path(path, "read_blkparse")
    wanted = {"issue": "D", "queue": "Q"}[check_action(action)]
    requests: dict[str, list[Request]] = {}
    for line, text in numbered_lines(path, may_be_cut=lambda text: not text.endswith("]")):
        if _SUMMARY.fullmatch(text):
            break
        if _MESSAGE.match(text):
            continue
        event = _EVENT.fullmatch(text)
        if event is None:
            raise malformed(
                path, line, f"`{text[:60]}` is no event in blkparse's default format", hint="run blkparse without -f"
            )
        if event["action"] == wanted and (request := _request(path, line, event)):
            requests.setdefault(event["device"], []).append(request)
    return trace_frame(path, one_device(path, requests, device), hint=OTHER_ACTION)


def _request(path: Path, line: int, event: re.Match[str]) -> Request | None:
    """None for an event without data that is no flush, such as a command passed through."""
    time_ns = number(path, line, "time", event["s"] + event["ns"])
    length_bytes = number(path, line, "length", event["sectors"] or "0", unit=SECTOR_BYTES)
    verb = _verb(event["rwbs"], length_bytes)
    if verb is None:
        return None
    offset_bytes = number(path, line, "sector", event["sector"] or "0", unit=SECTOR_BYTES)
    place = (0, 0) if verb == "flush" else (offset_bytes, length_bytes)
    if reason := unaskable(verb, *place):
        raise malformed(path, line, reason)
    return (time_ns, verb, *place)


def _verb(rwbs: str, length_bytes: int) -> str | None:
    if length_bytes == 0:
        return "flush" if "F" in rwbs else None
    return next((verb for letter, verb in (("D", "trim"), ("W", "write"), ("R", "read")) if letter in rwbs), None)
