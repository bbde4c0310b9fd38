"""Of a load that went to a part of a drive only: what fails there fails, but what holds there need not hold for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from shakedown.analysis.finding import Finding
from shakedown.analysis.rules import PART_BYTES
from shakedown.protocol.plan import places_bytes
from shakedown.protocol.schema import Protocol
from shakedown.result.identity import Identity
from shakedown.units import format_size

_FLATTERED: Final = ("cliff", "recovery")
"""The kinds of findings that come out better on a part."""


def of_a_part(found: Sequence[Finding], target: Identity, places: Mapping[str, int]) -> list[Finding]:
    """The findings; those that a whole drive could not match say in their evidence how large the part was.

    ``places``: how much of the target each step goes to.
    """
    return [_told(each, target, places) for each in found]


def told_of_part(protocol: Protocol, target: Identity) -> str:
    """A caution where a step of a protocol that judges goes to a part of its target; of a file another note tells."""
    if not protocol.uses or _is_file(target):
        return ""
    capacity_bytes = target.capacity_bytes
    sizes = {step.name: places_bytes(step.job, step.name, capacity_bytes) for step in protocol.steps if step.job}
    parts = {name: size for name, size in sizes.items() if size < capacity_bytes}
    if not parts:
        return ""
    least = min(parts.values())
    of_steps = "" if len(parts) == len(sizes) else f" in step{'s' if len(parts) > 1 else ''} {', '.join(parts)}"
    return (
        f"CAUTION: Only {format_size(least)} of {format_size(capacity_bytes)} were tested{of_steps}: a whole drive may"
        " collapse sooner and further than a part of it, and needs longer to recover."
    )


def _told(found: Finding, target: Identity, places: Mapping[str, int]) -> Finding:
    tested_bytes = places.get(found.step, target.capacity_bytes)
    if found.kind not in _FLATTERED or (tested_bytes >= target.capacity_bytes and not _is_file(target)):
        return found
    return found.model_copy(update={"evidence": {**found.evidence, PART_BYTES: tested_bytes}})


def _is_file(target: Identity) -> bool:
    return target.kind in ("file", "directory")
