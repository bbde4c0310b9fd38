"""The request log of a load as a frame: one row a completed request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from shakedown._core import RequestColumns

VERBS: Final[pl.DataType] = pl.Enum(["read", "write", "trim", "flush"])
STATUSES: Final[pl.DataType] = pl.Enum(["good", "out-of-range", "medium-error", "gone", "aborted"])

REQUEST_SCHEMA: Final = pl.Schema(
    {
        "submitted_ns": pl.Int64(),
        "completed_ns": pl.Int64(),
        "latency_ns": pl.Int64(),
        "verb": VERBS,
        "offset_bytes": pl.Int64(),
        "bytes": pl.Int64(),
        "job": pl.UInt16(),
        "status": STATUSES,
    }
)
"""One row a request, in the order of completion.

``submitted_ns`` is when the job handed it over, even if it then waited in the host for room in the drive's queue;
``completed_ns`` when the host heard of its completion, both nanoseconds of virtual time since the drive was made;
``latency_ns`` their difference. ``offset_bytes`` and ``bytes`` are 0 for a flush. ``job`` is the place of its job in
the job file, from 0. A request whose ``status`` is not ``good`` has failed.
"""


def requests_frame(columns: RequestColumns) -> pl.DataFrame:
    """The frame of what ``Load.take_requests`` took, with the columns of ``REQUEST_SCHEMA``.

    Times and sizes are not copied: the frame looks into the bytes that the core has written.
    """
    submitted_ns = np.frombuffer(columns.submitted_ns, "<i8")
    completed_ns = np.frombuffer(columns.completed_ns, "<i8")
    return pl.DataFrame(
        {
            "submitted_ns": submitted_ns,
            "completed_ns": completed_ns,
            "latency_ns": completed_ns - submitted_ns,
            "verb": pl.Series(np.frombuffer(columns.verb, "u1")).cat.to(VERBS),
            "offset_bytes": np.frombuffer(columns.offset_bytes, "<i8"),
            "bytes": np.frombuffer(columns.bytes, "<i8"),
            "job": np.frombuffer(columns.job, "<u2"),
            "status": pl.Series(np.frombuffer(columns.status, "u1")).cat.to(STATUSES),
        }
    )
