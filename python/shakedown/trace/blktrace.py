"""The binary files that ``blktrace`` writes, one a CPU: ``struct blk_io_trace`` of linux/blktrace_api.h, version 7."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from shakedown.errors import UsageError
from shakedown.trace.device import OTHER_ACTION, Action, check_action, one_device
from shakedown.trace.frame import MOST, OTHER_READERS, Request, trace_frame, unaskable
from shakedown.trace.packed import unpacked
from shakedown.trace.reader import trace_path
from shakedown.units import SECTOR_BYTES

_MAGIC: Final = 0x65617400
_VERSION: Final = 7
_FIELDS: Final = "IIQQIIIIIHH"
_RECORD_BYTES: Final = struct.calcsize("=" + _FIELDS)

_CUT_OFF: Final = "a file cut off while recording ends so: record it again"
_DAMAGED: Final = "the file is damaged from there on: copy it again, or record it again"
_OTHER_VERSION: Final = f"record it again on a Linux whose blktrace writes version {_VERSION}"

# The lower half of an action says what happened; the bit of a cgroup may be set besides.
_ACTION_MASK: Final = 0xFFFF & ~(1 << 8)
_ACTIONS: Final = {"queue": 1, "issue": 7}
# The upper half says to what kind of request.
_WRITE, _FLUSH, _PASSED_THROUGH, _NOTIFY, _DISCARD = (1 << (16 + bit) for bit in (1, 2, 9, 10, 13))
_READ: Final = 1 << 16


class _Event(NamedTuple):
    magic: int
    sequence: int
    time_ns: int
    sector: int
    bytes: int
    action: int
    pid: int
    device: int
    cpu: int
    error: int
    attached_bytes: int

    @property
    def device_name(self) -> str:
        """Major and minor number as blkparse writes them."""
        return f"{self.device >> 20},{self.device & 0xFFFFF}"

    @property
    def verb(self) -> str | None:
        """None for an event that is no request for data."""
        if self.action & (_NOTIFY | _PASSED_THROUGH):
            return None
        if self.bytes == 0:
            return "flush" if self.action & _FLUSH else None
        kinds = ((_DISCARD, "trim"), (_WRITE, "write"), (_READ, "read"))
        return next((verb for bit, verb in kinds if self.action & bit), None)

    def request(self, verb: str) -> Request:
        # A flush may name no sector: all ones.
        return (self.time_ns, verb, *((0, 0) if verb == "flush" else (SECTOR_BYTES * self.sector, self.bytes)))


def read_blktrace(path: str | Path, *, action: Action = "issue", device: str | None = None) -> pl.DataFrame:
    """The requests that blktrace recorded, with ``TRACE_SCHEMA``.

    ``path`` is what blktrace was told with ``-o`` (all of ``PATH.blktrace.N`` are read) or one of those files.
    ``action`` and ``device`` as for ``read_blkparse``. May be compressed with gzip. Raises UsageError with file, place
    and reason.
    """
    path = trace_path(path, "read_blktrace")
    wanted = _ACTIONS[check_action(action)]
    requests: dict[str, list[Request]] = {}
    for file in _files(path):
        for at, event in _events(file):
            if event.action & _ACTION_MASK == wanted and event.verb:
                request = event.request(event.verb)
                if reason := unaskable(*request[1:]):
                    raise _malformed(file, at, reason, hint=_DAMAGED)
                requests.setdefault(event.device_name, []).append(request)
    return trace_frame(path, one_device(path, requests, device), hint=OTHER_ACTION)


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    name = re.compile(re.escape(path.name) + r"\.blktrace\.\d+")
    found = sorted(file for file in path.parent.glob("*.blktrace.*") if name.fullmatch(file.name))
    if not found:
        raise UsageError(
            f"there is no `{path}` and no `{path}.blktrace.0`", hint="give what blktrace was told with `-o`"
        )
    return found


def _events(path: Path) -> Iterator[tuple[int, _Event]]:
    """With the byte at which each begins."""
    data = unpacked(path)
    record = struct.Struct(_byte_order(path, data) + _FIELDS)
    at = 0
    while at < len(data):
        if at + _RECORD_BYTES > len(data):
            raise _malformed(path, at, "the file ends within a record", hint=_CUT_OFF)
        event = _Event._make(record.unpack_from(data, at))
        if event.magic != _MAGIC | _VERSION:
            raise _malformed(path, at, f"no record begins here: {event.magic:#010x}", hint=_DAMAGED)
        if event.time_ns > MOST:
            raise _malformed(path, at, f"the time {event.time_ns} is beyond {MOST}", hint=_DAMAGED)
        attached_at = at + _RECORD_BYTES
        if attached_at + event.attached_bytes > len(data):
            raise _malformed(path, attached_at, "the file ends within what is attached to a record", hint=_CUT_OFF)
        yield at, event
        at = attached_at + event.attached_bytes


def _byte_order(path: Path, data: bytes) -> str:
    """The machine that recorded it may have had the other order."""
    if not data:
        return "<"
    for order in "<>":
        magic = struct.unpack_from(order + "I", data)[0] if len(data) >= 4 else 0
        if magic & ~0xFF == _MAGIC:
            if magic & 0xFF != _VERSION:
                raise _malformed(
                    path, 0, f"version {magic & 0xFF} of the records; read is version {_VERSION}", hint=_OTHER_VERSION
                )
            return order
    raise _malformed(path, 0, "this is no file of blktrace", hint=OTHER_READERS)


def _malformed(path: Path, at: int, reason: str, *, hint: str) -> UsageError:
    return UsageError(f"`{path}` byte {at}: {reason}", hint=hint)
