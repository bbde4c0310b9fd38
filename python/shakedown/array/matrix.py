"""Resilvers over layouts, widths and fills, as account D did them: a folder that goes on where it was left."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import asdict, astuple, dataclass, field, fields
from pathlib import Path
from time import monotonic
from typing import Any, Final

from shakedown.analysis.matrix import Cell
from shakedown.array.order import RebuildOrder, model_path
from shakedown.array.rebuild import Rebuild, simulate
from shakedown.array.zfs import ZFS_LEAST_WIDTHS, ZfsOptions
from shakedown.errors import UsageError
from shakedown.parallel import on_every_core
from shakedown.result.atomic import failed_write, replace_file
from shakedown.units import format_duration

CSV_NAME: Final = "matrix.csv"
ORDER_NAME: Final = "matrix.json"
FORMAT_VERSION: Final = 1
_HEAD: Final = tuple(each.name for each in fields(Cell))
_WIDEST: Final = 255

Tell = Callable[[str], None]


@dataclass(frozen=True)
class MatrixOrder:
    """Which cells: every layout over every width that it can have, at every fill, of drives taken in turn."""

    layouts: tuple[str, ...]
    widths: tuple[int, ...]
    fills: tuple[float, ...]
    targets: tuple[str, ...]
    replacement: str | None = None
    options: ZfsOptions = field(default_factory=ZfsOptions)
    seed: int = 1

    def cells(self) -> list[tuple[str, int, float]]:
        """Every cell, in the order of the CSV. Raises UsageError if there is none, or one cannot be."""
        self._check()
        cells = [
            (layout, width, fill)
            for layout in self.layouts
            for width in self.widths
            if width >= ZFS_LEAST_WIDTHS[layout]
            for fill in self.fills
        ]
        if not cells:
            raise UsageError("no layout can have any of these widths", hint="raidz3 takes 4 drives or more")
        return cells

    def _check(self) -> None:
        for layout in self.layouts:
            if layout not in ZFS_LEAST_WIDTHS:
                raise UsageError(f"`{layout}` is not a layout of ZFS", hint=", ".join(ZFS_LEAST_WIDTHS))
        if not self.targets:
            raise UsageError("a matrix needs a drive", hint="shakedown matrix model:hd103uj")
        if wrong := [fill for fill in self.fills if not 0 <= fill <= 1]:
            raise UsageError(f"a pool cannot be {wrong[0]:.0%} full", hint="--fills takes 0% to 100%")
        if wrong_width := [width for width in self.widths if not 2 <= width <= _WIDEST]:
            raise UsageError(f"a pool of {wrong_width[0]} drives cannot be", hint=f"--widths takes 2 to {_WIDEST}")

    def rebuild(self, layout: str, width: int, fill: float) -> RebuildOrder:
        """The resilver of one cell.

        A "mirror" of so many drives is a pool of pairs, as in account D; the other pairs have no part in it.
        """
        drives = 2 if layout == "mirror" else width
        members = tuple(self.targets[place % len(self.targets)] for place in range(drives))
        return RebuildOrder(
            layout=layout,
            members=members,
            replacement=self.replacement or members[-1],
            fill=fill,
            seed=self.seed + width,
            options=self.options,
        )

    def to_json(self) -> dict[str, Any]:
        """What has to be the same for a folder to be gone on with."""
        return {"format_version": FORMAT_VERSION, **json.loads(json.dumps(asdict(self)))}


def run_matrix(order: MatrixOrder, folder: Path, tell: Tell) -> list[Cell]:
    """Resilver every cell that ``folder`` does not hold yet, on all cores; returns all, in the order of the order.

    Each cell is in the folder's CSV, durably, as soon as it is done. Raises UsageError for what cannot be and for a
    folder that holds another matrix.
    """
    wanted = order.cells()
    for place in wanted:
        order.rebuild(*place).to_core()  # what cannot be is refused before anything is made
    done = {(cell.layout, cell.width, cell.fill): cell for cell in _begin(order, folder)}
    missing = [place for place in wanted if place not in done]
    if done and missing:
        tell(f"{len(wanted) - len(missing)} of {len(wanted)} cells are there: going on")
    for cell in _in_parallel(order, missing, tell):
        _append(folder / CSV_NAME, cell)
        done[cell.layout, cell.width, cell.fill] = cell
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


def _begin(order: MatrixOrder, folder: Path) -> list[Cell]:
    """Make the folder, or take what it holds of the same matrix."""
    path = folder / ORDER_NAME
    text = json.dumps(order.to_json(), indent=1, sort_keys=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            if any(folder.iterdir()):
                raise UsageError(f"`{folder}` holds something else", hint="choose another folder with --out")
            replace_file(path, text.encode())
            replace_file(folder / CSV_NAME, to_csv([]).encode())
            return []
        if path.read_text(encoding="utf-8") != text:
            raise UsageError(
                f"`{folder}` holds another matrix",
                hint="go on with the same options, or choose another folder with --out",
            )
        return _read(folder / CSV_NAME)
    except OSError as error:
        raise failed_write(folder, error) from error


def _read(path: Path) -> list[Cell]:
    """The cells of a CSV; a last line that was not finished is dropped."""
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        replace_file(path, whole.encode())
    return [_cell(row) for row in csv.DictReader(io.StringIO(whole))]


def _cell(row: dict[str, str]) -> Cell:
    return Cell(
        layout=row["layout"],
        width=int(row["width"]),
        fill=float(row["fill"]),
        time_s=float(row["time_s"]),
        deviation_s=float(row["deviation_s"]),
        slowest=row["slowest"],
        written_bytes=int(row["written_bytes"]),
        read_bytes=int(row["read_bytes"]),
        estimate_error=float(row["estimate_error"]) if row["estimate_error"] else None,
        ended=row["ended"],
    )


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


def _in_parallel(order: MatrixOrder, cells: Sequence[tuple[str, int, float]], tell: Tell) -> Iterator[Cell]:
    """The widest first: they take longest."""
    orders = [(order, *cell) for cell in sorted(cells, key=lambda cell: -cell[1])]
    began_s = monotonic()
    with on_every_core(_resilver, orders, ends_all=KeyboardInterrupt) as pending:
        for number, done in enumerate(as_completed(pending), start=1):
            cell = done.result()
            left_s = (monotonic() - began_s) / number * (len(orders) - number)
            tell(
                f"{number} of {len(orders)}: {cell.layout} of {cell.width}, {cell.fill:.0%} full:"
                f" {format_duration(cell.time_s * 1e9)}; about {format_duration(left_s * 1e9)} left"
            )
            yield cell


def _resilver(order: MatrixOrder, layout: str, width: int, fill: float) -> Cell:
    rebuild = order.rebuild(layout, width, fill)
    done = simulate(rebuild)
    names = [model_path(target).stem for target in (*rebuild.members[:-1], rebuild.replacement)]
    who = "replacement" if done.slowest == done.replacement else f"drive {done.slowest}"
    others = [place for place in range(len(names)) if place != done.replacement]
    return Cell(
        layout=layout,
        width=width,
        fill=fill,
        time_s=round(done.duration_s, 3),
        deviation_s=round(done.deviation_ns / 1e9, 3),
        slowest=f"{who} ({names[done.slowest]})",
        written_bytes=done.members["bytes_written"][done.replacement],
        read_bytes=sum(done.members["bytes_read"][place] for place in others),
        estimate_error=_estimate_error(done),
        ended=done.ended,
    )


def _estimate_error(done: Rebuild) -> float | None:
    """At the look nearest to half of the time."""
    looks = [look for look in done.progress.iter_rows(named=True) if 0 < look["at_ns"] < done.duration_ns]
    half = min(looks, key=lambda look: abs(look["at_ns"] - done.duration_ns / 2), default=None)
    if half is None or half["left_ns"] is None:
        return None
    return float(round(half["left_ns"] / (done.duration_ns - half["at_ns"]) - 1, 4))
