"""How a run was made, in words: what was tested, and what was set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from shakedown.result.identity import Identity
from shakedown.result.run_record import RunRecord
from shakedown.units import format_size

_NAMES: Final = {
    "allocated_bytes": "allocated",
    "direct_io": "direct I/O",
    "scale_divisor": "scale",
    "state": "put in",
    "replaced": "drive that is replaced",
    "uri": "URI",
    "wwn": "WWN",
}
_OF_A_REBUILD: Final = {"state": "new drive", "set": "set", "faults": "faults that were ordered", "load": "load"}


def details(target: Identity) -> Iterator[str]:
    """What is known of a target besides its name and its size."""
    for key, value in sorted(target.details.items()):
        if key.startswith("note_"):
            yield value
        elif key == "scale_divisor":
            yield from [f"scale 1/{value}"] if value != "1" else []
        else:
            shown = format_size(int(value)) if key.endswith("_bytes") and value.isdecimal() else value
            yield f"{_NAMES.get(key, key.replace('_', ' '))} {shown}"


def settings(record: RunRecord) -> Iterator[tuple[str, str]]:
    """What was set, as pairs of name and value: of a rebuild in words, of protocols as ``--set`` takes it."""
    names = _OF_A_REBUILD if record.protocol.name == "rebuild" else {}
    yield from ((names.get(name, name), value) for name, value in sorted(record.parameters.items()))
