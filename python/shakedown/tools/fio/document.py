"""One status document of fio (json+): what each of its jobs has done since it began."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from shakedown.errors import EnvironmentFailure
from shakedown.sample import Direction

DIRECTIONS: Final[tuple[Direction, ...]] = ("read", "write", "trim")
_LARGEST: Final = 2**63 - 1
# `MAX_ERRNO` in Linux.
_LARGEST_ERRNO: Final = 4095
# What fio says is left of a job that it knows nothing of yet, and at the end of a very short one.
_UNKNOWN_S: Final = 2**31 - 1
# C prints what is not a number as `nan` or `-inf`, which JSON does not know.
_NOT_A_NUMBER: Final = re.compile(r"(:\s*)-?(?:nan|inf)(?=\s*[,}\]])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Counters:
    """Completions of one job in one direction: cumulative in a document, of one interval once differenced."""

    count: int = 0
    bytes: int = 0
    latency_sum_ns: float = 0.0
    latency_max_ns: int = 0
    bins: dict[int, int] = field(default_factory=dict)  # midpoint in ns -> completions


class Job(NamedTuple):
    """One job of the document; ``error`` is an errno of its first failure, 0 if there was none.

    ``depth`` is how many requests it has in flight at most, 0 if the document does not say.
    """

    name: str
    group: int
    runtime_ms: int
    remaining_s: int
    error: int
    failed: int
    moves: dict[Direction, Counters]
    depth: int = 0


class Document(NamedTuple):
    """A status document: when it was made, by the wall clock, and the jobs in the order of the job file."""

    timestamp_ms: int
    jobs: tuple[Job, ...]
    raw: dict[str, Any]

    @property
    def hopeful(self) -> bool:
        """Whether fio expects nothing more: true of its last document, and now and then of others."""
        return all(job.remaining_s in (0, _UNKNOWN_S) for job in self.jobs)


def parse_document(text: str) -> Document:
    """Read a document from its text. Raises EnvironmentFailure, and nothing else, whatever the text is."""
    try:
        raw = json.loads(_NOT_A_NUMBER.sub(r"\1null", text))
    except (ValueError, RecursionError) as error:
        raise EnvironmentFailure(f"fio printed a document that is not JSON: {error}") from error
    jobs = _objects(raw, "jobs")
    if not jobs:
        raise EnvironmentFailure("fio printed a document without jobs")
    timestamp_ms = _whole(raw, "timestamp_ms")
    if timestamp_ms == 0:
        raise EnvironmentFailure("fio printed a document without `timestamp_ms`")
    return Document(timestamp_ms, tuple(_job(each) for each in jobs), raw)


def _job(raw: dict[str, Any]) -> Job:
    return Job(
        name=str(raw.get("jobname", "")),
        group=_whole(raw, "groupid"),
        runtime_ms=_whole(raw, "job_runtime"),
        remaining_s=_whole(raw, "eta"),
        error=_whole(raw, "error", _LARGEST_ERRNO),
        failed=_whole(raw, "total_err"),
        moves={each: _counters(_object(raw, each)) for each in DIRECTIONS},
        depth=_depth(_object(raw, "job options")),
    )


def _depth(options: dict[str, Any]) -> int:
    depth, copies = (str(options.get(name, default)) for name, default in (("iodepth", "0"), ("numjobs", "1")))
    return int(depth) * int(copies) if depth.isdecimal() and copies.isdecimal() and len(depth + copies) < 18 else 0


def _counters(raw: dict[str, Any]) -> Counters:
    # With the percentiles of `lat` it has bins of its own; older versions of fio put them among those of `clat`.
    latency = _object(raw, "lat_ns")
    if "bins" not in latency:
        latency = _object(raw, "clat_ns")
    count = _whole(latency, "N")
    return Counters(
        count=count,
        bytes=_whole(raw, "io_bytes"),
        latency_sum_ns=_real(latency, "mean") * count,
        latency_max_ns=_whole(latency, "max"),
        bins=dict(_bins(_object(latency, "bins"))),
    )


def _bins(raw: dict[str, Any]) -> Iterator[tuple[int, int]]:
    for midpoint in raw:
        if not midpoint.isdecimal() or len(midpoint) > 18:
            raise EnvironmentFailure(f"fio printed a latency bin at {midpoint[:40]!r}")
        yield int(midpoint), _whole(raw, midpoint)


def _objects(raw: object, key: str) -> list[dict[str, Any]]:
    found = raw.get(key) if isinstance(raw, dict) else None
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise EnvironmentFailure(f"fio printed a document without a list of `{key}`")
    return found


def _object(raw: dict[str, Any], key: str) -> dict[str, Any]:
    found = raw.get(key, {})
    if not isinstance(found, dict):
        raise EnvironmentFailure(f"fio printed {str(found)[:40]!r} as `{key}`")
    return found


def _whole(raw: dict[str, Any], key: str, largest: int = _LARGEST) -> int:
    value = _real(raw, key)
    if not 0 <= value <= largest:
        raise EnvironmentFailure(f"fio printed {value} as `{key}`")
    found = raw.get(key)
    return found if isinstance(found, int) else int(value)


def _real(raw: dict[str, Any], key: str) -> float:
    """A number; 0 where there is none, since fio leaves out or prints `nan` for what it has nothing to say about."""
    value = raw.get(key)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise EnvironmentFailure(f"fio printed {str(value)[:40]!r} as `{key}`")
    if isinstance(value, float) and not math.isfinite(value):
        return 0
    return value
