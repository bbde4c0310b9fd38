"""One characterisation from beginning to end: the order in a folder, the measuring, the twin."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from shakedown.characterize.bench import ArenaBench, PlainBench
from shakedown.characterize.plan import Plan
from shakedown.characterize.progress import Progress
from shakedown.characterize.record import RECORD_NAME, Order, Record
from shakedown.device.disk.facts import Consent
from shakedown.errors import InconclusiveError, Planned, RefusedError, UsageError
from shakedown.fit.course.find import find
from shakedown.fit.drafting.calibrate import calibrate
from shakedown.fit.drafting.draft import draft
from shakedown.fit.facts import Facts
from shakedown.fit.trace import Bench, whole_blocks
from shakedown.fit.twin import Twin
from shakedown.result.atomic import make_folder, replace_file
from shakedown.result.folder import held_alone
from shakedown.result.identity import Identity
from shakedown.result.part import part_model
from shakedown.target.arena import Arena
from shakedown.target.model import ModelArena
from shakedown.target.open import open_target

PROFILE_NAME: Final = "twin.toml"
LOGS_NAME: Final = "logs"
_HIDDEN: Final = "whether it is shingled does not show: memory answers what is looked at, whatever is read meanwhile"
_AT_ONCE: Final = "it is shingled, and what it has cached is home before its insides can be measured"


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


def characterize(order: Order, folder: Path, consent: Consent, tell: Tell, before: Record | None = None) -> Outcome:
    """Measure the target and fit the twin; with the record of an interrupted run of the same order, go on with that.

    Of one that is complete the target is not needed, unless more is asked of it now than then.
    Raises UsageError, RefusedError, InconclusiveError and EnvironmentFailure.
    """
    # fio runs in a folder of its own, from which a relative path leads nowhere.
    folder = folder.resolve()
    with ExitStack() as claim, ExitStack() as belongings:
        if before is not None:
            claim.enter_context(_alone_in(folder))

        @cache
        def arena() -> Arena:
            opened = _open(order, folder / "raw", consent, belongings)
            if before is not None:
                before.refuse_other(opened.identity)
            _begin(order, opened, folder, tell, before, claim)
            return opened

        target = before.target if before is not None and before.complete else None
        target = target or arena().identity
        plan = _plan(order, target)
        is_model = target.kind == "model"
        bench = ArenaBench(arena, folder / LOGS_NAME, _capacity_bytes(target), durable=not is_model)
        if is_model and before is not None and not before.complete:
            # It is as new again: all that was measured comes out the same, in seconds.
            bench.forget_after(0)
        if is_model:
            facts = find(bench, tell, with_parking=order.with_parking)
        else:
            progress = Progress(plan, tell, bench.holds_next)
            facts = find(bench, progress, with_parking=order.with_parking, hear_log=progress.hear_log)
        bench.sync()
        Record(order, target, complete=True).keep(folder)
        return _conclude(order, folder, plan, facts, part_model(target.model, target.scale_divisor), tell)


def _open(order: Order, raw: Path, consent: Consent, belongings: ExitStack) -> Arena:
    """The target; closed with what it belongs to."""
    arena = open_target(
        order.target,
        seed=order.seed,
        scale_divisor=order.scale_divisor,
        raw=raw,
        consent=consent,
        size_bytes=order.size_bytes,
    )
    belongings.push(lambda kind, *_: arena.close(finished=kind is None))
    return arena


def _alone_in(folder: Path) -> AbstractContextManager[None]:
    """Of two in one folder each would take the other's logs for its own. Raises UsageError."""
    words = f"another `shakedown characterize` is under way in `{folder}`"
    return held_alone(folder, words, "wait until it has ended, or interrupt it; a new one takes another --out")


def _begin(order: Order, arena: Arena, folder: Path, tell: Tell, before: Record | None, claim: ExitStack) -> None:
    """Say what will be done, if it may be; what is refused leaves no folder behind."""
    plan = _plan(order, arena.identity)
    _admit(arena, plan)
    plan.refuse_small()
    for place in (folder / "raw", folder / LOGS_NAME):
        make_folder(place)
    if before is None:
        claim.enter_context(_alone_in(folder))
        if (folder / RECORD_NAME).exists():
            # It has begun, and ended, since somebody looked.
            raise UsageError(f"another run has just been in `{folder}`", hint="choose another --out")
    for line in plan.lines():
        tell(line)
    if before is not None and arena.identity.kind != "model":
        tell("all of that is said of a course from its beginning: what the folder holds is not measured again")
    Record(order, arena.identity).keep(folder)


def _plan(order: Order, target: Identity) -> Plan:
    return Plan.of(_capacity_bytes(target), with_parking=order.with_parking)


def _capacity_bytes(target: Identity) -> int:
    return whole_blocks(target.capacity_bytes)


def _conclude(order: Order, folder: Path, plan: Plan, facts: Facts, model: str, tell: Tell) -> Outcome:
    tell("fitting the twin")
    twin = draft(facts, order.name, f"Twin of {_shared(order.target)}", model)
    refusal = _AT_ONCE if facts.cleans_at_once and facts.cache is None else _HIDDEN if facts.moved.hidden else None
    if refusal is None:
        try:
            twin = calibrate(twin, facts, _modelled)
            _modelled(twin.toml)
        except InconclusiveError as error:
            refusal = str(error)
    replace_file(folder / PROFILE_NAME, twin.toml.encode())
    return Outcome(order, folder, plan, facts, twin, refusal)


def _shared(target: str) -> str:
    """A twin may go to others, whom the folders of this machine tell nothing."""
    return f"model:{Path(target).name}" if target.startswith("model:/") else target


def _modelled(profile: str) -> Bench:
    """A drive of this profile. Raises InconclusiveError if there can be none."""
    with tempfile.TemporaryDirectory(prefix="shakedown-") as folder:
        path = Path(folder) / PROFILE_NAME
        path.write_text(profile, encoding="utf-8")
        try:
            arena = ModelArena(f"model:{path}", seed=1)
        except UsageError as error:
            raise InconclusiveError(str(error).removeprefix(f"{path}: ")) from error
    return PlainBench(arena, _capacity_bytes(arena.identity))


def _admit(arena: Arena, plan: Plan) -> None:
    """Whose data it is comes first: a characterisation writes. Raises RefusedError with the plan of a disk."""
    try:
        arena.check("rw=randwrite\nbs=4k\nsize=4k")
    except RefusedError as error:
        guarded = arena.guarded()
        if guarded is None:
            raise
        planned = Planned((*guarded.lines, *plan.lines()), guarded.document | plan.document())
        raise RefusedError(
            str(error), hint=error.hint, options=error.options, strangers=error.strangers, plan=(planned,)
        ) from error
