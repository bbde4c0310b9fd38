"""What tells runs apart that stand beside each other: what was set in one and not, or otherwise, in another."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Final

from shakedown.result.run_record import RunRecord

USERS: Final = ("rebuild-load", "load-alone")
"""The steps of a rebuild whose job is that of its users."""


def told_apart(records: Sequence[RunRecord]) -> list[str]:
    """Of each record what differs from another of the same protocol: ``depth=4``, ``load: rate_iops=40``."""
    known = [(record.protocol.name, _ordered(record)) for record in records]
    found = []
    for name, ordered in known:
        others = [other for protocol, other in known if protocol == name]
        keys = dict.fromkeys(key for other in others for key in other)
        differing = [key for key in keys if len({other.get(key) for other in others}) > 1]
        shown = ordered | _short_loads([other["load"] for other in others if "load" in other], ordered.get("load"))
        found.append(", ".join(_named(key, shown.get(key)) for key in differing))
    return found


def _named(key: str, value: str | None) -> str:
    if value is None:
        return f"no {key}"
    return {"load": f"load: {value}", "faults": f"faults: {value}", "set": value}.get(key, f"{key}={value}")


def _ordered(record: RunRecord) -> dict[str, str]:
    """Options by name; of a rebuild the load of its users as well, which only its steps have."""
    loads = [step.job for step in record.steps if step.name in USERS and step.job]
    size = {} if record.size_bytes is None else {"size": str(record.size_bytes)}
    return record.parameters | size | ({"load": "\n".join(_lines(loads[0]))} if loads else {})


def _short_loads(loads: Sequence[str], own: str | None) -> dict[str, str]:
    """The load of one of them in short: what not all of the others say, and no more of that than is read at a glance.

    The whole is in the run, and on its page. Whole, too, where it would not be told from another otherwise.
    """
    if own is None:
        return {}
    distinct = list(dict.fromkeys(loads))
    common = set.intersection(*(set(each.splitlines()) for each in distinct)) if len(distinct) > 1 else set()
    besides = {each: _besides(each, common) or _without(each, distinct) for each in distinct}
    for told in ({each: _cut(text) for each, text in besides.items()}, besides):
        if all(told.values()) and len(set(told.values())) == len(distinct):
            return {"load": told[own]}
    return {"load": " ".join(own.splitlines())}


def _besides(load: str, common: Set[str]) -> str:
    """The options of a load without those that all others have, too, under the sections that they are of."""
    told: list[str] = []
    for line in load.splitlines():
        if line.startswith("["):
            told = [*(told[:-1] if told and told[-1].startswith("[") else told), line]
        elif line not in common:
            told.append(line)
    return " ".join(told[:-1] if told and told[-1].startswith("[") else told)


def _without(load: str, others: Sequence[str]) -> str:
    """Of one that has nothing that all others have not, what it lacks."""
    own = set(load.splitlines())
    lacks = dict.fromkeys(line for other in others for line in other.splitlines() if line not in own)
    return f"without {' '.join(lacks)}" if lacks else ""


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rpartition(' ')[0] or text[:_LONGEST]} …"


_LONGEST: Final = 60
"""Characters of a load that are read at a glance."""


def in_a_line(job: str) -> str:
    """The options of a job without blanks and comments, and the names of its sections where it has several."""
    return " ".join(_lines(job))


def _lines(job: str) -> list[str]:
    lines = [line.strip() for line in job.splitlines()]
    lines = [line for line in lines if line and line[0] not in "#;"]
    sections = sum(line.startswith("[") and line != "[global]" for line in lines)
    return [line for line in lines if sections > 1 or not line.startswith("[")]
