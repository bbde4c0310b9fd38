"""Resilver times over layouts, widths and fills: one cell of the matrix, and what account D saw in the whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

_LAYOUTS_OF_D: Final = ("mirror", "raidz1", "raidz2", "raidz3")
_ON_PAR: Final = 1.10
_LONGER: Final = 1.05
_NARROW: Final = 5
_WIDE: Final = 8
_SLIGHTLY: Final = (2.0, 2.2)
_NAMED: Final = 5


@dataclass(frozen=True, order=True)
class Cell:
    """One resilver.

    Time and its standard deviation (of making only a part request by request; None where nobody knows it) in seconds;
    ``slowest`` is the drive that held it up: waited for alone, or else the busiest; bytes are those written to the new
    drive and read from all others; ``estimate_error`` is what ``zpool status`` said was left, half way through, over
    what was, less one (None: it said nothing); ``longest_command_s`` is the new drive's; ``commands_given_up`` counts
    those of all drives that were not answered in time, ``failed_drive`` tells which drives more were left out, if any.
    """

    layout: str
    width: int
    fill: float
    time_s: float
    deviation_s: float | None
    slowest: str
    written_bytes: int
    read_bytes: int
    estimate_error: float | None
    ended: str
    longest_command_s: float = 0.0
    commands_given_up: int = 0
    failed_drive: str = ""

    @property
    def is_sampled(self) -> bool:
        """Whether only a part was made request by request; how far that may be off is not known of md."""
        return self.deviation_s is None or self.deviation_s > 0

    @property
    def is_of_nothing(self) -> bool:
        """An empty pool's: nothing is allocated, and so nothing was resilvered."""
        return self.ended == "complete" and not self.time_s


@dataclass(frozen=True)
class Observation:
    """One of account D's statements: whether the matrix says so, too, or None where it has not the cells to tell.

    ``holds_if`` is where that is drawn. The account tells no figures: the line is ours.
    """

    row: str
    statement: str
    holds: bool | None
    evidence: str
    holds_if: str


def observations(cells: Sequence[Cell]) -> list[Observation]:
    """Account D's four, none if no cell is of its layouts.

    Each is over the cells that can be compared: no time passes where nothing is resilvered.
    """
    cells = [cell for cell in cells if cell.layout in _LAYOUTS_OF_D]
    if not cells:
        return []
    cells = [cell for cell in cells if cell.ended == "complete" and not cell.is_of_nothing]
    return [_mirrors_first(cells), _on_par(cells), _grows(cells), _more_than_twice(cells)]


def _pairs(cells: Iterable[Cell]) -> list[tuple[Cell, Cell]]:
    """Each raidz cell with the mirror of the same width and fill."""
    mirrors = {(cell.width, cell.fill): cell for cell in cells if cell.layout == "mirror"}
    return [
        (cell, mirrors[cell.width, cell.fill])
        for cell in sorted(cells)
        if cell.layout.startswith("raidz") and (cell.width, cell.fill) in mirrors
    ]


def _some(cells: Sequence[str]) -> str:
    """The first of them, and how many more there are: the CSV has all."""
    more = len(cells) - _NAMED
    return ", ".join(cells[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _mirrors_first(cells: Sequence[Cell]) -> Observation:
    """A tie is no counterexample: within two deviations, or within what mirrors, all of the same pair, differ by."""
    pairs = _pairs(cells)
    fastest: dict[float, float] = {}
    for cell in cells:
        if cell.layout == "mirror":
            fastest[cell.fill] = min(cell.time_s, fastest.get(cell.fill, cell.time_s))
    against = [
        (cell.time_s / fastest[cell.fill], f"{cell.layout} of {cell.width} at {cell.fill:.0%}")
        for cell, mirror in pairs
        if cell.time_s < fastest[cell.fill] - 2 * ((cell.deviation_s or 0.0) + (mirror.deviation_s or 0.0))
    ]
    named = _some([f"{name} ({1 - ratio:.1%} less)" for ratio, name in sorted(against)])
    within = "take as long as the fastest mirror or longer, give or take two standard deviations"
    said = f"{len(pairs) - len(against)} of {len(pairs)} raidz cells {within}"
    return Observation(
        "R043",
        "mirrors resilver fastest, at every width",
        not against if pairs else None,
        said + (f", not {named}" if against else ""),
        "no raidz takes less than the fastest mirror, by more than two standard deviations of what was sampled",
    )


def _on_par(cells: Sequence[Cell]) -> Observation:
    ratios = [cell.time_s / mirror.time_s for cell, mirror in _pairs(cells) if cell.width <= _NARROW]
    return Observation(
        "R044",
        f"raidz keeps up with mirrors to about {_NARROW} drives",
        max(ratios) <= _ON_PAR if ratios else None,
        f"up to {max(ratios):.2f} times the mirror's time" if ratios else "no narrow raidz beside a mirror",
        f"at most {_ON_PAR:.2f} times, of each raidz of {_NARROW} drives or fewer",
    )


def _grows(cells: Sequence[Cell]) -> Observation:
    """From the narrow to the widest, of each raidz and fill."""
    growths = []
    for layout, fill in sorted({(cell.layout, cell.fill) for cell in cells if cell.layout.startswith("raidz")}):
        row = sorted(
            (cell for cell in cells if (cell.layout, cell.fill) == (layout, fill)), key=lambda cell: cell.width
        )
        if row[0].width <= _NARROW and row[-1].width >= _WIDE:
            growths.append(
                (row[-1].time_s / row[0].time_s, f"{layout} at {fill:.0%} {row[-1].time_s / row[0].time_s:.2f}")
            )
    return Observation(
        "R045",
        "a wider raidz takes longer",
        min(growths)[0] > _LONGER if growths else None,
        f"widest over narrowest: {', '.join(text for _, text in growths)}"
        if growths
        else f"no raidz both of {_NARROW} drives or fewer and of {_WIDE} or more",
        f"more than {_LONGER:.2f} times, of each raidz and fill",
    )


def _more_than_twice(cells: Sequence[Cell]) -> Observation:
    times = {(cell.layout, cell.width, cell.fill): cell.time_s for cell in cells}
    ratios = {
        f"{layout} of {width}": times[layout, width, 0.5] / time
        for (layout, width, fill), time in times.items()
        if fill == 0.25 and (layout, width, 0.5) in times
    }
    low, high = _SLIGHTLY
    against = [f"{name} ({ratio:.2f})" for name, ratio in ratios.items() if not low < ratio < high]
    said = "no cells at 25 % and 50 %"
    if ratios:
        within = f"{min(ratios.values()):.2f} to {max(ratios.values()):.2f} times"
        said = f"{len(ratios) - len(against)} of {len(ratios)} pairs of cells; {within}"
    return Observation(
        "R046",
        "50 % full takes slightly more than twice as long as 25 %",
        not against if ratios else None,
        said + (f"; not {_some(against)}" if against else ""),
        f"between {low} and {high} times, of each pair of cells",
    )
