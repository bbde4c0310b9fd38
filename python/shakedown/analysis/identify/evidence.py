"""What each fact says about shingling, and how much that is worth. One function a source; a table of all at the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from shakedown.analysis.identify.facts import Facts
from shakedown.analysis.identify.models import Match, ModelList
from shakedown.model_number import model_number

Says = Literal["shingled", "conventional", "solid-state", "nothing"]
Weight = Literal["none", "weak", "moderate", "strong", "decisive"]
WEIGHTS: Final[tuple[Weight, ...]] = ("none", "weak", "moderate", "strong", "decisive")

FAST_RPM: Final = 10_000
"""No shingled drive turns as fast: the list's fastest, WD10SPSX, does 7200."""


FASTEST_SPINDLE_IOPS: Final = 400.0
"""One at a time, a drive of 15,000 rpm does 200: 2 ms for half a turn, 3 ms for a seek."""

LOGGED_WRITES: Final = 1.4
"""A write that is flushed costs a seek and half a turn, as a read does: 0.98 to 1.00 of its rate on the conventional
profiles, 1.7 to 71 on four of the shingled ones and 0.8 to 1.0 on the others, which is why less says nothing."""


@dataclass(frozen=True)
class Evidence:
    """One piece of evidence; that which says nothing is told as well, since others take it for proof."""

    source: str
    says: Says
    weight: Weight
    text: str


def weigh(facts: Facts, models: ModelList) -> tuple[Evidence, ...]:
    """All evidence in the facts, the weightiest first."""
    found = [*_spindle(facts), *_zones(facts), *_model(facts, models), *_family(facts), *_trim(facts), *_log(facts)]
    found += [*_probe(facts), *_hidden(facts)]
    return tuple(sorted(found, key=lambda each: -WEIGHTS.index(each.weight)))


def _spindle(facts: Facts) -> Iterator[Evidence]:
    if facts.rotation_rpm == 0 or facts.transport == "nvme":
        yield Evidence("rotation rate", "solid-state", "decisive", "it has no spindle")
    elif facts.rotation_rpm is not None and facts.rotation_rpm >= FAST_RPM:
        text = f"{facts.rotation_rpm} rpm: no shingled drive is known to turn so fast"
        yield Evidence("rotation rate", "conventional", "weak", text)
    elif facts.rotation_rpm is not None:
        text = f"{facts.rotation_rpm} rpm: shingled and conventional drives are made with it"
        yield Evidence("rotation rate", "nothing", "none", text)
    elif facts.rotational is False:
        yield Evidence("rotation rate", "solid-state", "weak", "the kernel takes it for a drive without a spindle")


def _zones(facts: Facts) -> Iterator[Evidence]:
    if facts.spins is False:
        return  # zones of flash are not shingles
    reports = (
        ("ATA IDENTIFY word 69", facts.ata_zones),
        ("SCSI VPD page B1h", facts.scsi_zones),
        ("sysfs queue/zoned", facts.kernel_zones),
    )
    for source, zones in reports:
        if zones in ("not-reported", "none"):
            text = f"it reports no zones ({zones}); hardly any drive-managed shingled drive does"
            yield Evidence(source, "nothing", "none", text)
        elif zones:
            yield Evidence(source, "shingled", "decisive", f"the drive says so itself: {zones} zones")


def _model(facts: Facts, models: ModelList) -> Iterator[Evidence]:
    if not facts.model:
        return
    match = models.find(facts.model)
    if match:
        yield _listed(match)
        return
    relatives = models.same_suffix(facts.model)
    if relatives:
        alike = f"{relatives[0].model} ({relatives[0].technology})"
        text = f"{model_number(facts.model)} is not listed; that {alike} ends alike proves nothing"
        yield Evidence("model list", "nothing", "none", text)
    else:
        yield Evidence("model list", "nothing", "none", f"{model_number(facts.model)} is not listed")


def _listed(match: Match) -> Evidence:
    row = match.rows[0]
    says: Says = {"DM-SMR": "shingled", "CMR": "conventional"}.get(match.technology, "nothing")  # type: ignore[assignment]
    if says == "nothing":
        weight: Weight = "none"
    elif not match.is_published:
        weight = "weak"
    else:
        weight = "strong" if match.is_whole else "moderate"
    names = ", ".join(each.model for each in match.rows[:4])
    cut = "" if match.is_whole else "; the model number is cut off"
    return Evidence("model list", says, weight, f"{names}: {match.technology}, {row.confidence}. {row.source}{cut}")


def _family(facts: Facts) -> Iterator[Evidence]:
    """smartmontools' drive database names both where makers sell both under one name."""
    said: dict[str, Says] = {"(SMR)": "shingled", "(CMR)": "conventional"}
    for mark, says in said.items():
        if facts.family and mark in facts.family:
            yield Evidence("smartctl's family", says, "strong", f"smartmontools files it under {facts.family}")


def _trim(facts: Facts) -> Iterator[Evidence]:
    if not facts.spins or facts.transport == "virtual":
        return
    # Only for ATA disks does the kernel discard just because the drive can; a bridge or an array may pretend.
    trims = facts.discards if facts.trim is None and facts.transport == "ata" else facts.trim
    if trims:
        text = (
            "a rotating disk that accepts TRIM has a translation layer to tell; a few conventional ones accept it too"
        )
        yield Evidence("TRIM", "shingled", "moderate", text)
    elif trims is not None:
        text = "it does not accept TRIM; nor do shingled drives such as ST8000AS0002"
        yield Evidence("TRIM", "nothing", "none", text)


def _log(facts: Facts) -> Iterator[Evidence]:
    if facts.stalls:
        text = f"{facts.stalls} stalls without an error of surface or link: shingled drives do so, sick ones as well"
        yield Evidence("kernel log", "shingled", "weak", text)
    elif facts.stalls is not None:
        yield Evidence("kernel log", "nothing", "none", "no stall; a shingled drive that has had little to do has none")


def _probe(facts: Facts) -> Iterator[Evidence]:
    reads, writes = facts.random_read_iops, facts.durable_write_iops
    if not reads:
        return
    if reads > FASTEST_SPINDLE_IOPS:
        text = f"{reads:.0f} reads/s at random places: no spindle does that, or it knows that it holds no data there"
        yield Evidence("probe", "nothing", "none", text)
    elif writes is None:
        text = f"{reads:.0f} reads/s at random places: shingled and conventional drives read alike; only writing tells"
        yield Evidence("probe", "nothing", "none", text)
    elif writes < LOGGED_WRITES * reads:
        text = (
            f"{writes:.0f} durable writes/s at random places, {reads:.0f} reads/s: a conventional drive does that, and "
            "so do shingled ones whose cache is far away"
        )
        yield Evidence("probe", "nothing", "none", text)
    else:
        text = (
            f"{writes:.0f} durable writes/s at random places, but {reads:.0f} reads/s: it writes elsewhere than it is "
            "told to, as shingled drives do; else it has flash, or says that it has flushed when it has not"
        )
        weight: Weight = "weak" if facts.transport == "usb" else "moderate"
        yield Evidence("probe", "shingled", weight, text)


def _hidden(facts: Facts) -> Iterator[Evidence]:
    if facts.transport == "usb" and not facts.has_identify:
        text = "the bridge hides the drive: model, zones and rotation may be its own; try `smartctl -d sat -i DEVICE`"
        yield Evidence("USB bridge", "nothing", "none", text)
    if facts.transport == "virtual":
        yield Evidence("virtual device", "nothing", "none", "there is no drive here, only what stands before it")
