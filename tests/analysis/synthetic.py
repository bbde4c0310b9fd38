"""Series with a known truth: what a drive would have shown, had it behaved so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import polars as pl

from shakedown.analysis import Watcher
from shakedown.sample import SAMPLE_SCHEMA, Direction, Sample

S = 1_000_000_000
REQUEST_BYTES = 4096

Rate = Callable[[np.ndarray], np.ndarray]
"""Requests a second at times in seconds."""


def sample(
    start_s: float,
    duration_s: float,
    count: int,
    latency_ms: float = 8.0,
    *,
    step: str = "step",
    direction: Direction = "write",
    request_bytes: int = REQUEST_BYTES,
) -> Sample:
    latency_ns = latency_ms * 1e6 if count else None
    whole_ns = round(latency_ns) if latency_ns is not None else None
    start_ns, duration_ns = round(start_s * S), round(duration_s * S)
    return Sample(
        step,
        direction,
        start_ns,
        duration_ns,
        count,
        count * request_bytes,
        latency_ns,
        whole_ns,
        whole_ns,
        whole_ns,
        whole_ns,
    )


def load(
    rate: Rate,
    seconds: int,
    *,
    seed: int = 0,
    noise: float = 0.3,
    start_s: float = 0.0,
    step: str = "step",
    request_bytes: int = REQUEST_BYTES,
) -> list[Sample]:
    """One sample a second; uniform noise of +-``noise``, then whole requests by Poisson's law."""
    draw = np.random.default_rng(seed)
    wanted = rate(np.arange(seconds) + 0.5) * draw.uniform(1 - noise, 1 + noise, seconds)
    counts = draw.poisson(wanted)
    return [
        sample(start_s + second, 1.0, int(count), step=step, request_bytes=request_bytes)
        for second, count in enumerate(counts)
    ]


def probes(
    level_ms: Callable[[float], float],
    seconds: int,
    *,
    seed: int = 0,
    every_s: int = 3,
    sigma: float = 0.5,
    slow_share: Callable[[float], float] = lambda _: 0.0,
    slow_ms: float = 300.0,
    start_s: float = 0.0,
    step: str = "probe",
) -> list[Sample]:
    """A read every few seconds in one-second samples: log-normal around a level, a share waiting for the cleaning."""
    draw = np.random.default_rng(seed)
    rows = []
    for second in range(seconds):
        if second % every_s:
            rows.append(sample(start_s + second, 1.0, 0, step=step, direction="read"))
            continue
        slow = draw.random() < slow_share(second)
        latency_ms = (slow_ms if slow else level_ms(second)) * float(np.exp(sigma * draw.standard_normal()))
        rows.append(sample(start_s + second, 1.0, 1, latency_ms, step=step, direction="read"))
    return rows


def late_statuses(samples: Sequence[Sample], seed: int, share: float = 0.02, most: int = 15) -> list[Sample]:
    """Merge runs of neighbours, as when a status document comes late."""
    draw = np.random.default_rng(seed)
    merged: list[Sample] = []
    position = 0
    while position < len(samples):
        length = int(draw.integers(2, most)) if draw.random() < share else 1
        group = samples[position : position + length]
        count = sum(row.count for row in group)
        waited = sum(row.count * (row.latency_mean_ns or 0.0) for row in group)
        merged.append(
            group[0]._replace(
                duration_ns=sum(row.duration_ns for row in group),
                count=count,
                bytes=sum(row.bytes for row in group),
                latency_mean_ns=waited / count if count else None,
                latency_max_ns=max((row.latency_max_ns for row in group if row.latency_max_ns), default=None),
            )
        )
        position += length
    return merged


def frame(samples: Iterable[Sample]) -> pl.DataFrame:
    return pl.DataFrame(list(samples), schema=SAMPLE_SCHEMA, orient="row")


def watch(watcher: Watcher, samples: Sequence[Sample]) -> tuple[float, str] | None:
    """When (seconds, end of the sample) a watcher ended the step, and what it said."""
    for row in samples:
        if sentence := watcher.see([row]):
            return (row.start_ns + row.duration_ns) / S, sentence
    return None
