"""One characterisation from beginning to end: the order in a folder, the measuring, the twin."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from shakedown.characterize.bench import ArenaBench, PlainBench
from shakedown.characterize.plan import Plan
from shakedown.characterize.progress import Progress
from shakedown.device.disk.facts import Consent
from shakedown.errors import InconclusiveError, Planned, RefusedError, UsageError
from shakedown.fit.calibrate import calibrate
from shakedown.fit.facts import Facts, find
from shakedown.fit.trace import BLOCK_BYTES, Bench
from shakedown.fit.twin import Twin, draft
from shakedown.result.atomic import make_folder, replace_file
from shakedown.target.arena import Arena
from shakedown.target.model import ModelArena
from shakedown.target.open import open_target

RECORD_NAME: Final = "characterize.json"
PROFILE_NAME: Final = "twin.toml"
FORMAT_VERSION: Final = 1
_AT_ONCE: Final = "it is shingled, and what it has cached is home before its insides can be measured"


@dataclass(frozen=True)
class Order:
    """What is asked for."""

    target: str
    name: str
    seed: int = 1
    scale_divisor: int = 1
    with_parking: bool = True
    size_bytes: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    order: Order
    folder: Path
    plan: Plan
    facts: Facts
    twin: Twin
    refusal: str | None = None
    """Why the twin is none yet: as a profile it would be refused. What was found stands in it all the same."""


Tell = Callable[[str], None]


def characterize(order: Order, folder: Path, consent: Consent, tell: Tell) -> Outcome:
    """Measure the target and fit the twin; the folder may be that of an interrupted run of the same order.

    Raises UsageError, RefusedError and EnvironmentFailure.
    """
    # fio runs in a folder of its own, from which a relative path leads nowhere.
    folder = folder.resolve()
    raw, logs = folder / "raw", folder / "logs"
    arena = open_target(
        order.target,
        seed=order.seed,
        scale_divisor=order.scale_divisor,
        raw=raw,
        consent=consent,
        size_bytes=order.size_bytes,
    )
    finished = False
    try:
        capacity = arena.identity.capacity_bytes // BLOCK_BYTES * BLOCK_BYTES
        plan = Plan.of(capacity, with_parking=order.with_parking)
        _admit(arena, plan)
        # What is refused leaves no folder behind.
        for place in (raw, logs):
            make_folder(place)
        for line in plan.lines():
            tell(line)
        _keep_order(folder, order)
        told = tell if arena.name == "model" else Progress(plan, tell)
        facts = find(ArenaBench(arena, logs, capacity), told, with_parking=order.with_parking)
        finished = True
        return _conclude(order, folder, plan, facts, arena.identity.model, tell)
    finally:
        arena.close(finished=finished)


def read_order(folder: Path) -> Order:
    """The order of the run in a folder. Raises UsageError."""
    try:
        document = json.loads((folder / RECORD_NAME).read_text())
        return Order(**document["order"])
    except OSError as error:
        reason = f"`{RECORD_NAME}` cannot be read in it: {error.strerror}"
    except (ValueError, KeyError, TypeError):
        reason = f"its `{RECORD_NAME}` is damaged"
    raise UsageError(
        f"`{folder}` is no run of characterize: {reason}", hint="give the folder that `shakedown characterize` made"
    )


def _conclude(order: Order, folder: Path, plan: Plan, facts: Facts, model: str, tell: Tell) -> Outcome:
    tell("fitting the twin")
    twin = draft(facts, order.name, f"Twin of {order.target}", model)
    refusal = _AT_ONCE if facts.cleans_at_once else None
    if refusal is None:
        try:
            twin = calibrate(twin, facts, _modelled)
            _modelled(twin.toml)
        except InconclusiveError as error:
            refusal = str(error)
    replace_file(folder / PROFILE_NAME, twin.toml.encode())
    return Outcome(order, folder, plan, facts, twin, refusal)


def _modelled(profile: str) -> Bench:
    """A drive of this profile. Raises InconclusiveError if there can be none."""
    with tempfile.TemporaryDirectory(prefix="shakedown-") as folder:
        path = Path(folder) / PROFILE_NAME
        path.write_text(profile)
        try:
            arena = ModelArena(f"model:{path}", seed=1)
        except UsageError as error:
            raise InconclusiveError(str(error).removeprefix(f"{path}: ")) from error
    return PlainBench(arena, arena.identity.capacity_bytes // BLOCK_BYTES * BLOCK_BYTES)


def _admit(arena: Arena, plan: Plan) -> None:
    """Whose data it is comes first: a characterisation writes. Raises RefusedError with the plan of a disk."""
    try:
        arena.check("rw=randwrite\nbs=4k\nsize=4k")
    except RefusedError as error:
        guarded = arena.guarded()
        if guarded is None:
            raise
        planned = Planned((*guarded.lines, *plan.lines()), guarded.document | plan.document())
        raise RefusedError(str(error), hint=error.hint, options=error.options, plan=(planned,)) from error


def _keep_order(folder: Path, order: Order) -> None:
    document = {"format_version": FORMAT_VERSION, "order": asdict(order)}
    replace_file(folder / RECORD_NAME, (json.dumps(document, indent=1) + "\n").encode())
