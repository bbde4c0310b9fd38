"""The matrix as a picture, a line a layout and fill over the widths, and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from shakedown.analysis.kick import LINUX, is_close
from shakedown.analysis.matrix import Cell, Observation
from shakedown.report import words
from shakedown.report.plain_text import table, wrap
from shakedown.units import format_duration

_WIDTH, _HEIGHT = 860, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 190, 48, 52
_COLOURS: Final = ("#2f6fab", "#c8553d", "#3d8b57", "#8a5fb0", "#b08d2f", "#4a4a4a", "#1f9aa8")
_DASHES: Final = ("", "7 4", "2 4", "10 3 2 3")


def matrix_text(cells: Sequence[Cell], seen: Sequence[Observation], of_order: Sequence[str] = ()) -> str:
    """A table a fill, layouts over widths, what to know of it, then account D's statements, if there are any."""
    parts = []
    widths = sorted({cell.width for cell in cells})
    for fill in sorted({cell.fill for cell in cells}):
        times = {(cell.layout, cell.width): cell for cell in cells if cell.fill == fill}
        rows = [[str(width), *(_time(times.get((name, width))) for name in _layouts(cells))] for width in widths]
        parts.append(f"{fill:.0%} full\n" + table(["drives", *_layouts(cells)], rows))
    parts += [wrap(note) for note in matrix_notes(cells, of_order)]
    if told := [one for one in seen if one.holds is not None]:
        parts.append("\n".join([wrap(_WHAT_D_SAW), *(_observed(one) for one in told)]))
    return "\n\n".join(parts) + "\n"


def matrix_notes(cells: Sequence[Cell], of_order: Sequence[str] = ()) -> Iterator[str]:
    """What is to know of the order, which cells came to no good end, and what figures of the others are not."""
    yield from of_order
    yield from (_trouble(cell) for cell in cells if cell.ended == "failed" or cell.commands_given_up)
    yield from _near_misses(cells)
    if any(cell.is_of_nothing for cell in cells):
        yield "nothing: the pool is empty. ZFS resilvers what is allocated, so a new drive in it is redundant at once."
    if widths := sorted({cell.width for cell in cells if cell.layout == "mirror" and cell.width > 2}):
        odd = " and, of an odd number, the drive that is left over" if any(width % 2 for width in widths) else ""
        others = f"the other pairs of such a pool{odd}"
        yield f"mirror: one pair, whatever the number of drives; {others} have no part in it."


def _trouble(cell: Cell) -> str:
    """Why a rebuild failed, or what it survived."""
    where, given_up = f"{cell.layout} of {cell.width} drives, {cell.fill:.0%} full", cell.commands_given_up
    late = f"Linux gave up on {'one command' if given_up == 1 else f'{given_up} commands'}"
    if cell.ended == "failed":
        why = f"{cell.failed_drive or 'a drive more'} is left out{f': {late}' if given_up else ''}"
        return f"failed: {where}, after {format_duration(cell.time_s * 1e9)}: {why}."
    return f"survived: {where}: {late}{f', and {cell.failed_drive} was left out' if cell.failed_drive else ''}."


def _near_misses(cells: Sequence[Cell]) -> Iterator[str]:
    """Of those that lost nothing the longest silence, if it is no longer far from what Linux waits."""
    whole = [cell for cell in cells if cell.ended == "complete" and not cell.commands_given_up]
    close = [cell for cell in whole if is_close(cell.longest_command_s * 1000, LINUX)]
    if not close:
        return
    worst = max(close, key=lambda cell: cell.longest_command_s)
    several = f"in {len(close)} of {len(cells)} cells " if len(close) > 1 else ""
    longest = words.below(worst.longest_command_s * 1000, LINUX.limit_ms)
    waits_s = round(LINUX.limit_ms / 1000)
    yield (
        f"near misses: {several}a command of the new drive took half of what Linux waits or more ({waits_s} s, for a"
        f" flush twice as long): up to {longest}, in {worst.layout} of {worst.width} drives, {worst.fill:.0%} full. The"
        " next drive may be slower."
    )


_WHAT_D_SAW: Final = (
    "What account D (docs/zfs.md) saw of the ZFS of its day, `release=0.6`: a NO of today's is no fault. It tells no "
    "figures: where a statement holds is drawn by Shakedown."
)


def _observed(one: Observation) -> str:
    said = wrap(f"{_WORDS[one.holds]} {one.row}: {one.statement} ({one.evidence})", "", "    ")
    return said + "\n" + wrap(f"holds if: {one.holds_if}", "    ")


_WORDS: Final = {True: "yes", False: "NO ", None: "?  "}


def _time(cell: Cell | None) -> str:
    if cell is None:
        return "-"
    if cell.is_of_nothing:
        return "nothing"
    return format_duration(cell.time_s * 1e9) if cell.ended == "complete" else cell.ended


def _layouts(cells: Sequence[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.layout for cell in cells))


def matrix_svg(cells: Sequence[Cell], title: str) -> str:
    """Hours over drives; colours are layouts, dashes are fills. Where nothing was to do no time passed."""
    whole = [cell for cell in cells if cell.ended == "complete" and not cell.is_of_nothing]
    frame = _Frame.around(whole)
    shown = [cell for cell in cells if not cell.is_of_nothing]
    fills = sorted({cell.fill for cell in shown})
    lines = [(layout, fill) for layout in _layouts(shown) for fill in fills]
    parts = [_text(_LEFT, 24, title, "font-weight='bold'"), *frame.grid()]
    for number, (layout, fill) in enumerate(lines):
        row = sorted((cell.width, cell.time_s / 3600) for cell in whole if (cell.layout, cell.fill) == (layout, fill))
        colour = _COLOURS[_layouts(shown).index(layout) % len(_COLOURS)]
        style = f"stroke='{colour}' stroke-width='2' stroke-dasharray='{_DASHES[fills.index(fill) % len(_DASHES)]}'"
        places = [(f"{frame.x(width):.1f}", f"{frame.y(hours):.1f}") for width, hours in row]
        if row:
            parts.append(f"<polyline points='{' '.join(f'{x},{y}' for x, y in places)}' fill='none' {style}/>")
        parts += [f"<circle cx='{x}' cy='{y}' r='2.5' fill='{colour}'/>" for x, y in places]
        key_x, key_y = _WIDTH - _RIGHT + 18, _TOP + 18 * number
        parts.append(f"<line x1='{key_x}' x2='{key_x + 30}' y1='{key_y}' y2='{key_y}' {style}/>")
        parts.append(_text(key_x + 38, key_y + 4, f"{layout}, {fill:.0%} full{'' if row else ': none ended well'}"))
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {_HEIGHT}'"
    body = "\n".join(parts)
    return (
        f"{head} font-family='sans-serif' font-size='12'>\n"
        f"<rect width='100%' height='100%' fill='white'/>\n{body}\n</svg>\n"
    )


@dataclass(frozen=True)
class _Frame:
    """Where drives and hours stand in the picture."""

    widths: tuple[int, ...]
    step_h: float
    steps: int

    @classmethod
    def around(cls, cells: Sequence[Cell]) -> _Frame:
        most_h = max((cell.time_s for cell in cells), default=3600.0) / 3600 or 1.0
        step_h = _step(most_h)
        return cls(tuple(sorted({cell.width for cell in cells})) or (0,), step_h, int(most_h / step_h) + 1)

    def x(self, width: int) -> float:
        span = max(self.widths[-1] - self.widths[0], 1)
        return _LEFT + (width - self.widths[0]) / span * (_WIDTH - _LEFT - _RIGHT)

    def y(self, hours: float) -> float:
        return _HEIGHT - _BOTTOM - hours / (self.step_h * self.steps) * (_HEIGHT - _TOP - _BOTTOM)

    def grid(self) -> Iterator[str]:
        for number in range(self.steps + 1):
            hours = number * self.step_h
            y = f"{self.y(hours):.1f}"
            yield f"<line x1='{_LEFT}' x2='{_WIDTH - _RIGHT}' y1='{y}' y2='{y}' stroke='#ddd'/>"
            yield _text(_LEFT - 8, self.y(hours) + 4, f"{hours:g} h", "text-anchor='end'")
        for width in self.widths:
            yield _text(self.x(width), _HEIGHT - _BOTTOM + 18, str(width), "text-anchor='middle'")
        yield _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 12, "drives", "text-anchor='middle'")


def _text(x: float, y: float, text: str, attributes: str = "") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' {attributes}>{escape(text)}</text>"


def _step(most: float) -> float:
    """The smallest of 1, 2, 5, 10, ... times a power of ten that makes no more than eight lines."""
    power = 1e-3
    while True:
        for digit in (1, 2, 5):
            if most / (digit * power) <= 8:
                return digit * power
        power *= 10
