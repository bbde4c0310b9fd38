"""fio's iolog, versions 2 and 3: what ``write_iolog`` writes and ``read_iolog`` replays."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from shakedown.errors import UsageError
from shakedown.trace.frame import (
    ONE_LINE_A_REQUEST,
    OTHER_READERS,
    Request,
    malformed,
    number,
    numbered_lines,
    trace_frame,
    unaskable,
)
from shakedown.trace.reader import trace_path

_VERSIONS: Final = {"fio version 2 iolog": 2, "fio version 3 iolog": 3}
_VERBS: Final = {"read": "read", "write": "write", "trim": "trim", "sync": "flush", "datasync": "flush"}
_BEFORE: Final = ("add", "open")
_FILE_ACTIONS: Final = {*_BEFORE, "close"}


def read_iolog(path: str | Path, *, file: str | None = None) -> pl.DataFrame:
    """The requests of an iolog, with ``TRACE_SCHEMA``; those to ``file``, if the log knows several.

    Version 3 tells microseconds. Version 2 knows no times but those of its ``wait`` lines, which fio takes for
    milliseconds since the start (its manual says otherwise); without any, only a replay with a depth makes sense.
    A sync becomes a flush. May be compressed with gzip. Raises UsageError with file, line and reason. Warns where the
    last line ends in a number and has no end.
    """
    path = trace_path(path, "read_iolog")
    lines = numbered_lines(path, may_be_cut=lambda text: text[-1].isdecimal())
    number_, first = next(lines, (0, ""))
    if not first:
        raise UsageError(f"`{path}` is empty", hint=ONE_LINE_A_REQUEST)
    version = _VERSIONS.get(first)
    if version is None:
        raise malformed(
            path,
            number_,
            "the first line is neither `fio version 2 iolog` nor `fio version 3 iolog`",
            hint=OTHER_READERS,
        )
    requests: list[Request] = []
    files: set[str] = set()
    done: set[tuple[str, str]] = set()
    now_ns = 0
    for line, text in lines:
        fields = text.split()
        if text in _VERSIONS:
            raise malformed(
                path, line, "a second log begins: fio appends to a file that is there", hint="split the file"
            )
        if version == 3:
            now_ns = number(path, line, "time", fields.pop(0), unit=1000)
        match fields:
            case [name, action] if action in _FILE_ACTIONS:
                done.add((name, action))
            case [_, "wait", until_ms, *_] if version == 2:
                now_ns = max(now_ns, number(path, line, "wait", until_ms, unit=1_000_000))
            case [name, action, offset, length] if action in _VERBS:
                files.add(name)
                if missing := [before for before in _BEFORE if (name, before) not in done]:
                    raise malformed(path, line, f"no line before says `{name} {missing[0]}`, as fio wants it")
                if file in (None, name):
                    requests.append(_request(path, line, now_ns, _VERBS[action], offset, length))
            case _:
                raise malformed(path, line, f"`{text}` is no line of an iolog of version {version}")
    _one_file(path, files, file)
    return trace_frame(path, requests)


def _request(path: Path, line: int, now_ns: int, verb: str, offset: str, length: str) -> Request:
    place = number(path, line, "offset", offset), number(path, line, "length", length)
    # fio notes where a sync happened to find the file.
    place = (0, 0) if verb == "flush" else place
    if reason := unaskable(verb, *place):
        raise malformed(path, line, reason)
    return (now_ns, verb, *place)


def _one_file(path: Path, files: set[str], file: str | None) -> None:
    names = ", ".join(f"`{name}`" for name in sorted(files))
    if file is not None and file not in files:
        raise UsageError(f"`{path}` holds no request to `{file}`", hint=f"it holds some to {names or 'no file'}")
    if file is None and len(files) > 1:
        raise UsageError(f"`{path}` holds requests to several files: {names}", hint="choose one: `file=...`")
