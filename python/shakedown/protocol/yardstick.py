"""Whether a baseline is a yardstick: a shingled one collapses where the candidate does, and so clears nobody."""

from __future__ import annotations

from collections.abc import Sequence

from shakedown.analysis.finding import Finding
from shakedown.analysis.rules import SHINGLED_BASELINE
from shakedown.protocol.listed import listed_models
from shakedown.result.identity import Identity


def beside(baseline: Identity, found: Sequence[Finding]) -> list[Finding]:
    """The findings; what is told as a share of a shingled baseline's rate says so in its evidence."""
    return [_doubted(each) for each in found] if _is_shingled(baseline) else list(found)


def _doubted(found: Finding) -> Finding:
    evidence = {**found.evidence, SHINGLED_BASELINE: 1}
    return found.model_copy(update={"evidence": evidence}) if found.kind == "throughput-ratio" else found


def _is_shingled(target: Identity) -> bool:
    """As its profile says, or the list of what is published about its model."""
    if target.shingled is not None:
        return target.shingled
    listed = listed_models().find(target.model)
    return listed is not None and listed.technology == "DM-SMR"
