"""What of a part of a drive is told as such."""

from __future__ import annotations

from typing import Literal

import pytest

from shakedown.analysis.finding import Finding
from shakedown.analysis.rules import PART_BYTES
from shakedown.protocol.caveats import caveats
from shakedown.protocol.load import load_protocol
from shakedown.protocol.part_tested import of_a_part
from shakedown.result.identity import Identity

CLIFF = Finding(kind="cliff", step="collapse", value=None, unit="s", text="No cliff.")
FILL = Finding(kind="throughput", step="fill", value=1.0, unit="MiB/s", text="Slow.")
TB = 10**12


def target(kind: Literal["disk", "file"]) -> Identity:
    return Identity(kind=kind, text="t", name="t", model="T", capacity_bytes=TB)


@pytest.mark.parametrize(
    ("kind", "tested_bytes", "of_a_part_bytes"),
    [("disk", TB, None), ("disk", TB // 5, TB // 5), ("file", TB, TB)],
)
def test_a_cliff_of_a_part_says_how_large_it_was(
    kind: Literal["disk", "file"], tested_bytes: int, of_a_part_bytes: int | None
) -> None:
    cliff, fill = of_a_part([CLIFF, FILL], target(kind), {"collapse": tested_bytes, "fill": tested_bytes})
    assert cliff.evidence.get(PART_BYTES) == of_a_part_bytes
    assert fill == FILL


def test_a_span_below_all_is_told_beside_the_figures() -> None:
    assert not any(note.startswith("CAUTION") for note in caveats(load_protocol("cliff").protocol, target("disk")))
    notes = caveats(load_protocol("cliff", {"span": "20%"}).protocol, target("disk"))
    assert any(note.startswith("CAUTION: Only 186.3 GiB of 931.3 GiB were tested: ") for note in notes)
