"""What tells runs apart that stand beside each other: what was set in one and not, or otherwise, in another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shakedown.result.run_record import RunRecord

USERS: Final = ("rebuild-load", "load-alone")
"""The steps of a rebuild whose job is that of its users."""


def told_apart(records: Sequence[RunRecord]) -> list[str]:
    """Of each record what differs from another of the same protocol: ``depth=4``, ``load: rw=randread bs=4k``."""
    known = [(record.protocol.name, _ordered(record)) for record in records]
    found = []
    for name, ordered in known:
        others = [other for protocol, other in known if protocol == name]
        keys = dict.fromkeys(key for other in others for key in other)
        differing = [key for key in keys if len({other.get(key) for other in others}) > 1]
        found.append(", ".join(_named(key, ordered.get(key)) for key in differing))
    return found


def _named(key: str, value: str | None) -> str:
    if value is None:
        return f"no {key}"
    return {"load": f"load: {value}", "faults": f"faults: {value}", "set": value}.get(key, f"{key}={value}")


def _ordered(record: RunRecord) -> dict[str, str]:
    """Options by name; of a rebuild the load of its users as well, which only its steps have."""
    loads = [in_a_line(step.job) for step in record.steps if step.name in USERS and step.job]
    size = {} if record.size_bytes is None else {"size": str(record.size_bytes)}
    return record.parameters | size | ({"load": loads[0]} if loads else {})


def in_a_line(job: str) -> str:
    """The options of a job without blanks and comments, and the names of its sections where it has several."""
    lines = [line.strip() for line in job.splitlines()]
    lines = [line for line in lines if line and line[0] not in "#;"]
    sections = sum(line.startswith("[") and line != "[global]" for line in lines)
    return " ".join(line for line in lines if sections > 1 or not line.startswith("["))
