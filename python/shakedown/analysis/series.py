"""One step of a run as arrays: all directions of an interval added up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shakedown.units import NS_PER_S

Floats = NDArray[np.float64]
_NEVER_NS: Final = 2**63 - 1


@dataclass(frozen=True)
class Loads:
    """The samples of a run, in SAMPLE_SCHEMA, and by name when the load of a step was ended that had no end itself."""

    samples: pl.DataFrame
    ends_ns: Mapping[str, int] = field(default_factory=dict)

    def rows(self, step: str) -> pl.DataFrame:
        """The samples of a step."""
        return self.samples.filter(pl.col("step") == step)

    def under_load(self, step: str) -> pl.DataFrame:
        """The same without the wait for what was in flight when the load was ended: no rate is to be told of that."""
        rows = self.rows(step)
        return rows.filter(pl.col("start_ns") < self.ends_ns.get(step, _NEVER_NS))


@dataclass(frozen=True)
class Series:
    """A row per interval, in order of time; all arrays have the same length, which may be zero.

    ``start_s`` counts from the step's first interval, which began ``origin_ns`` after the run. ``waited_s`` is the sum
    of the latencies of ``timed`` requests, ``worst_s`` the longest of them (zero where there were none). ``under_load``
    is how many intervals there were until the load was ended: in those after it nothing was asked for any more, and
    what was in flight completed.
    """

    origin_ns: int
    start_s: Floats
    duration_s: Floats
    requests: Floats
    bytes: Floats
    timed: Floats
    waited_s: Floats
    worst_s: Floats
    under_load: int

    def __len__(self) -> int:
        """Intervals."""
        return len(self.start_s)

    @property
    def end_s(self) -> Floats:
        """The end of each interval."""
        return self.start_s + self.duration_s

    @property
    def span_s(self) -> float:
        """From the beginning of the first interval to the end of the last."""
        return float(self.end_s.max()) if len(self) else 0.0

    @property
    def bytes_per_s(self) -> Floats:
        """The rate of each interval; zero for one without a length."""
        return np.divide(self.bytes, self.duration_s, out=np.zeros(len(self)), where=self.duration_s > 0)

    @property
    def request_bytes(self) -> float:
        """Mean size of a request; zero when there was none."""
        requests = float(self.requests.sum())
        return float(self.bytes.sum()) / requests if requests else 0.0

    @classmethod
    def of(cls, loads: Loads, step: str) -> Series:
        """Take a step out of a run.

        Directions go on at once; rows of one direction never do: what share their beginning came one after the other.
        """
        timed = pl.col("latency_mean_ns").is_not_null()
        own_length = pl.col("duration_ns").sum().over("start_ns", "direction")
        rows = (
            loads.rows(step)
            .with_columns(duration_ns=own_length)
            .group_by("start_ns")
            .agg(
                pl.col("duration_ns").max(),
                pl.col("count").sum(),
                pl.col("bytes").sum(),
                pl.col("count").filter(timed).sum().alias("timed"),
                (pl.col("latency_mean_ns") * pl.col("count")).sum().alias("waited_ns"),
                pl.col("latency_max_ns").max().fill_null(0),
            )
            .sort("start_ns")
        )
        origin_ns = cast(int, rows["start_ns"][0]) if len(rows) else 0

        def floats(column: str) -> Floats:
            return rows[column].cast(pl.Float64).to_numpy()

        return cls(
            origin_ns=origin_ns,
            start_s=(rows["start_ns"] - origin_ns).cast(pl.Float64).to_numpy() / NS_PER_S,
            duration_s=floats("duration_ns") / NS_PER_S,
            requests=floats("count"),
            bytes=floats("bytes"),
            timed=floats("timed"),
            waited_s=floats("waited_ns") / NS_PER_S,
            worst_s=floats("latency_max_ns") / NS_PER_S,
            under_load=loads.under_load(step)["start_ns"].n_unique(),
        )

    @property
    def loaded(self) -> Series:
        """The intervals under load, the only ones that tell a rate."""
        return self._part(0, self.under_load)

    def since(self, index: int) -> Series:
        """The intervals from one on; times still count from the step's beginning."""
        return self._part(index, len(self))

    def _part(self, first: int, stop: int) -> Series:
        rows = slice(first, stop)
        return Series(
            self.origin_ns,
            start_s=self.start_s[rows],
            duration_s=self.duration_s[rows],
            requests=self.requests[rows],
            bytes=self.bytes[rows],
            timed=self.timed[rows],
            waited_s=self.waited_s[rows],
            worst_s=self.worst_s[rows],
            under_load=max(min(self.under_load, stop) - first, 0),
        )

    def blocks(self, amount: Floats, block_s: float) -> Floats:
        """Sums of an amount over equal blocks of ``block_s``; a last one that is not full is left out.

        An interval that reaches over several blocks is spread evenly over them.
        """
        count = int(self.span_s / block_s * (1 + 1e-12)) if len(self) else 0
        edges = np.arange(count + 1) * block_s
        times = np.concatenate([[0.0], self.end_s])
        done = np.concatenate([[0.0], np.cumsum(amount)])
        return np.diff(np.interp(edges, times, done))
