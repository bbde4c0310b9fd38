"""What a run cannot show because of how its target was treated: the notes of its record."""

from __future__ import annotations

from shakedown.protocol.part_tested import told_of_part
from shakedown.protocol.schema import Protocol
from shakedown.result.identity import Identity
from shakedown.tools.fio.job import parse_job
from shakedown.units import format_size


def caveats(protocol: Protocol, target: Identity) -> tuple[str, ...]:
    """A sentence for each thing that a reader must know of the way in which the target was spared, or harmed."""
    found = []
    if "faults" in target.details:
        found.append(
            "Faults were ordered for this drive: its figures and the verdict are of both together, and "
            "tell nothing of a drive without them."
        )
    if target.kind in ("file", "directory"):
        found.append(
            f"A file of {format_size(target.capacity_bytes)} on a file system was tested, not a whole drive: how it "
            "behaves when full, its slow end and the whole of its cache are not seen, and what the file system and "
            "its other files cost is in the figures."
        )
    if part := told_of_part(protocol, target):
        found.append(part)
    if target.is_array and protocol.uses:
        found.append(
            "An array was tested, and no drive. Of the rules only those of rate, cliff and recovery of a desktop's "
            "disk are asked; not asked are those of single drives: archive, md RAID and ZFS, and the 30 s that the "
            "kernel waits for a drive's command. What an array makes of its drives' shingles `shakedown rebuild` shows."
        )
    if target.kind == "loop":
        found.append(
            "A loop device on a file was tested, for practice: the figures are those of the file system below."
        )
    if target.kind == "disk" and not writes(protocol):
        found.append(
            "Only reads were made, and nothing was overwritten: whether the drive collapses when it is written to, "
            "and whether it is shingled, this cannot show."
        )
    return tuple(found)


def writes(protocol: Protocol) -> bool:
    """Whether any step writes."""
    sections = [section for step in protocol.steps if step.job for section in parse_job(step.job, step.name)]
    return any(move != "read" for section in sections for move in section.directions)
