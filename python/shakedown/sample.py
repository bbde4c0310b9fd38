"""One row of ``samples.parquet``: what happened in one interval of one step in one direction."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import polars as pl

Direction = Literal["read", "write", "trim"]

SHORTEST_INTERVAL_NS: Final = 10_000_000
"""Rows of less tell of single requests, and a long run has more of them than memory holds."""


class Sample(NamedTuple):
    """Counts and latencies of one interval. An interval without a completion is a row too: that is what a stall is.

    Times are nanoseconds since the start of the run (virtual or wall); latencies are those of the requests that
    *completed* in the interval, and None where there were none.
    """

    step: str
    direction: Direction
    start_ns: int
    duration_ns: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody asks a sample for
    bytes: int
    latency_mean_ns: float | None
    latency_p50_ns: int | None
    latency_p99_ns: int | None
    latency_p999_ns: int | None
    latency_max_ns: int | None

    def untimed(self) -> Sample:
        """The same without latencies, where they are known to be wrong."""
        return self._replace(
            latency_mean_ns=None, latency_p50_ns=None, latency_p99_ns=None, latency_p999_ns=None, latency_max_ns=None
        )

    @property
    def iops(self) -> float:
        """Completions per second."""
        return self.count * 1e9 / self.duration_ns if self.duration_ns else 0.0


SAMPLE_SCHEMA: Final = pl.Schema(
    {
        "step": pl.String,
        "direction": pl.String,
        "start_ns": pl.Int64,
        "duration_ns": pl.Int64,
        "count": pl.Int64,
        "bytes": pl.Int64,
        "latency_mean_ns": pl.Float64,
        "latency_p50_ns": pl.Int64,
        "latency_p99_ns": pl.Int64,
        "latency_p999_ns": pl.Int64,
        "latency_max_ns": pl.Int64,
    }
)
