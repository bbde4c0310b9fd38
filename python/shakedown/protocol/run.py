"""A whole run: open the targets, play the protocol on the baseline and the candidate, find, judge.

The folder is the only state: ``resume`` needs nothing else.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from shakedown.analysis.find import findings
from shakedown.analysis.finding import Finding, FindingSpec
from shakedown.analysis.verdict import Verdict, judge
from shakedown.device.disk.facts import NO_CONSENT, Consent
from shakedown.device.disk.presence import path_of
from shakedown.device.disk.rules import strangers_to_all
from shakedown.device.lab_disk import DISKS
from shakedown.errors import EnvironmentFailure, Interrupted, Planned, RefusedError, UsageError
from shakedown.protocol.caveats import caveats
from shakedown.protocol.environment import describe_environment, shakedown_version
from shakedown.protocol.in_lab import LabOrder, is_of_lab, run_again_in_lab, run_in_lab
from shakedown.protocol.larger_part import hold_of, told_of_larger_part
from shakedown.protocol.load import LoadedProtocol, parse_protocol
from shakedown.protocol.part_tested import of_a_part
from shakedown.protocol.plan import places_bytes, plan_of
from shakedown.protocol.play import Listener, play
from shakedown.protocol.relay import Teller
from shakedown.protocol.resumed import DROPPED, RESUMED, told_of_resumptions
from shakedown.protocol.schema import Protocol
from shakedown.protocol.yardstick import beside
from shakedown.result.folder import BASELINE_NAME, RUN_BEGAN, Run, RunFolder, read_record, read_run
from shakedown.result.identity import Identity
from shakedown.result.part import part_divisor
from shakedown.result.run_record import ProtocolRecord, RunRecord, StepRecord
from shakedown.target.arena import Arena
from shakedown.target.model import is_like_lab
from shakedown.target.open import open_target


@dataclass(frozen=True)
class Order:
    """On what a protocol is to be run, and how.

    ``scale_divisor`` makes modelled drives smaller, ``size_bytes`` is that of a new file, ``consent`` names what may be
    overwritten; ``like_lab`` makes a modelled drive's host like that of ``lab:``;
    at ``temperature_limit_celsius`` the load pauses;
    ``faults`` befall drives in the lab, ``DRIVE=WHAT``, the candidate being sda and the baseline sdb.
    """

    target: str
    baseline: str | None = None
    seed: int = 1
    scale_divisor: int = 1
    size_bytes: int | None = None
    consent: Consent = NO_CONSENT
    like_lab: bool = False
    faults: tuple[str, ...] = ()
    temperature_limit_celsius: int | None = None


@dataclass(frozen=True)
class _Turn:
    """One target with its folder, ready to be played."""

    arena: Arena
    folder: RunFolder
    record: RunRecord


def run(loaded: LoadedProtocol, order: Order, out: Path, listener: Listener) -> Run:
    """Run a protocol into the new folder ``out``, the baseline first.

    Both targets and the job of every step are looked at before either target is touched. Raises UsageError,
    RefusedError, EnvironmentFailure (all measured is kept), Interrupted (``resume`` goes on).
    """
    if is_of_lab(order.target, order.baseline) and DISKS not in os.environ:
        return run_in_lab(_of_lab(loaded, order), out, listener)
    if DISKS in os.environ:
        listener = Teller(sys.stdout)
    elif order.faults:
        raise UsageError("`--fault` is for drives in the lab", hint=f"shakedown run {loaded.protocol.name} lab:NAME")
    with ExitStack() as opened:
        turns = _new_turns(loaded, order, out, opened)
        _check_all(loaded, turns)
        for planned in _plans(loaded.protocol, turns):
            listener.planned(planned.lines)
        for turn in turns:
            turn.folder.note(RUN_BEGAN, target=turn.record.target.text)
            turn.folder.write(turn.record)
        way = _Way(out, order.consent)
        with _told_how_to_go_on(way):
            return _play_all(loaded.protocol, turns, way, listener)


def _of_lab(loaded: LoadedProtocol, order: Order) -> LabOrder:
    return LabOrder(
        protocol=loaded.protocol.name,
        text=loaded.text,
        parameters=loaded.parameters,
        targets=(order.target,) if order.baseline is None else (order.target, order.baseline),
        seed=order.seed,
        scale_divisor=order.scale_divisor,
        faults=order.faults,
        temperature_limit_celsius=order.temperature_limit_celsius,
    )


def plan(loaded: LoadedProtocol, order: Order, out: Path) -> tuple[Planned, ...]:
    """What a run would do to the disks among its targets. Nothing is written, and the folder ``out`` is not left.

    Raises RefusedError, with that, if it would be refused; UsageError and EnvironmentFailure as ``run``.
    """
    with ExitStack() as opened:
        turns = _new_turns(loaded, order, out, opened)
        _check_all(loaded, turns)
        return _plans(loaded.protocol, turns)


def _new_turns(loaded: LoadedProtocol, order: Order, out: Path, opened: ExitStack) -> list[_Turn]:
    """The candidate's turn, before it the baseline's if there is one."""
    turns = [opened.enter_context(_new_turn(loaded, order, out))]
    if order.baseline is not None:
        turns.insert(0, opened.enter_context(_new_turn(loaded, _of_baseline(order), out / BASELINE_NAME)))
    return turns


def _plans(protocol: Protocol, turns: list[_Turn]) -> tuple[Planned, ...]:
    plans = (plan_of(protocol, turn.arena) for turn in turns)
    return tuple(each for each in plans if each is not None)


def _of_baseline(order: Order) -> Order:
    assert order.baseline is not None
    # --size is for files; a modelled or exported baseline beside a file has its own.
    size_bytes = None if order.baseline.startswith(("model:", "lab:", "nbd")) else order.size_bytes
    return replace(order, target=order.baseline, baseline=None, size_bytes=size_bytes)


def resume(path: Path, consent: Consent, listener: Listener) -> Run:
    """Go on with the run in ``path``.

    That means from the first unfinished step, or from the start where the target does not remember the steps before:
    a modelled drive, a file that is gone. A run in the lab is played again. Raises as ``run``.
    """
    if (order := LabOrder.read(path)) is not None:
        return run_again_in_lab(order, path, listener)
    record = read_record(path)
    loaded = parse_protocol(record.protocol.text.encode(), f"{record.protocol.name}.toml", record.parameters)
    folders = [path] if record.baseline is None else [path / record.baseline, path]
    if all(read_record(folder).status == "complete" for folder in folders):
        return read_run(path)
    if record.arena == "lab":
        raise UsageError(f"{path} is of the lab, where the same order fails the same way", hint="start another run")
    with ExitStack() as opened:
        turns = [opened.enter_context(_resumed_turn(loaded.protocol, folder, consent)) for folder in folders]
        _check_all(loaded, [turn for turn in turns if turn.record.status != "complete"])
        turns = [_gone_on_with(loaded.protocol, turn) for turn in turns]
        way = _Way(path, consent)
        with _told_how_to_go_on(way):
            return _play_all(loaded.protocol, turns, way, listener)


def _gone_on_with(protocol: Protocol, turn: _Turn) -> _Turn:
    """In the journal, and of a target that is not complete yet in its record: it is no longer what it was."""
    steps, ended = protocol.steps, len(turn.record.steps)
    first = steps[ended].name if ended < len(steps) else None
    turn.folder.note(RESUMED, target=turn.record.target.text, step=first)
    if turn.record.status == "complete":
        return turn
    return replace(turn, record=told_of_resumptions(protocol, turn.record, turn.folder.events()))


@dataclass(frozen=True)
class _Way:
    """Where a run lies, and what its user has given up: both are needed to go on with it."""

    out: Path
    consent: Consent

    @property
    def command(self) -> str:
        """The line that goes on: consent is asked for anew, since it was for what stood there then."""
        words = ["shakedown", "run", "--resume", str(self.out)]
        words += [word for each in self.consent.devices for word in ("--destroy-data-on", each)]
        words += [word for each in self.consent.signatures for word in ("--allow-signature", each)]
        return shlex.join(words)


@contextmanager
def _told_how_to_go_on(way: _Way) -> Iterator[None]:
    """Of a disk that is full, or whatever else failed under a run, nobody knows that the run is not lost by it."""
    try:
        yield
    except EnvironmentFailure as error:
        if way.command not in error.hint:
            error.add_hint(f"what was measured is kept, go on with `{way.command}`")
        raise


def _play_all(protocol: Protocol, turns: list[_Turn], way: _Way, listener: Listener) -> Run:
    """Play the turns, the baseline's before the candidate's, whose findings need both."""
    baseline: Run | None = None
    for number, turn in enumerate(turns):
        try:
            record = turn.record
            if record.status != "complete":
                record = play(protocol, turn.arena, turn.folder, record, listener)
        except Interrupted as error:
            for later in (each for each in turns[number + 1 :] if each.record.status == "running"):
                later.folder.write(later.record.model_copy(update={"status": "interrupted"}))
            raise Interrupted(str(error), hint=f"go on with `{way.command}`") from error
        record = _judged(protocol, record, read_run(turn.folder.path), baseline)
        turn.folder.write(record)
        turn.folder.note("run-ended", status=record.status)
        _raise_failure(record, way)
        baseline = read_run(turn.folder.path)
    return read_run(way.out)


def _judged(protocol: Protocol, record: RunRecord, played: Run, baseline: Run | None) -> RunRecord:
    """The record with findings, and with a verdict where every step could be played."""
    conditions = {step.name: step.until for step in protocol.steps if step.until is not None}
    other = None if baseline is None else baseline.loads
    places = (_places_bytes(record), {} if baseline is None else _places_bytes(baseline.record))
    found = findings(_asked(protocol, record), played.loads, other, conditions, places)
    for spec in _other_latencies(protocol, record):
        # Of a step that the baseline has not played there is nothing to stand beside.
        is_played = baseline is not None and any(each.name == spec.step for each in _played(baseline.record))
        found += findings([spec], played.loads, other if is_played else None)
    found = told_of_larger_part(found, hold_of(conditions), record.scale_divisor)
    found = of_a_part(found, record.target, places[0])
    if baseline is not None:
        found = beside(baseline.record.target, found)
    verdict = _verdict(protocol, record, found)
    return record.model_copy(update={"findings": tuple(found), "verdict": verdict})


def _played(record: RunRecord) -> list[StepRecord]:
    return [step for step in record.steps if step.job is not None and step.ended_because != "skipped"]


def _places_bytes(record: RunRecord) -> dict[str, int]:
    """How much of its target each step goes to."""
    capacity_bytes = record.target.capacity_bytes
    return {step.name: places_bytes(step.job, step.name, capacity_bytes) for step in record.steps if step.job}


def _asked(protocol: Protocol, record: RunRecord) -> list[FindingSpec]:
    """What the protocol asks, but for the longest request of a step that had no reason to make any: none is missed."""
    skipped = {step.name for step in record.steps if step.ended_because == "skipped"}
    return [spec for spec in protocol.findings if spec.kind != "worst-latency" or spec.step not in skipped]


def _other_latencies(protocol: Protocol, record: RunRecord) -> Iterator[FindingSpec]:
    """Of a run that is judged the longest request of each step: in whichever it is, who waits for it loses patience."""
    asked = {spec.step for spec in protocol.findings if spec.kind == "worst-latency"}
    for step in _played(record) if protocol.uses else ():
        if step.name not in asked:
            yield FindingSpec(kind="worst-latency", step=step.name)


def _verdict(protocol: Protocol, record: RunRecord, found: Sequence[Finding]) -> Verdict | None:
    """None where the run is not complete, or bears on no use: nothing is judged then."""
    if record.status != "complete":
        return None
    verdict = judge(
        {protocol.name: found},
        protocol.uses,
        scale_divisor=record.target.scale_divisor,
        of_twin=part_divisor(record.target.model) > 1,
        failures=record.failures,
        of_array=record.target.is_array,
    )
    return verdict if verdict.uses else None


def _raise_failure(record: RunRecord, way: _Way) -> None:
    for step in record.steps:
        if step.ended_because == "failed":
            raise EnvironmentFailure(
                f"step {step.name} on {record.target.text} failed: {step.error}",
                hint=f"what was measured is kept; once the cause is gone: `{way.command}`",
            )


def _check_all(loaded: LoadedProtocol, turns: list[_Turn]) -> None:
    """Look at every target and job. Raises UsageError, EnvironmentFailure, or what is refused of all targets."""
    refused: list[RefusedError] = []
    for turn in turns:
        try:
            _check(loaded, turn.arena)
            if turn.record.temperature_limit_celsius is not None:
                _check_temperature(turn.arena)
        except RefusedError as error:
            refused.append(error)
    if refused:
        options = [word for error in refused for word in error.options] if all(each.options for each in refused) else []
        first = refused[0]
        raise RefusedError(
            str(first),
            hint=first.hint,
            options=options,
            strangers=_strangers(turns),
            plan=_plans(loaded.protocol, turns),
        ) from first


def _strangers(turns: list[_Turn]) -> tuple[str, ...]:
    """None where a file or an export is among the targets: what those are called only they know."""
    guards = [turn.arena.guarded() for turn in turns if turn.arena.name != "model"]
    known = [each.strangers for each in guards if each is not None]
    return strangers_to_all(known) if len(known) == len(guards) else ()


def _check_temperature(arena: Arena) -> None:
    """A limit is only promised where it can be kept. Raises UsageError and EnvironmentFailure."""
    thermometer = arena.thermometer()
    if thermometer is None:
        raise UsageError(
            f"{arena.identity.text} has no temperature of its own", hint="`--temperature-limit` is for disks"
        )
    with closing(thermometer):
        reading = thermometer.read()
    if isinstance(reading, str):
        raise EnvironmentFailure(
            f"the temperature of {arena.identity.text} cannot be read: {reading}",
            hint="`modprobe drivetemp`, or install smartmontools; or leave `--temperature-limit` out",
        )


def _check(loaded: LoadedProtocol, arena: Arena) -> None:
    for index, step in enumerate(loaded.protocol.steps):
        if step.job is not None:
            try:
                arena.check(step.job)
            except UsageError as error:
                raise loaded.job_refusal(index, error) from error


@contextmanager
def _new_turn(loaded: LoadedProtocol, order: Order, path: Path) -> Iterator[_Turn]:
    folder = RunFolder.create(path, "shakedown run --resume DIR")
    try:
        with _opened(order, folder) as arena:
            yield _Turn(arena, folder, _first_record(loaded, order, arena))
    finally:
        folder.close()
        folder.discard()


@contextmanager
def _resumed_turn(protocol: Protocol, path: Path, consent: Consent) -> Iterator[_Turn]:
    folder = RunFolder.reopen(path)
    try:
        record = read_record(path)
        order = Order(
            target=path_of(record.target),
            seed=record.seed,
            scale_divisor=record.scale_divisor,
            size_bytes=record.size_bytes,
            consent=consent,
            like_lab=is_like_lab(record.target),
            temperature_limit_celsius=record.temperature_limit_celsius,
        )
        with _opened(order, folder) as arena:
            _refuse_other_target(record, arena)
            rewound = _rewound(protocol, record, folder, remembers=arena.remembers)
            yield _Turn(arena, folder, rewound)
    finally:
        folder.close()


def _rewound(protocol: Protocol, record: RunRecord, folder: RunFolder, *, remembers: bool) -> RunRecord:
    """The record up to the last step that need not be played again: none where the target is not what they left.

    A step that must directly follow others (``restart``) takes them along.
    """
    if record.status == "complete":
        return record
    kept = list(record.steps) if remembers else []
    finished = ("condition", "job-ended", "idle-over")
    while kept and kept[-1].ended_because not in finished:
        kept.pop()
    if len(kept) < len(protocol.steps) and (restart := protocol.steps[len(kept)].restart) is not None:
        # Between the step named and the one after it time may pass; within what follows it may not.
        names = [step.name for step in kept]
        if names[-1:] != [restart] or folder.has_begun(protocol.steps[len(kept)].name):
            kept = kept[: names.index(restart)]
    if written_bytes := folder.keep_steps({step.name for step in kept}):
        folder.note(DROPPED, written_bytes=written_bytes)
    return record.model_copy(update={"steps": tuple(kept), "status": "running", "findings": (), "verdict": None})


def _refuse_other_target(record: RunRecord, arena: Arena) -> None:
    then, now = record.target, arena.identity
    if _known_by(then) != _known_by(now):
        raise UsageError(
            f"`{then.text}` is no longer what it was: {_told(now)} now, {_told(then)} when the run began",
            hint="a run is only resumed on the same target: start a new one",
        )


def _known_by(target: Identity) -> tuple[str | int | None, ...]:
    """What must not change: of a disk also the serial number and the WWN, and the file behind a loop device."""
    own = (target.details.get(name) for name in ("serial", "wwn", "backing_file"))
    return target.kind, target.model, target.capacity_bytes, *own


def _told(target: Identity) -> str:
    serial = target.details.get("serial")
    return f"{target.model}, {target.capacity_bytes} bytes" + (f", serial {serial}" if serial else "")


@contextmanager
def _opened(order: Order, folder: RunFolder) -> Iterator[Arena]:
    arena = open_target(
        order.target,
        seed=order.seed,
        scale_divisor=order.scale_divisor,
        size_bytes=order.size_bytes,
        raw=folder.raw.absolute(),  # other programs run in folders of their own
        consent=order.consent,
        like_lab=order.like_lab,
    )
    try:
        yield arena
    finally:
        arena.close(finished=folder.is_finished)


def _first_record(loaded: LoadedProtocol, order: Order, arena: Arena) -> RunRecord:
    protocol = loaded.protocol
    return RunRecord(
        shakedown_version=shakedown_version(),
        protocol=ProtocolRecord(
            name=protocol.name,
            title=protocol.title,
            question=protocol.question,
            source=protocol.source,
            uses=protocol.uses,
            text=loaded.text,
            sha256=loaded.sha256,
            published=protocol.published,
        ),
        parameters=loaded.parameters,
        target=arena.identity,
        arena=arena.name,
        environment=describe_environment(arena.name),
        seed=order.seed,
        scale_divisor=order.scale_divisor,
        size_bytes=order.size_bytes,
        temperature_limit_celsius=order.temperature_limit_celsius,
        status="running",
        baseline=BASELINE_NAME if order.baseline is not None else None,
        notes=caveats(protocol, arena.identity),
    )
