"""Rebuilds over layouts, widths and fills, as account D did them: a folder that goes on where it was left."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from math import isfinite
from pathlib import Path
from typing import Any, Final

from shakedown.analysis.matrix import Cell
from shakedown.array.cells import Place, RealWay, check_real, modelled_cells, real_cells
from shakedown.array.effort import check_disk, effort_in_lab, together
from shakedown.array.in_lab import refuse_in_lab
from shakedown.array.order import LEAST_WIDTHS, REBUILT, Arena, RebuildOrder, arena_of, check_layout, drive_name
from shakedown.array.settings import parse_options
from shakedown.array.unsure import assumed, is_onto_shingled, unsure_failure, unsure_of_all
from shakedown.device.disk.facts import NO_CONSENT, Consent
from shakedown.errors import Planned, UsageError
from shakedown.result.atomic import failed_write, make_folder, replace_file

CSV_NAME: Final = "matrix.csv"
ORDER_NAME: Final = "matrix.json"
FORMAT_VERSION: Final = 3
_HEAD: Final = tuple(each.name for each in fields(Cell))
WIDEST: Final = 255
_SHORT: Final = (
    "CAUTION: scaled down, what a rebuild takes at its beginning and end, whatever the drives' size, is a larger part"
    " of it: cells that differ by a few percent need not differ with whole drives."
)
_SCALED: Final = (
    "CAUTION: scaled down, a shingled drive's cache is full sooner, and who would be kicked out is a question of whole"
    " drives."
)

Tell = Callable[[str], None]


@dataclass(frozen=True)
class MatrixOrder:
    """Which cells: every layout over every width that it can have, at every fill.

    ``targets`` are taken in turn; real drives are as many as the widest cell has. ``settings`` are options as people
    write them.
    """

    layouts: tuple[str, ...]
    widths: tuple[int, ...]
    fills: tuple[float, ...]
    targets: tuple[str, ...]
    replacement: str | None = None
    settings: tuple[str, ...] = ()
    seed: int = 1
    scale_divisor: int = 1
    member_bytes: int | None = None
    whole: bool = False

    @property
    def arena(self) -> Arena:
        """Whose drives they are. Raises UsageError if they are of several arenas."""
        return arena_of(self.targets if self.replacement is None else (*self.targets, self.replacement))

    def cells(self) -> dict[Place, RebuildOrder]:
        """Every cell, in the order of the CSV. Raises UsageError if there is none, or one cannot be."""
        self._check()
        cells = {
            place: self._rebuild(place)
            for layout in self.layouts
            for width in self.widths
            if width >= LEAST_WIDTHS[layout]
            for fill in self.fills
            for place in (Place(layout, width, fill),)
        }
        if not cells:
            raise UsageError("no layout can have any of these widths", hint="raidz3 takes 4 drives or more")
        for order in cells.values():  # what cannot be is refused before anything is made
            if self.arena == "lab":
                refuse_in_lab(order)
            if self.arena != "device":
                order.as_modelled().to_core()
        return cells

    @property
    def left_out(self) -> tuple[str, ...]:
        """What is ordered and cannot be: a sentence for each layout that some of the widths are too small for."""
        told = []
        for layout in self.layouts:
            least = LEAST_WIDTHS[layout]
            if narrow := [str(width) for width in self.widths if width < least]:
                told.append(f"{layout}: left out at {' and '.join(narrow)} drives; it takes {least} or more.")
        return tuple(told)

    @property
    def title(self) -> str:
        """Which drives, how large, and the new one, where it is another."""
        drives = ", ".join(dict.fromkeys(self.targets))
        scaled = f", 1/{self.scale_divisor} of their size" if self.scale_divisor > 1 else ""
        onto = f", onto {drive_name(self.replacement)}" if self.replacement is not None else ""
        return drives + scaled + onto

    @property
    def is_of_like_drives(self) -> bool:
        """Account D speaks of pools of one model, and of no other drive that is put in."""
        return len({*self.targets, *([] if self.replacement is None else [self.replacement])}) == 1

    def cautions(self, made: Sequence[Cell]) -> tuple[str, ...]:
        """Where modelled cells that came out so are less certain than they look: their times, or that they failed."""
        if self.arena != "model":
            return ()
        orders = self.cells()
        came = {Place(cell.layout, cell.width, cell.fill): cell for cell in made}
        failed = [orders[place] for place, cell in came.items() if cell.ended == "failed"]
        timed = {place: orders[place] for place, cell in came.items() if cell.ended != "failed"}
        sampled = [order for place, order in timed.items() if came[place].is_sampled]
        told = (*unsure_of_all([*timed.values()], sampled, beside="`deviation_s`"), *unsure_failure(*failed))
        of_scale = (_SHORT, _SCALED) if any(map(is_onto_shingled, orders.values())) else (_SHORT,)
        return (*told, *assumed(*orders.values()), *(of_scale if self.scale_divisor > 1 else ()))

    @property
    def replaced(self) -> tuple[str, ...]:
        """Of several drives, which one fails: the last of each vdev, and that depends on layout and width."""
        if len(set(self.targets)) == 1:
            return ()
        where: dict[str, list[str]] = {}
        for layout in self.layouts:
            for width in self.widths:
                if width >= LEAST_WIDTHS[layout]:
                    name = drive_name(self._members(Place(layout, width, 0.0))[-1])
                    where.setdefault(name, []).append(f"{layout} of {width}")
        told = "; ".join(f"{name} in {', '.join(places)}" for name, places in where.items())
        return (f"replaced: the last drive in the order, of a mirror the second: {told}.",)

    def _check(self) -> None:
        for layout in self.layouts:
            check_layout(layout)
        if not self.targets:
            raise UsageError("a matrix needs a drive", hint="shakedown matrix model:hd103uj")
        if self.whole and self.arena != "model":
            raise UsageError(
                "`--whole` is for modelled drives: of others every request is made", hint="leave `--whole` out"
            )
        if wrong := [fill for fill in self.fills if not 0 <= fill <= 1]:
            raise UsageError(f"a pool cannot be {wrong[0]:.0%} full", hint="--fills takes 0% to 100%")
        if wrong_width := [width for width in self.widths if not 2 <= width <= WIDEST]:
            wide = "one drive" if wrong_width[-1] == 1 else f"{wrong_width[-1]} drives"
            raise UsageError(f"a pool of {wide} cannot be", hint=f"--widths takes 2 to {WIDEST}")
        if self.arena == "device" and len(self.targets) < self.widths[-1]:
            raise UsageError(
                f"a pool of {self.widths[-1]} drives needs as many, and {len(self.targets)} are given",
                hint="give each device once, or fewer --widths",
            )

    def _rebuild(self, place: Place) -> RebuildOrder:
        """The rebuild of one cell."""
        members = self._members(place)
        return RebuildOrder(
            layout=place.layout,
            members=members,
            replacement=self.replacement or members[-1],
            member_bytes=self.member_bytes,
            fill=place.fill,
            seed=self.seed + place.width,
            scale_divisor=self.scale_divisor,
            whole=self.whole,
            options=parse_options(place.layout, self.settings),
        )

    def _members(self, place: Place) -> tuple[str, ...]:
        """The drives of one cell's vdev.

        A "mirror" of so many drives stands for a pool of pairs, as in account D: one is rebuilt, and the other pairs,
        and an odd drive that makes none, have no part in it.
        """
        drives = 2 if place.layout == "mirror" else place.width
        return tuple(self.targets[number % len(self.targets)] for number in range(drives))

    def to_json(self) -> dict[str, Any]:
        """What has to be the same for a folder to be gone on with. Folders of samples do not say so: none did once."""
        told = asdict(self)
        if not self.whole:
            del told["whole"]
        return {"format_version": FORMAT_VERSION, **json.loads(json.dumps(told))}


def plan_matrix(order: MatrixOrder, folder: Path, consent: Consent) -> tuple[Planned, ...]:
    """What would be overwritten, a plan for each drive, or what the lab takes of this machine.

    Raises RefusedError, with that, if a drive may not be overwritten; UsageError if the lab has no room.
    """
    cells = order.cells()
    if order.arena == "lab":
        effort = together(effort_in_lab(rebuild, with_baseline=False) for rebuild in cells.values())
        check_disk(effort)
        return (Planned((f"{len(cells)} cells: {effort.words}",), effort.document),)
    return check_real(cells, RealWay(folder, order.settings, consent))


def run_matrix(order: MatrixOrder, folder: Path, tell: Tell, consent: Consent = NO_CONSENT) -> list[Cell]:
    """Rebuild in every cell that ``folder`` does not hold yet; returns all, in the order of the order.

    Each cell is in the folder's CSV, durably, as soon as it is done. Raises UsageError for what cannot be and for a
    folder that holds another matrix; of real drives, whatever a rebuild of them raises.
    """
    wanted = order.cells()
    done = {Place(cell.layout, cell.width, cell.fill): cell for cell in _begin(order, folder, consent, tell)}
    missing = {place: rebuild for place, rebuild in wanted.items() if place not in done}
    if done and missing:
        tell(f"{len(wanted) - len(missing)} of {len(wanted)} cells are there: going on")
    way = RealWay(folder, order.settings, consent)
    made = modelled_cells(missing, tell) if order.arena == "model" else real_cells(missing, way, tell)
    for cell in made:
        _append(folder / CSV_NAME, cell)
        done[Place(cell.layout, cell.width, cell.fill)] = cell
    cells = [done[place] for place in wanted]
    replace_file(folder / CSV_NAME, to_csv(cells).encode())
    return cells


def to_csv(cells: Sequence[Cell]) -> str:
    """A head and a row a cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEAD)
    writer.writerows(_row(cell) for cell in cells)
    return text.getvalue()


def _begin(order: MatrixOrder, folder: Path, consent: Consent, tell: Tell) -> list[Cell]:
    """Make the folder, or take what it holds of the same matrix. Nothing is made of drives that may not be written."""
    path = folder / ORDER_NAME
    if not path.exists():
        plans = plan_matrix(order, folder, consent)
        if order.arena == "lab":
            tell(plans[0].lines[0])
    text = json.dumps(order.to_json(), indent=1, sort_keys=True)
    try:
        make_folder(folder)
        if not path.exists():
            if any(folder.iterdir()):
                raise UsageError(f"`{folder}` holds something else", hint="choose another folder with --out")
            replace_file(path, text.encode())
            replace_file(folder / CSV_NAME, to_csv([]).encode())
            return []
        if (kept := path.read_bytes()) != text.encode():
            _check_order(path, kept)
            raise UsageError(
                f"`{folder}` holds another matrix",
                hint="go on with the same options, or choose another folder with --out",
            )
        return _read(folder / CSV_NAME)
    except OSError as error:
        raise failed_write(folder, error) from error


def _check_order(path: Path, kept: bytes) -> None:
    """Raise UsageError for what is the order of no matrix at all."""
    try:
        json.loads(kept)["format_version"]
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(
            f"`{path}` is damaged: {error}", hint="restore it from a copy, or choose another folder with --out"
        ) from error


def _read(path: Path) -> list[Cell]:
    """The cells of a CSV; a last line that was not finished is dropped. Raises UsageError for what is no cell."""
    content = path.read_bytes()
    *lines, last = content.split(b"\n")
    cells: list[Cell] = []
    for number, line in enumerate([*lines, last], start=1):
        try:
            if number > len(lines):
                _check_cut_off(line.decode())
            elif number == 1:
                _check_head(line.decode())
            else:
                cells.append(_cell(line.decode()))
        except (ValueError, csv.Error) as error:
            raise UsageError(
                f"`{path}` is damaged in line {number}: {error}",
                hint="restore it from a copy, or take that line out: what it told is then made anew",
            ) from error
    if last:
        replace_file(path, content.removesuffix(last))
    return cells


def _check_head(line: str) -> None:
    if line != ",".join(_HEAD):
        raise ValueError("the names of the columns are not those of a matrix")


def _check_cut_off(line: str) -> None:
    """What a write that was cut off leaves begins as a cell does."""
    begun = (f"{layout}," for layout in REBUILT)
    if not any(line.startswith(each) or each.startswith(line) for each in begun):
        raise ValueError("it begins as no cell does")


def _cell(line: str) -> Cell:
    """Raises ValueError and csv.Error."""
    values = next(csv.reader([line], strict=True), [])
    if len(values) != len(_HEAD):
        raise ValueError(f"{len(values)} values, where a cell has {len(_HEAD)}")
    row = dict(zip(_HEAD, values, strict=True))
    if row["layout"] not in REBUILT:
        raise ValueError(f"`{row['layout']}` is no layout")
    return Cell(
        layout=row["layout"],
        width=int(row["width"]),
        fill=_number(row["fill"]),
        time_s=_number(row["time_s"]),
        deviation_s=_number(row["deviation_s"]) if row["deviation_s"] else None,
        slowest=row["slowest"],
        written_bytes=int(row["written_bytes"]),
        read_bytes=int(row["read_bytes"]),
        estimate_error=_number(row["estimate_error"]) if row["estimate_error"] else None,
        ended=row["ended"],
        longest_command_s=_number(row["longest_command_s"]),
        commands_given_up=int(row["commands_given_up"]),
        failed_drive=row["failed_drive"],
    )


def _number(text: str) -> float:
    if not isfinite(value := float(text)):
        raise ValueError(f"`{text}` is no number")
    return value


def _row(cell: Cell) -> tuple[object, ...]:
    return tuple("" if value is None else value for value in astuple(cell))


def _append(path: Path, cell: Cell) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(_row(cell))
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text.getvalue())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise failed_write(path, error) from error
