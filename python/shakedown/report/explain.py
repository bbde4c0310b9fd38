"""What limits a box, for people and as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from shakedown.analysis.explain.ceiling import Box
from shakedown.analysis.explain.instead import Change
from shakedown.analysis.explain.layout import KINDS_OF_CHUNKS
from shakedown.analysis.explain.limiter import Proof
from shakedown.analysis.explain.reason import reason
from shakedown.analysis.rate import figure
from shakedown.report.plain_text import narrow_tables, wrap

_BAR: Final = 24
_NAMES: Final = {
    "one at a time": "one at a time",
    "heads": "a seek for each",
    "drives": "the drives at best",
    "link": "the link",
    "round trip": "the round trip",
}
_UNKNOWN: Final = "?"
_UNTOLD: Final = "?: that cannot be told, since how much reaches the drives, or how they share it, changes, too."


def explain_text(box: Box, proofs: Sequence[Proof], isolated: Sequence[str], changed: Sequence[Change]) -> str:
    """A paragraph a load, with the measured bar beside the ceilings, then what would change."""
    parts = [f"{box.layout} of {box.drive.label}"]
    parts += ["\n".join(_paragraph(box, proof)) for proof in proofs]
    if isolated:
        parts.append("\n".join(wrap(each) for each in isolated))
    if changed:
        told = [index for index, proof in enumerate(proofs) if proof.tells_of_the_box]
        head = ["requests/s", *(proofs[index].measured.name for index in told)]
        rows = [["as measured", *(figure(proofs[index].measured.iops) for index in told)]]
        rows += [[each.label, *(_figure(each.iops[index]) for index in told)] for each in changed]
        notes = [f"{_UNTOLD} {_who_tells(box)}"] if any(_UNKNOWN in row for row in rows) else []
        known = [each for each in changed if any(iops is not None for iops in each.iops)]
        notes += filter(None, dict.fromkeys(each.caveat for each in known))
        told_below = [wrap(note, "  ") for note in notes]
        parts.append("\n".join(["What would change:", narrow_tables(head, rows, "  "), *told_below]))
    return "\n\n".join(parts) + "\n"


def _who_tells(box: Box) -> str:
    """Who can be asked what no ceiling tells."""
    if box.layout.is_zfs:
        return "No modelled box runs ZFS; a pool of modelled drives in the lab can be asked: docs/lab.md."
    kind, label = box.layout.kind, box.drive.label
    name = label.removeprefix("model:") if re.fullmatch(r"model:[\w-]+", label) else "NAME"
    target = name if kind == "single" else f"{kind}:{box.layout.width}x{name}:write-cache=1GiB"
    return f"A modelled box can be asked: `shakedown run PROTOCOL model:{target}`."


def _figure(iops: float | None) -> str:
    return _UNKNOWN if iops is None else figure(iops)


def _paragraph(box: Box, proof: Proof) -> Iterator[str]:
    assumed = " (assumed: no depth was given)" if proof.measured.depth_is_assumed else ""
    yield wrap(f"{proof.measured.name}: {proof.measured.load}{assumed}")
    most = max(proof.measured.iops, *(each.iops for part, each in proof.ceilings.items() if part != "round trip"))
    rows = [("measured", proof.measured.iops), *((_NAMES[part], each.iops) for part, each in proof.ceilings.items())]
    block = proof.measured.load.block_bytes
    for name, iops in rows:
        bar = "#" * max(1, round(_BAR * min(iops / most, 1)))
        yield f"  {name:<19}{figure(iops):>7} /s {figure(iops * block / 1e6):>8} MB/s  {bar}"
    for part, each in proof.ceilings.items():
        yield wrap(f"{_NAMES[part]}: {reason(box, proof.measured.load, each)}", "    ", "      ")
    for statement in proof.statements:
        yield wrap(statement, "  - ", "    ")


def explain_document(
    box: Box, proofs: Sequence[Proof], isolated: Sequence[str], changed: Sequence[Change]
) -> dict[str, Any]:
    """The same as JSON; rates are requests of the host per second."""
    return {
        "layout": box.layout.kind,
        "width": box.layout.width,
        "copies": box.layout.copies,
        "chunk_bytes": box.layout.chunk_bytes if box.layout.kind in KINDS_OF_CHUNKS else None,
        "record_bytes": box.layout.record_bytes if box.layout.is_zfs else None,
        "drive": box.drive.label,
        "loads": [_entry(box, proof) for proof in proofs],
        "statements": list(isolated),
        "changes": [{"label": each.label, "iops": list(each.iops), "caveat": each.caveat or None} for each in changed],
    }


def _entry(box: Box, proof: Proof) -> dict[str, Any]:
    load = proof.measured.load
    return {
        "name": proof.measured.name,
        "block_bytes": load.block_bytes,
        "read_share": load.read_share,
        "random_share": load.random_share,
        "outstanding": load.outstanding,
        "outstanding_is_assumed": proof.measured.depth_is_assumed,
        "iops": proof.measured.iops,
        "mib_per_s": proof.measured.bytes_per_s / 2**20,
        "ceilings": [
            {"part": part, "iops": each.iops, "used": proof.used[part], "reason": reason(box, load, each)}
            for part, each in proof.ceilings.items()
        ],
        "limiter": proof.limiter,
        "sure": proof.sure,
        "cached": proof.cached,
        "statements": list(proof.statements),
    }
