"""What a run that was gone on with cannot show: its target was written to before, and had a rest meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shakedown.protocol.caveats import writes
from shakedown.protocol.schema import Protocol
from shakedown.result.run_record import RunRecord
from shakedown.units import format_size, often

RESUMED: Final = "run-resumed"
DROPPED: Final = "dropped"
"""What was measured of steps that are played again; ``written_bytes`` of it went to the target."""
_CAUTION: Final = "CAUTION: The run was interrupted "


@dataclass(frozen=True)
class _Resumptions:
    """How often; which steps began anew; how much that was written counts nowhere."""

    times: int
    again: tuple[str, ...]
    written_bytes: int


def told_of_resumptions(protocol: Protocol, record: RunRecord, events: Sequence[dict[str, Any]]) -> RunRecord:
    """With a caution of all that ``events``, the journal, tells; unchanged where the target forgets, or is only read.

    A modelled drive is played anew from its beginning, and comes out the same.
    """
    kept = tuple(note for note in record.notes if not note.startswith(_CAUTION))
    found = _resumptions(protocol, events)
    if record.arena != "device" or not writes(protocol) or not found.times:
        return record.model_copy(update={"notes": kept})
    return record.model_copy(update={"notes": (*kept, " ".join(_told(found)))})


def _resumptions(protocol: Protocol, events: Sequence[dict[str, Any]]) -> _Resumptions:
    loads = {step.name for step in protocol.steps if step.job}
    begun: set[str] = set()
    again: dict[str, None] = {}
    times = written_bytes = 0
    for event in events:
        step = event.get("step")
        if event.get("event") == "step-began" and step in loads:
            begun.add(step)
        elif event.get("event") == DROPPED:
            written_bytes += event["written_bytes"]
        elif event.get("event") == RESUMED and begun:
            times += 1
            if step in begun:
                again[step] = None
    return _Resumptions(times, tuple(again), written_bytes)


def _told(found: _Resumptions) -> Iterator[str]:
    times = often(found.times)
    yield f"{_CAUTION}{times}, and gone on with: its target rested meanwhile, in which a shingled drive tidies up."
    if found.again:
        steps = f"Step{'s' if len(found.again) > 1 else ''} {' and '.join(found.again)}"
        written = f"{format_size(found.written_bytes)} or more" if found.written_bytes else "some"
        yield (
            f"{steps} began anew, on a target to which attempts that count nowhere had written {written}: the figures"
            " of a shingled drive are then those of a used one."
        )
