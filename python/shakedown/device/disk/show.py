"""What the guard knows of a device, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from shakedown.device.disk.facts import Situation
from shakedown.device.disk.rules import Refusal
from shakedown.units import format_size


def lines(situation: Situation, refusals: Sequence[Refusal]) -> Iterator[str]:
    """The device, everything that stands on it, and what forbids writing to it."""
    name = situation.name
    yield f"device      /dev/{situation.kernel_name} ({situation.number}), given as {situation.text}"
    if situation.backing_file is not None:
        yield f"file        {situation.backing_file}"
    yield f"by id       {_listed(situation.by_id)}"
    yield f"model       {name.model or 'not told'}"
    yield f"serial      {name.serial or 'not told'}"
    yield f"WWN         {f'0x{name.wwn}' if name.wwn else 'not told'}"
    yield f"size        {format_size(name.size_bytes)} ({name.size_bytes} bytes)"
    # Of what could not be learned, nothing found is no answer.
    nothing = "not known" if situation.unread else "none"
    signatures = [_signature(each.place, each.type, each.label) for each in situation.signatures]
    yield f"partitions  {_listed(situation.partitions, nothing)}"
    yield f"signatures  {_listed(signatures, nothing)}"
    yield f"in use      {_listed([use.words for use in situation.uses], nothing)}"
    for refusal in refusals:
        yield f"refused     {refusal.words}"
        yield f"            {refusal.hint}"


def document(situation: Situation, refusals: Sequence[Refusal]) -> dict[str, Any]:
    """The same as plain values."""
    return {
        "device": f"/dev/{situation.kernel_name}",
        "number": situation.number,
        "by_id": list(situation.by_id),
        "model": situation.name.model,
        "serial": situation.name.serial,
        "wwn": None if situation.name.wwn is None else f"0x{situation.name.wwn}",
        "size_bytes": situation.name.size_bytes,
        "partitions": list(situation.partitions),
        "signatures": [vars(each) for each in situation.signatures],
        "in_use": [vars(each) for each in situation.uses],
        "refusals": [each._asdict() for each in refusals],
    }


def _signature(place: str, kind: str, label: str) -> str:
    return f"{kind} on {place}" + (f" labelled {label!a}" if label else "")


def _listed(words: Sequence[str], nothing: str = "none") -> str:
    return "; ".join(words) or nothing
