"""A rebuild of real drives, as account A did it: make the array, fill it, let a drive fail, replace it, follow it.

Whatever ends it, all is taken down: only what cuts it off (a reboot, a power cut) leaves the array, and ``resume`` goes
on with it. After an interruption on request it makes the array anew, and goes on with the rebuild that was interrupted.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from shakedown.array.capacity import data_a_shown_byte
from shakedown.array.felt import ALONE, LOAD
from shakedown.array.find import findings, ratios
from shakedown.array.keep import keep
from shakedown.array.measured import Traced, measured, setting_of, taker
from shakedown.array.order import RebuildOrder, check_order, refuse_too_small
from shakedown.array.ordered_rate import ordered_rate
from shakedown.array.planned import ALONE_S, plan_array, plan_arrays, stopped_by
from shakedown.array.settings import refuse_of_models
from shakedown.array.state import State, Turn
from shakedown.array.zfs import ZfsOptions
from shakedown.device.array.array import RealArray, Shape
from shakedown.device.array.content import Content
from shakedown.device.array.drive import Drive, devices_apart
from shakedown.device.array.md import MdArray
from shakedown.device.array.users import Users, endless
from shakedown.device.array.watch import Watch, Watched
from shakedown.device.array.zfs import ZfsArray
from shakedown.device.disk.facts import Consent
from shakedown.device.disk.rules import strangers_to_all
from shakedown.errors import EnvironmentFailure, Interrupted, Planned, RefusedError, ShakedownError, UsageError
from shakedown.result.folder import BASELINE_NAME, Run, RunFolder, read_run
from shakedown.units import format_duration, format_size, format_two_sizes

Tell = Callable[[str], None]

_NEW_NAME: Final = "new"
# With a load, what its file has of the data: nearly all, as a modelled load works on all of it.
_USERS_PART: Final = 7 / 8


def plan_real(
    order: RebuildOrder, consent: Consent, out: Path, *, with_baseline: bool = False, cells: Sequence[RebuildOrder] = ()
) -> tuple[Planned, ...]:
    """What would be overwritten, a plan for each drive, and last what becomes of them.

    ``cells`` are rebuilds that are made one after the other of these drives in place of this one. Raises RefusedError
    if a drive may not be overwritten, EnvironmentFailure if no such array can be made here, both with that plan.
    """
    given = _drives(order, consent, out)
    _check_room(order, given)
    drives = [drive for drive in dict.fromkeys(given) if drive.guarded is not None]  # one that comes back is one
    if not drives:
        return ()
    capacities = {drive.identity.text: drive.identity.capacity_bytes for drive in given}
    are_blank = all(drive.is_blank() for drive in drives)
    whole = (
        plan_arrays(cells, capacities, are_blank=are_blank)
        if cells
        else plan_array(order, capacities, _turns(order, given, with_baseline=with_baseline), are_blank=are_blank)
    )
    failure = _failure(cells or (order,))
    plans = (*_of_each(cells or (order,), drives), stopped_by(whole, failure))
    _refuse(drives, plans)
    if failure is not None:
        failure.plan = plans
        raise failure
    return plans


def _failure(orders: Sequence[RebuildOrder]) -> EnvironmentFailure | None:
    """Of making such arrays on this machine, as far as it can be told before."""
    try:
        for is_zfs in {each.is_zfs for each in orders}:
            (ZfsArray if is_zfs else MdArray).check()
    except EnvironmentFailure as error:
        return error
    return None


def _of_each(orders: Sequence[RebuildOrder], drives: Sequence[Drive]) -> Iterator[Planned]:
    layouts = ", then ".join(f"a {layout}" for layout in dict.fromkeys(order.layout for order in orders))
    for drive in drives:
        if (guarded := drive.guarded) is not None:
            lines = (*guarded.lines, f"will be     overwritten as a part of {layouts}, and wiped at the end")
            yield Planned(lines, guarded.document | {"options_to_type": list(guarded.options)})


def _refuse(drives: Sequence[Drive], plans: tuple[Planned, ...]) -> None:
    """Raise RefusedError if one of them may not be overwritten."""
    refused = [drive for drive in drives if drive.guarded is not None and drive.guarded.refusals]
    if refused:
        guards = [guarded for drive in refused if (guarded := drive.guarded) is not None]
        options = [word for each in guards for word in each.options] if all(each.options for each in guards) else []
        first = guards[0].refusals[0]
        text = f"{refused[0].identity.text} may not be written to: {first.words}"
        more = f"; and {len(refused) - 1} more drives" if len(refused) > 1 else ""
        others = strangers_to_all([drive.guarded.strangers for drive in drives if drive.guarded is not None])
        raise RefusedError(text + more, hint=first.hint, options=options, strangers=others, plan=plans)


def _turns(order: RebuildOrder, drives: Sequence[Drive], *, with_baseline: bool) -> list[Turn]:
    """What is rebuilt in turn. A distributed spare has no baseline: that would be the spare, and leave none."""
    has_other = drives[-1] is not drives[-2] and not order.on_spare
    first: list[Turn] = ["baseline"] if with_baseline and has_other else []
    return [*first, "new", "used"] if order.state == "used" else [*first, "new"]


def run_real(order: RebuildOrder, out: Path, consent: Consent, tell: Tell, *, with_baseline: bool) -> Run:
    """Rebuild into the new folder ``out``. Raises UsageError, RefusedError, EnvironmentFailure, Interrupted."""
    plan_real(order, consent, out, with_baseline=with_baseline)
    drives = _drives(order, consent, out)
    turns = _turns(order, drives, with_baseline=with_baseline)
    identity = _new_identity(order)
    state = State(order, turns, identity, [drive.identity.model_dump(mode="json") for drive in drives])
    array = _array(order, identity)
    folder = RunFolder.create(out, "shakedown rebuild --resume DIR")
    try:
        return _Play(state, array, drives, folder, tell).play()
    finally:
        folder.close()
        folder.discard()


def resume_real(out: Path, consent: Consent, tell: Tell) -> Run:
    """Go on with what a reboot has cut off. Raises as ``run_real``."""
    state = State.read(out)
    drives = _drives(state.order, consent, out)
    for then, drive in zip(state.drives, drives, strict=True):
        if drive.identity.model_dump(mode="json") != then:
            raise UsageError(f"`{drive.identity.text}` is not the drive that it was", hint="start a new rebuild")
    array = _array(state.order, state.identity)
    folder = RunFolder.create(out, is_ours=True)
    try:
        play = _Play(state, array, drives, folder, tell)
        play.find_again()
        return play.play()
    finally:
        folder.close()


class _Play:
    """One rebuild, from the first drive that is taken to the last that is given back."""

    def __init__(self, state: State, array: RealArray, drives: Sequence[Drive], folder: RunFolder, tell: Tell) -> None:
        self._state = state
        self._array = array
        self._drives = drives
        self._out = folder.path
        self._folder = folder
        self._tell = tell
        self._mounted: Path | None = None
        self._touched: list[Drive] = []

    @property
    def _order(self) -> RebuildOrder:
        return self._state.order

    def find_again(self) -> None:
        """After a reboot: the array must be ours, and what is not in it may be written to as before.

        Raises RefusedError.
        """
        self._folder.note("run-resumed")
        if any(not drive.is_ours_but_for_array() for drive in self._drives):
            plan_real(self._order, Consent(), self._out)  # raises, with every reason
        if self._state.stage in ("planned", "taken"):
            self._state.stage = "planned"
        elif not self._array.find(self._drives):
            if self._state.stage == "over":
                return  # cut off when it was taken down: the run is left to be kept
            raise RefusedError(
                f"no part of {self._state.identity} is on these drives", hint="was it taken apart? start a new rebuild"
            )
        else:
            self._touched = list(dict.fromkeys(self._drives))
        if self._state.watched is not None:
            self._state.watched["interruptions"] += 1
        elif self._state.stage == "rebuilding":
            self._state.restarts += 1  # cut off before the first look: the drive is taken out once more

    def play(self) -> Run:
        """All that is left to do. Raises ShakedownError, after all was taken down."""
        try:
            with self._taken_down():
                if self._state.stage != "over":
                    self._make_and_rebuild()
        except KeyboardInterrupt as error:
            raise self._interrupted() from error
        except BaseException:
            # What was measured to the end is not lost because it could not be taken down.
            if self._state.stage != "over":
                State.forget(self._out)
            raise
        run = self._keep_all()
        State.forget(self._out)
        return run

    def _make_and_rebuild(self) -> None:
        self._make()
        self._fill()
        while self._state.turn < len(self._state.turns):
            self._rebuild()
        self._state.differing = self._differing()
        self._reach("over")

    def _interrupted(self) -> Interrupted:
        state, again = self._state, f"`shakedown rebuild --resume {self._out}`, with the consent again, "
        if state.turn == len(state.turns):
            state.stage, told = "over", "keeps what was measured; whether the files were still right stays unknown"
        else:
            state.begin_again()
            told = f"makes it anew and goes on with rebuild {state.turn + 1} of {len(state.turns)}"
        state.write(self._out)
        return Interrupted("interrupted; the array is taken down, and its drives are wiped", hint=again + told)

    def _reach(self, stage: Any) -> None:
        self._state.stage = stage
        self._state.write(self._out)
        self._folder.note("array", stage=stage, turn=self._state.turn)

    def _make(self) -> None:
        if self._state.stage != "planned":
            return
        self._reach("taken")
        for drive in dict.fromkeys(self._drives):
            drive.take()
            self._touched.append(drive)
        # Before a drive is used again, it is the one that has replaced the last.
        is_used = self._state.turns[self._state.turn] == "used"
        members = [*self._drives[:-2], self._drives[-1]] if is_used else self._drives[:-1]
        are_blank = all(drive.is_blank() for drive in members)
        self._tell(f"making a {self._order.layout} of {len(members)} drives")
        self._array.create(members, are_blank=are_blank)
        self._reach("created")

    def _fill(self) -> None:
        if self._state.stage != "created":
            self._mount()
            return
        folder, order = self._mount(), self._order
        share = order.fill * (1 - _USERS_PART if order.load is not None else 1)
        content = self._state.content and Content(**self._state.content)
        if not content:
            file_bytes = order.options.file_bytes if isinstance(order.options, ZfsOptions) else None
            of_share = partial(Content.of_share, folder, data_a_shown_byte=data_a_shown_byte(order))
            content = of_share(share, order.seed, file_bytes)
            self._state.content = asdict(content)
            if order.load is not None:
                self._state.users = asdict(of_share(order.fill * _USERS_PART, order.seed + 1).as_one())
            self._state.write(self._out)
        if self._state.users is not None:
            (folder / "users").mkdir(exist_ok=True)
            wanted = Content(**self._state.users)
            self._tell(f"filling it with the users' file of {format_size(wanted.file_bytes)}")
            wanted.write(folder / "users", self._tell)
        files = "one file" if content.files == 1 else f"{content.files} files"
        self._tell(f"filling it with {files} of {format_size(content.file_bytes)}")
        content.write(folder, self._tell)
        if isinstance(order.options, ZfsOptions) and order.options.run_records is not None:
            content.age(folder, order.options.run_records * order.options.record_bytes, self._tell)
        self._remount()
        if wrong := self._differing():
            files = "a file is" if len(wrong) == 1 else f"{len(wrong)} files are"
            raise EnvironmentFailure(f"{files} not what was written, before any drive failed")
        if order.load is not None:
            self._tell(f"the load alone, for {ALONE_S:.0f} s")
            with self._users(ALONE) as users:
                time.sleep(ALONE_S)
                self._state.alone = [[list(row) for row in rows] for rows in users.stop()]
        self._state.allocated_bytes = self._array.allocated_bytes
        self._reach("filled")

    def _rebuild(self) -> None:
        """One drive is lost, wiped, and another, or itself, takes its place."""
        turn = self._state.turns[self._state.turn]
        lost, new = self._drives[-1 if turn == "used" else -2], self._drives[-2 if turn == "baseline" else -1]
        before = None if self._state.watched is None else Watched.from_json(self._state.watched)
        if before is None:
            if self._state.stage != "rebuilding":
                self._reach("rebuilding")
            self._array.lose(lost)
            lost.wipe()
        self._tell(f"{turn}: {taker(self._order, new)} takes the place of {lost.identity.text}")
        members = [*self._drives[:-2], new]
        watch = Watch(self._array, members, self._seen, before)

        def begin() -> None:
            if before is None:
                self._array.replace(lost, new)

        during: list[list[Any]] = [[], []]
        if self._order.load is None:
            watched = watch.follow(begin)
        else:
            with self._users(LOAD) as users:
                watched = watch.follow(begin)
                during = [[list(row) for row in rows] for rows in users.stop()]
        self._tell(f"{turn}: {'failed' if watched.failed else 'rebuilt'} in {format_duration(watched.duration_ns)}")
        watched.restarts, self._state.restarts = self._state.restarts, 0
        self._state.rebuilt.append(asdict(watched))
        self._state.during.append(during)
        self._state.watched = None
        self._state.turn = len(self._state.turns) if watched.failed else self._state.turn + 1
        self._state.stage = "filled"
        self._state.write(self._out)

    def _seen(self, watched: dict[str, Any]) -> None:
        self._state.watched = watched
        self._state.write(self._out)

    def _users(self, step: str) -> Users:
        assert self._mounted is not None
        assert self._order.load is not None
        assert self._state.users is not None
        file = Content(**self._state.users).first(self._mounted / "users")
        return Users(self._order.load, file, self._folder.raw.absolute(), step)

    def _differing(self) -> list[str]:
        """Read again what was written, with nothing of it in memory."""
        if self._state.content is None:
            return []
        folder = self._remount()
        self._tell("reading back what was written")
        return Content(**self._state.content).differing(folder)

    def _mount(self) -> Path:
        if self._mounted is None:
            self._mounted = Path(tempfile.mkdtemp(prefix="shakedown-array-"))
            self._array.mount(self._mounted)
        return self._mounted

    def _remount(self) -> Path:
        folder = self._mount()
        self._array.unmount(folder)
        self._array.mount(folder)
        return folder

    @contextmanager
    def _taken_down(self) -> Iterator[None]:
        """However it ends: unmounted, stopped, and the superblocks of the drives that were taken wiped."""
        try:
            yield
        finally:
            # A second Ctrl-C must not leave half of it.
            kept = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
            try:
                self._take_down()
            finally:
                for number, handler in kept.items():
                    signal.signal(number, handler)

    def _take_down(self) -> None:
        self._tell("taking it down")
        left = self._destroyed() or self._wiped()
        self._folder.note("taken-down", left="; ".join(left))
        if left:
            again = f", then `shakedown rebuild --resume {self._out}`, with the consent again, keeps what was measured"
            raise EnvironmentFailure(
                f"not all could be taken down: {'; '.join(left)}",
                hint=f"`lsblk` shows what stands{again if self._state.stage == 'over' else ''}",
            )

    def _destroyed(self) -> list[str]:
        """Unmount it and take it apart; why it stands, if it does."""
        left: list[str] = []
        if self._mounted is not None:
            try:
                self._array.unmount(self._mounted)
            except (ShakedownError, OSError) as error:
                left.append(str(error))
        try:
            self._array.destroy()
        except (ShakedownError, OSError) as error:
            return [*left, str(error), "no drive was wiped, as they are in use"]
        # What could be taken apart was not mounted any more, whatever unmounting it said.
        if self._mounted is not None:
            with suppress(OSError):
                self._mounted.rmdir()
        return []

    def _wiped(self) -> list[str]:
        """Wipe the drives that were taken; why some could not be."""
        left: list[str] = []
        for drive in self._touched:
            try:
                drive.wipe()
            except (ShakedownError, OSError) as error:
                left.append(f"{drive.identity.text}: {error}")
        return left

    def _keep_all(self) -> Run:
        """The last rebuild is the run; the baseline and, before a used drive, the new one lie within."""
        found: dict[Turn, list[Any]] = {}
        state = self._state
        for turn, watched, during in zip(state.turns, state.rebuilt, state.during, strict=False):
            is_last = turn == state.turns[-1]
            folder = (
                self._folder
                if is_last
                else RunFolder.create(self._out / (BASELINE_NAME if turn == "baseline" else _NEW_NAME), is_ours=True)
            )
            part = state.order.part_of_one if state.order.is_zfs else 1.0
            traced = Traced(Watched.from_json(watched), during, state.alone, state.allocated_bytes, part)
            # All was read back once, at the end: if nothing was lost then, nothing was before.
            differing = state.differing if is_last or not state.differing else None
            rebuild = measured(traced, len(self._drives) - 2, differing or ())
            new = self._drives[-2 if turn == "baseline" else -1]
            names = [drive.identity.name for drive in (*self._drives[:-2], new)]
            found[turn] = findings([rebuild], names, state.order.limit_bytes_per_s, ordered_rate(state.order.load))
            theirs = found.get("baseline", []) if turn != "baseline" else []
            order = replace(
                state.order, replacement=new.identity.text, state="used" if turn in ("baseline", "used") else "new"
            )
            setting = setting_of(
                order, (*self._drives[:-1], new), rebuild, traced.watched, is_read_back=differing is not None
            )
            keep(
                folder,
                order,
                [rebuild],
                found[turn] + ratios(found[turn], theirs),
                setting,
                has_baseline=is_last and bool(theirs),
            )
            if not is_last:
                folder.close()
        return read_run(self._out)


def _drives(order: RebuildOrder, consent: Consent, out: Path) -> list[Drive]:
    """All of them, the replacement last: the drive that failed itself, where no other is given."""
    check_order(order)
    texts = [*order.members, order.replacement]
    in_lab = all(text.startswith("lab:") for text in texts)
    refuse_of_models(order.options, is_lab=in_lab)
    if order.scale_divisor != 1 and not in_lab:
        raise UsageError(
            "`--scale` makes modelled drives smaller, and those of the lab; real ones have the size that they have",
            hint="leave it out; --member-size says how much of each drive the array uses",
        )
    if not in_lab:
        members = devices_apart(order.members)
        if devices_apart([order.replacement])[0] in members[:-1]:
            raise UsageError(
                f"`{order.replacement}` is in the array already", hint="--replace-with takes another device"
            )
    drives = [
        Drive(text, number, run=out / "drives" / str(number), consent=consent)
        for number, text in enumerate(order.members)
    ]
    if not in_lab and os.path.realpath(order.replacement) == os.path.realpath(order.members[-1]):
        return [*drives, drives[-1]]
    number = len(order.members)
    return [*drives, Drive(order.replacement, number, run=out / "drives" / str(number), consent=consent)]


def _check_room(order: RebuildOrder, drives: Sequence[Drive]) -> None:
    if order.load is not None:
        endless(order.load)
    smallest = min(drive.identity.capacity_bytes for drive in drives[:-1])
    wanted = smallest if order.member_bytes is None else order.member_bytes
    if wanted > smallest:
        has, uses = format_two_sizes(smallest, wanted)
        raise UsageError(f"the smallest drive has {has}, and the array was to use {uses}")
    new = drives[-1].identity
    refuse_too_small(new.text, new.capacity_bytes, wanted)


def _new_identity(order: RebuildOrder) -> str:
    drawn = uuid.UUID(bytes=os.urandom(16)).hex
    return f"shakedown-{drawn[:8]}" if order.is_zfs else ":".join(drawn[at : at + 8] for at in range(0, 32, 8))


def _array(order: RebuildOrder, identity: str) -> RealArray:
    shape = Shape(order.layout, order.member_bytes, order.options)
    return ZfsArray(shape, identity) if order.is_zfs else MdArray(shape, identity)
