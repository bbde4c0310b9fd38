"""What of a job beside a modelled rebuild is not as it was written: when it ends, and on ZFS how deep it queues."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.array.order import RebuildOrder
from shakedown.tools.fio.job import Section, parse_job


def users_otherwise(order: RebuildOrder) -> Iterator[str]:
    """A sentence for each thing that the load says and its users do not heed."""
    if order.load is None:
        return
    sections = parse_job(order.load, "load")
    if any(_has(section, "runtime", "timeout") for section in sections):
        yield "The load's `runtime` is not heeded: its users go on until the rebuild is over."
    if order.is_zfs and any(section.last("iodepth", "1") != "1" for section in sections):
        yield (
            "The load's `iodepth` is not heeded: users of ZFS ask for one request at a time, each program of its own "
            "(docs/zfs.md)."
        )


def _has(section: Section, *names: str) -> bool:
    return any(section.last(name, "0") != "0" for name in names)
