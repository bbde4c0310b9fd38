"""Comma-separated requests under the names of ``TRACE_SCHEMA``."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from shakedown.trace.frame import TRACE_SCHEMA, malformed, trace_frame
from shakedown.trace.reader import trace_path
from shakedown.trace.table import check_requests, read_table, whole_numbers, words


def read_csv(path: str | Path) -> pl.DataFrame:
    """The requests of a CSV file whose header names the columns of ``TRACE_SCHEMA``; others are left out.

    ``submitted_ns,verb,offset_bytes,bytes`` and then, for example, ``1500000,write,4096,8192``. May be compressed
    (gzip, zstd). Raises UsageError with file, line and reason. Warns where the last line has no end and a number in its
    last field, since nothing tells a number that was cut off.
    """
    path = trace_path(path, "read_csv")
    table = read_table(path, last_matters=TRACE_SCHEMA)
    missing = [f"`{name}`" for name in TRACE_SCHEMA if name not in table.columns]
    if missing:
        raise malformed(path, 1, f"no column {', '.join(missing)}", hint=f"the header names {', '.join(TRACE_SCHEMA)}")
    # polars gives the second of a name another.
    if twice := [f"`{name}`" for name in TRACE_SCHEMA if f"{name}_duplicated_0" in table.columns]:
        raise malformed(path, 1, f"more than one column {', '.join(twice)}", hint="leave out the other one")
    verbs = {str(verb): str(verb) for verb in TRACE_SCHEMA["verb"].categories}  # type: ignore[attr-defined]
    columns = {
        "submitted_ns": whole_numbers(path, table, "submitted_ns"),
        "verb": words(path, table, "verb", verbs),
        "offset_bytes": whole_numbers(path, table, "offset_bytes"),
        "bytes": whole_numbers(path, table, "bytes"),
    }
    check_requests(path, table, columns)
    return trace_frame(path, columns)
