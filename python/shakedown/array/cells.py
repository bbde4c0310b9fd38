"""How the cells of a matrix come about: modelled ones on all cores, real ones one after the other.

A real cell is a rebuild in a run folder of its own, ``cells/LAYOUT-WIDTH-FILL``: it is gone on with, or read, there.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from shakedown.analysis.matrix import Cell
from shakedown.analysis.status import look_at
from shakedown.array.in_lab import InGuest, is_cut_off_in_lab, resume_in_lab, run_rebuild_in_lab
from shakedown.array.order import RebuildOrder, drive_name
from shakedown.array.real import plan_real, resume_real, run_real
from shakedown.array.rebuild import simulate
from shakedown.array.run import Tell
from shakedown.array.state import State
from shakedown.device.disk.facts import NO_CONSENT, Consent
from shakedown.errors import EnvironmentFailure, Interrupted, ShakedownError, UsageError
from shakedown.parallel import on_every_core
from shakedown.result.answers import read_answers
from shakedown.result.folder import CELLS_NAME, RECORD_NAME, Run, free_folder, read_run
from shakedown.units import NS_PER_S, format_duration, format_left


class Place(NamedTuple):
    """Where a cell stands in the matrix."""

    layout: str
    width: int
    fill: float

    def __str__(self) -> str:
        """For people."""
        return f"{self.layout} of {self.width}, {self.fill:.0%} full"

    @property
    def name(self) -> str:
        """For a folder."""
        return f"{self.layout}-{self.width}-{self.fill * 100:g}"


@dataclass(frozen=True)
class RealWay:
    """What real cells need beside their orders: the folder of the matrix, the options as they were given, consent."""

    folder: Path
    settings: tuple[str, ...] = ()
    consent: Consent = field(default_factory=lambda: NO_CONSENT)


class Broken(NamedTuple):
    """A cell that a bug of ours kept from being: what was raised, and where."""

    place: Place
    raised: str
    trace: str


class CellsBrokenError(Exception):
    """A bug of ours in some cells of a matrix. All others are done."""

    def __init__(self, broken: Sequence[Broken], cells: int) -> None:
        """One of them is told whole: the others are most likely of the same kind."""
        first = broken[0]
        super().__init__(
            f"{len(broken)} of {cells} cells could not be computed, the first of them {first.place}: {first.raised};"
            " all others are in the CSV, and the same command tries these again"
        )
        self.add_note(first.trace)


def modelled_cells(orders: Mapping[Place, RebuildOrder], tell: Tell) -> Iterator[Cell]:
    """In the order in which they are done. The widest begin first: they take longest. Cells that are alike are one job.

    A bug in one ends no other: raises CellsBrokenError when all others are done. Raises EnvironmentFailure if a process
    is ended from outside.
    """
    alike = _alike(orders)
    jobs = sorted(((places[0], orders[places[0]]) for places in alike), key=lambda job: -job[0].width)
    of_job = {places[0]: places for places in alike}
    pace = _Pace(orders, tell)
    broken: list[Broken] = []
    with on_every_core(_modelled, jobs) as pending:
        for done in as_completed(pending):
            try:
                place, cell = done.result()
            except BrokenProcessPool as error:
                raise EnvironmentFailure(
                    "a process that computed a cell was ended from outside, as the kernel does for want of memory",
                    hint="the same command goes on: what is done is in its CSV",
                ) from error
            for each in of_job[place]:
                if isinstance(cell, Broken):
                    broken.append(cell._replace(place=each))
                else:
                    yield pace.done(replace(cell, fill=each.fill))
    if broken:
        raise CellsBrokenError(broken, len(orders))


def _alike(orders: Mapping[Place, RebuildOrder]) -> list[list[Place]]:
    """Places whose cells differ by their fill alone, where that matters to nobody, together."""
    groups: dict[Place, list[Place]] = {}
    for place, order in orders.items():
        groups.setdefault(place if order.fill_matters else place._replace(fill=1.0), []).append(place)
    return list(groups.values())


def _modelled(place: Place, order: RebuildOrder) -> tuple[Place, Cell | Broken]:
    try:
        return place, cell_of(place, order, simulate(order).to_json())
    except (ShakedownError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of the core is no Exception, and cannot be sent as it is
        return place, Broken(place, f"{type(error).__name__}: {error}", traceback.format_exc())


def real_cells(orders: Mapping[Place, RebuildOrder], way: RealWay, tell: Tell) -> Iterator[Cell]:
    """One after the other, of the lab or of drives. Raises as ``run_real``, and RefusedError before anything is begun.

    The one that was cut off comes first: until it is over its drives are members of something, and nobody else's.
    """
    folders = {place: _folder_of(way.folder, place) for place in orders}
    cut_off = [place for place in orders if _is_cut_off(folders[place])]
    rest = [place for place in orders if place not in cut_off]
    pace = _Pace(orders, tell)
    for place in cut_off:
        tell(f"going on with {place}")
        yield pace.done(cell_of_run(place, orders[place], _resumed(folders[place], orders[place], way, tell)))
    check_real({place: orders[place] for place in rest}, way)
    for place in rest:
        folder = folders[place]
        if not (folder / RECORD_NAME).exists():
            tell(f"{place}: {folder}")
            _begun(folder, orders[place], way, tell)
        yield pace.done(cell_of_run(place, orders[place], read_run(folder)))


def check_real(orders: Mapping[Place, RebuildOrder], way: RealWay) -> tuple[Any, ...]:
    """The plan for every drive: the widest cell has them all. Raises RefusedError, with that, if one may not be."""
    widest = max(orders.values(), key=lambda order: len(order.members), default=None)
    if widest is None or widest.arena != "device":
        return ()
    return plan_real(widest, way.consent, way.folder / CELLS_NAME, cells=list(orders.values()))


def _folder_of(matrix: Path, place: Place) -> Path:
    """That of the cell's rebuild, if it is there or can be gone on with; else a new one."""
    return free_folder(
        matrix / CELLS_NAME / place.name, lambda folder: (folder / RECORD_NAME).exists() or _is_cut_off(folder)
    )


def _is_cut_off(folder: Path) -> bool:
    return State.is_in(folder) or is_cut_off_in_lab(folder)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Who interrupts a matrix goes on with the matrix, not with its cell."""
    try:
        yield
    except Interrupted as error:
        raise Interrupted(
            str(error), hint="the same command goes on where it was interrupted: what is done is in its CSV"
        ) from error


def _resumed(folder: Path, order: RebuildOrder, way: RealWay, tell: Tell) -> Run:
    with _interruptible():
        if order.arena == "lab":
            return resume_in_lab(folder, tell)
        return resume_real(folder, way.consent, tell)


def _begun(folder: Path, order: RebuildOrder, way: RealWay, tell: Tell) -> Run:
    with _interruptible():
        if order.arena == "lab":
            return run_rebuild_in_lab(InGuest(order, way.settings, "none"), folder, tell)
        return run_real(order, folder, way.consent, tell, with_baseline=False)


class _Pace:
    """Tells of each cell that is done, and how long the others will take.

    A modelled cell takes as long as its vdev is wide, and no time where nothing is allocated. It is reckoned from the
    first that took time: what passes before is the beginning of processes, for which no other cell waits.
    """

    def __init__(self, orders: Mapping[Place, RebuildOrder], tell: Tell) -> None:
        self._effort = {place: 0 if order.has_nothing_to_do else len(order.members) for place, order in orders.items()}
        self._cells = len(orders)
        self._tell = tell
        self._done = 0
        self._spent = 0
        self._first: tuple[float, int] | None = None

    def done(self, cell: Cell) -> Cell:
        place = Place(cell.layout, cell.width, cell.fill)
        self._done += 1
        self._spent += self._effort[place]
        took = format_duration(cell.time_s * NS_PER_S) if cell.ended == "complete" else cell.ended
        told = "nothing to resilver" if cell.is_of_nothing else took
        self._tell(f"{self._done} of {self._cells}: {place}: {told}{self._left()}")
        return cell

    def _left(self) -> str:
        """Empty while nobody can know, and where no cell is left that takes time."""
        left, now_s = sum(self._effort.values()) - self._spent, monotonic()
        if self._first is None and self._spent:
            self._first = now_s, self._spent
        if self._first is None or not left or self._spent == self._first[1]:
            return ""
        first_s, first_spent = self._first
        left_s = (now_s - first_s) / (self._spent - first_spent) * left
        return f"; {format_left(left_s * NS_PER_S, 'about')}"


def cell_of_run(place: Place, order: RebuildOrder, run: Run) -> Cell:
    """Of a real rebuild, from its folder. Raises UsageError if that is damaged."""
    try:
        [told] = read_answers(run.path)["rebuilds"]
        return cell_of(place, order, told)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"`{run.path}` is damaged: {error}", hint="remove it: the cell is then made anew") from error


def _deviation_s(told: Mapping[str, Any]) -> float | None:
    """Nothing is known of how wrong a sample of md's may be; what was gone through as a whole has none."""
    deviation_s = round(told["deviation_ns"] / NS_PER_S, 3)
    return deviation_s if told["whole"] or deviation_s else None


def cell_of(place: Place, order: RebuildOrder, told: Mapping[str, Any]) -> Cell:
    """``told`` is what ``Rebuild.to_json`` gives."""
    names = [drive_name(target) for target in (*order.members[:-1], order.replacement)]
    slowest, new, members = told["slowest"], told["replacement"], told["members"]
    left_out = {number for number, member in enumerate(members) if member["failed_at_ns"] is not None}
    failed = sorted({*left_out, *([told["failed_member"]] if told["ended"] == "failed" else [])} - {None})

    def called(number: int) -> str:
        who = "replacement" if number == new else f"drive {number}"
        return f"{who} ({names[number]})"

    half = look_at(0.5, told["progress"], told["duration_ns"])
    return Cell(
        layout=place.layout,
        width=place.width,
        fill=place.fill,
        time_s=round(told["duration_ns"] / NS_PER_S, 3),
        deviation_s=_deviation_s(told),
        slowest=called(slowest) if told["duration_ns"] else "",
        written_bytes=members[new]["bytes_written"],
        read_bytes=sum(member["bytes_read"] for number, member in enumerate(members) if number != new),
        estimate_error=None if half is None or told["ended"] == "failed" else round(half.error, 4),
        ended=told["ended"],
        longest_command_s=round(members[new]["longest_command_ns"] / NS_PER_S, 3),
        commands_given_up=sum(member["timeouts"] for member in members),
        failed_drive=" and ".join(called(number) for number in failed),
    )
