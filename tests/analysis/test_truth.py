"""What the judges see from outside against what a modelled drive knows: when its last dirty band was cleaned."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import polars as pl
import pytest

from analysis.synthetic import S
from shakedown.analysis import Cliff, Condition, Finding, FindingSpec, Recovered, findings, make_watcher
from shakedown.analysis.series import Loads
from shakedown.sample import SAMPLE_SCHEMA, Sample
from shakedown.target.model import ModelArena

SCALE = 4
"""A quarter of a drive keeps the test quick, and its backlog long enough to learn how the latency wanders."""

PATIENCE_S = 10 * 3600
RECOVERED = Recovered(window_ns=450 * S, patience_ns=PATIENCE_S * S)
CLIFF = Cliff(hold_ns=20 * S)
RANDOM = "bs=4k\niodepth=1\nsize=100%\nnorandommap\ntime_based\n"
FILL = "rw=write\nbs=1M\niodepth=8\nsize=100%\n"
COLLAPSE = f"rw=randwrite\n{RANDOM}randseed=1\nruntime=2h\n"
DRAIN = f"rw=randread\n{RANDOM}randseed=3\nruntime=8d\nthinktime=10s\nthinktime_blocks=20\n"


@dataclass
class Played:
    """A step's samples, and when (seconds after it began) no band was dirty any more."""

    samples: list[Sample]
    clean_s: float | None = None
    ended_s: float = 0.0


def play(arena: ModelArena, step: str, job: str, condition: Condition) -> Played:
    watcher, played, origin_ns = make_watcher(condition), Played([]), None
    with arena.start(step, job, S) as load:
        for rows in load:
            played.samples += rows
            origin_ns = rows[0].start_ns if origin_ns is None else origin_ns
            played.ended_s = (rows[-1].start_ns + rows[-1].duration_ns - origin_ns) / S
            if played.clean_s is None and not arena.truth().get("dirty_bands"):
                played.clean_s = played.ended_s
            if watcher.see(rows):
                break
    return played


def cliff_and_recovery(profile: str) -> tuple[dict[str, Finding], Played]:
    arena = ModelArena(f"model:{profile}", seed=1, scale_divisor=SCALE)
    with arena.start("fill", FILL, 10 * S, watched=False) as load:
        list(chain.from_iterable(load))
    collapse = play(arena, "collapse", COLLAPSE, CLIFF)
    drain = play(arena, "drain", DRAIN, RECOVERED)
    samples = pl.DataFrame(collapse.samples + drain.samples, schema=SAMPLE_SCHEMA, orient="row")
    specs = [FindingSpec(kind="cliff", step="collapse"), FindingSpec(kind="recovery", step="drain")]
    found = findings(specs, Loads(samples), None, {"collapse": CLIFF, "drain": RECOVERED})
    return {finding.kind: finding for finding in found}, drain


@pytest.mark.parametrize("profile", ["wd40efax", "st8000as0002", "canvio-3tb"])
def test_a_shingled_drive_is_seen_to_collapse_and_to_recover_when_it_does(profile: str) -> None:
    found, drain = cliff_and_recovery(profile)
    assert found["cliff"].value is not None
    assert drain.clean_s is not None, "the drive was still cleaning when the step ended"
    assert found["recovery"].value == pytest.approx(drain.clean_s, abs=RECOVERED.window_ns / S)
    assert drain.ended_s - drain.clean_s < 3 * RECOVERED.window_ns / S


@pytest.mark.parametrize("profile", ["wd40efrx", "st12000vn0007"])
def test_a_conventional_drive_has_neither_cliff_nor_recovery(profile: str) -> None:
    found, drain = cliff_and_recovery(profile)
    assert found["cliff"].value is None
    assert found["recovery"].value is None
    assert drain.ended_s == pytest.approx(PATIENCE_S, abs=60)
