"""The layout of the block traces of Microsoft Research Cambridge (Narayanan et al., FAST 2008)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from shakedown.errors import UsageError
from shakedown.trace.frame import MOST, malformed, trace_frame
from shakedown.trace.reader import trace_path
from shakedown.trace.table import LINE, check_requests, read_table, whole_numbers, words

_NAMES: Final = ["timestamp", "host", "disk", "type", "offset", "size", "response_time"]
_TICK_NS: Final = 100


def read_msr(path: str | Path) -> pl.DataFrame:
    """The requests of one volume, with ``TRACE_SCHEMA``; times count from its first request.

    Lines without a header: ``timestamp,host,disk,type,offset,size,response time``, times in ticks of 100 ns (Windows
    file time), ``Read`` or ``Write``, bytes. May be compressed as published. Raises UsageError with file,
    line and reason.
    """
    path = trace_path(path, "read_msr")
    table = read_table(path, names=_NAMES)
    for line, first in table.select(LINE, "timestamp").head(1).iter_rows():
        if not (first or "").strip().isdecimal():
            raise malformed(
                path, line, f"`{first}` is no time: is this a header?", hint="leave it out: the layout has none"
            )
    volumes = table.select("host", "disk").unique()
    if volumes.height > 1:
        raise UsageError(f"`{path}` holds requests to {volumes.height} volumes", hint="split it: one file a volume")
    ticks = whole_numbers(path, table, "timestamp")
    columns = {
        "verb": words(path, table, "type", {"Read": "read", "Write": "write"}),
        "offset_bytes": whole_numbers(path, table, "offset"),
        "bytes": whole_numbers(path, table, "size"),
    }
    check_requests(path, table, columns)
    # File time in nanoseconds would not fit.
    since = ticks - ticks.min() if len(ticks) else ticks
    for line, tick in table.filter(since > MOST // _TICK_NS).select(LINE, "timestamp").head(1).iter_rows():
        reason = f"the time `{tick}` is more than {MOST // _TICK_NS} ticks behind the first"
        raise malformed(path, line, reason)
    return trace_frame(path, {"submitted_ns": since * _TICK_NS, **columns})
