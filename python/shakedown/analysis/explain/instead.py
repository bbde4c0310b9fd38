"""What another layout, another drive or more of them would change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from shakedown.analysis.explain.ceiling import Box, Drive, RuleOfThumb, ceilings
from shakedown.analysis.explain.limiter import Proof, needs_no_seek
from shakedown.errors import UsageError

_PARITY_LESS: Final = {"raid5": "raid10", "raid6": "raid10", "raidz1": "mirror", "raidz2": "mirror", "raidz3": "mirror"}
_MORE_DRIVES: Final = 2


class Change(NamedTuple):
    """A change, and for each proof, in their order, what it would make of the figure in requests per second.

    None where that cannot be told, as of a figure that never came out of the box, or is of another. ``caveat`` says
    what makes the change less certain than others, empty if nothing does.
    """

    label: str
    iops: tuple[float | None, ...]
    caveat: str = ""


def changes(box: Box, proofs: Sequence[Proof], others: Sequence[Drive] = ()) -> list[Change]:
    """The usual changes, and each other drive that was named; none if nothing that was measured can be."""
    if not any(proof.tells_of_the_box for proof in proofs):
        return []
    return [
        Change(label, tuple(_then(box, new, proof) for proof in proofs), _caveat(box.drive, new.drive))
        for label, new in _usual(box, others)
    ]


def _usual(box: Box, others: Sequence[Drive]) -> Iterator[tuple[str, Box]]:
    other_kind = _PARITY_LESS.get(box.layout.kind)
    if other_kind:
        try:
            layout = replace(box.layout, kind=other_kind)
            yield str(layout), replace(box, layout=layout)
        except UsageError:
            pass  # an odd number of drives makes no pairs
    if box.layout.kind not in ("single", "raid1"):
        more = replace(box.layout, width=box.layout.width + max(_MORE_DRIVES, box.layout.copies))
        yield str(more), replace(box, layout=more)
    for drive in others:
        yield drive.label, replace(box, drive=drive)


def _caveat(drive: Drive, other: Drive) -> str:
    """Of a drive with two figures beside one that is asked for each load."""
    by_thumb = [each for each in (drive, other) if isinstance(each, RuleOfThumb)]
    if len(by_thumb) != 1:
        return ""
    [asked] = (each for each in (drive, other) if each is not by_thumb[0])
    return (
        f"{by_thumb[0].label} is a rule of thumb: as many requests a second at every size and depth, no better known"
        f" than a fifth. {asked.label} was asked for each load, so what one does beside the other is less certain"
        " still."
    )


def _then(box: Box, new: Box, proof: Proof) -> float | None:
    """If the drives limit, the figure scales with what they are allowed, up to the next ceiling; else it stays."""
    now = proof.measured.iops
    if not proof.tells_of_the_box or proof.limiter == "unknown" or proof.is_left_by_caches:
        return None
    if proof.limiter != "drives":
        return now
    if proof.used["drives"] > 1 and proof.measured.load.write_share and new.layout.kind != box.layout.kind:
        return None  # a cache gathered some of what was written: how much it can of another layout is not known
    if needs_no_seek(box, proof.measured.load) and not needs_no_seek(new, proof.measured.load):
        return None  # whole stripes here, and parts of them there: each may wait for a read, or be gathered
    part = proof.of_drives
    allowed = ceilings(new, proof.measured.load)
    scaled = now * allowed[part].iops / proof.ceilings[part].iops
    return min([scaled, *(ceiling.iops for name, ceiling in allowed.items() if name in ("link", "round trip"))])
