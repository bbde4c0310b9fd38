"""What of a job beside a modelled rebuild is not as it was written: when it ends, and on ZFS how deep it queues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from shakedown.array.order import RebuildOrder
from shakedown.tools.fio.job import parse_job

_ENDS: Final = {"runtime": "0", "number_ios": "0", "io_size": "0", "loops": "1"}
"""What ends a job, and with which value it does not; `size` does, too, but says first where the job works."""


def users_otherwise(order: RebuildOrder) -> Iterator[str]:
    """A sentence for each thing that the load says and its users do not heed."""
    if order.load is None:
        return
    sections = parse_job(order.load, "load")
    for name, endless in _ENDS.items():
        if any(section.last(name, endless) != endless for section in sections):
            yield f"The load's `{name}` is not heeded: its users go on until the rebuild is over."
    if order.is_zfs and any(section.last("iodepth", "1") != "1" for section in sections):
        yield (
            "The load's `iodepth` is not heeded: users of ZFS ask for one request at a time, each program of its own "
            "(docs/zfs.md)."
        )
