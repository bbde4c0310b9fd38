"""A short behavioural probe: how fast a drive reads at random places, and how fast it makes random writes durable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shakedown.errors import EnvironmentFailure
from shakedown.target.arena import Arena
from shakedown.units import NS_PER_S

SECONDS: Final = 15
_JOB: Final = (
    "bs=4k\niodepth=1\nsize=100%\nnorandommap\nrandrepeat=0\nrandseed={seed}\nrefill_buffers\ntime_based\n"
    f"runtime={SECONDS}s\n"
)
_READS: Final = "rw=randread\n" + _JOB.format(seed=5)
# A flush after each write: what a drive's volatile memory takes is no answer.
_WRITES: Final = "rw=randwrite\nfdatasync=1\n" + _JOB.format(seed=6)


@dataclass(frozen=True)
class Probe:
    """Requests of 4 KiB a second, one at a time; ``durable_write_iops`` is None where nothing was written."""

    read_iops: float
    durable_write_iops: float | None = None


def probe(arena: Arena, *, write: bool) -> Probe:
    """Read for a quarter of a minute, and, with ``write``, overwrite random places for as long.

    Both jobs are checked before either begins. Raises UsageError, RefusedError and EnvironmentFailure.
    """
    for job in (_READS, _WRITES) if write else (_READS,):
        arena.check(job)
    return Probe(_iops(arena, "read", _READS), _iops(arena, "write", _WRITES) if write else None)


def _iops(arena: Arena, name: str, job: str) -> float:
    with arena.start(name, job, NS_PER_S, watched=False) as load:
        rows = [row for batch in load for row in batch]
    if load.error is not None:
        raise EnvironmentFailure(f"{arena.identity.text} failed while it was probed: {load.error}")
    return sum(row.count for row in rows) * NS_PER_S / max(1, sum(row.duration_ns for row in rows))
