"""Rows cut where fio cuts them: the case is a lab's, in which a drive stalls again and again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shakedown.target.fio_rows import FioRows

MS = 1_000_000


@dataclass
class Columns:
    """What the core gives of its log."""

    submitted_ns: bytes
    completed_ns: bytes
    verb: bytes
    offset_bytes: bytes
    bytes: bytes
    job: bytes
    status: bytes


def writes(completed_ms: list[float]) -> Columns:
    """One after the other, each submitted when the one before has completed."""
    completed = (np.array(completed_ms) * MS).astype("<i8")
    submitted = np.concatenate([[0], completed[:-1]]).astype("<i8")
    count = len(completed)
    sizes = np.full(count, 4096, "<i8").tobytes()
    return Columns(
        submitted_ns=submitted.tobytes(),
        completed_ns=completed.tobytes(),
        verb=bytes([1]) * count,
        offset_bytes=sizes,
        bytes=sizes,
        job=bytes(2 * count),
        status=bytes(count),
    )


def test_a_row_ends_with_the_first_completion_after_its_interval_and_has_the_stall_in_it() -> None:
    rows = FioRows("s", "write", began_ns=0, interval_ns=200 * MS)
    # Due after 98 ms; then 200 ms after each end.
    first = rows.take(writes([10, 97, 100, 150, 290, 700]), 600 * MS)  # type: ignore[arg-type]
    assert [(row.start_ns / MS, row.duration_ns / MS, row.count) for row in first] == [(2, 98, 3), (100, 600, 3)]
    assert first[1].latency_max_ns == 410 * MS
    assert first[1].bytes == 3 * 4096
    assert rows.end(800 * MS)[0].count == 0


def test_a_first_row_that_was_held_up_for_long_begins_with_the_job() -> None:
    rows = FioRows("s", "write", began_ns=0, interval_ns=1000 * MS)
    (row,) = rows.take(writes([3000]), 3000 * MS)  # type: ignore[arg-type]
    assert (row.start_ns, row.duration_ns) == (0, 3000 * MS)
