"""How far a drive that is made of its data sheet may be off: the tables of docs/profiles.md: ``make borrowed``.

A drive that has a profile of its own is made once more of its sheet, and arrays are rebuilt onto both: a quarter of an
hour. What is shown hangs on the modelled arrays as well as on ``drives/``; ``tests/arrays/test_borrowed.py`` plays
what takes least of it again.
"""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from made_part import put
from shakedown.data import profile_path
from shakedown.parallel import cores
from shakedown.target.data_sheet import DataSheet, profile_of
from shakedown.target.overview import overview
from shakedown.target.profile import read_profile

DOCUMENT: Final = Path(__file__).resolve().parent.parent / "docs" / "profiles.md"
BEGIN_CONVENTIONAL: Final = "<!-- conventional drives, made by scripts/borrowed_parts.py -->\n"
BEGIN_SHINGLED: Final = "<!-- shingled drives, made by scripts/borrowed_parts.py -->\n"

CONVENTIONAL: Final = {"st12000vn0007": 210, "wd40efrx": 150, "st31000520as": 95, "st4000vn008": 180}
SHINGLED: Final = {"wd40efax": 180, "st8000as0002": 190}
"""The rates in MB/s that their sheets tell: R444, R447, R446, -, R448, -. What has no row is remembered."""

LENDERS: Final = {
    "wd40efax": ("st8000as0002", "st5000as0011", "canvio-3tb"),
    "st8000as0002": ("wd40efax", "st5000as0011"),
}
COLUMNS: Final = (("raid6", "new"), ("raid6", "used"), ("raidz1", "new"), ("raidz1", "used"))
_HOUR_S: Final = 3600


@dataclass(frozen=True)
class Rebuilds:
    """The hours that several seeds of one rebuild took on average, None if one of them failed."""

    hours: float | None
    given_up: bool = False
    """Whether it was survived although Linux gave up on commands."""

    @property
    def cell(self) -> str:
        """As the table has it."""
        if self.hours is None:
            return "✗"
        return f"{self.hours:#.3g}{' †' if self.given_up else ''}"


def made_of_sheet(name: str, shingles_like: str | None, folder: Path) -> Path:
    """The drive ``name`` as made of its sheet; of a shingled one the mechanics are its own, so that shingles differ."""
    own = overview(read_profile(profile_path(name)))
    made = f"{name}-as-{shingles_like or 'its-sheet'}"
    sheet = DataSheet(
        name=made,
        title=made,
        capacity_bytes=own.capacity_bytes,
        rpm=round(own.rpm),
        outer_bytes_per_s=(CONVENTIONAL | SHINGLED)[name] * 1_000_000,
        source="assumed: as of the drive",
        rate_source="assumed: as its sheet has it",
        like=name if shingles_like else None,
        shingles_like=shingles_like,
    )
    path = folder / f"{made}.toml"
    path.write_text(profile_of(sheet), encoding="utf-8")
    return path


def rebuilt(layout: str, *options: str) -> Rebuilds:
    """What ``shakedown rebuild`` says, of its usual number of seeds."""
    with TemporaryDirectory(prefix="shakedown-borrowed-") as folder:
        words = [sys.executable, "-m", "shakedown", "rebuild", layout, *options, "--baseline", "none", "--quiet"]
        done = subprocess.run([*words, "--json", "--out", f"{folder}/run"], check=False, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    if "error" in answer:
        raise SystemExit(f"{' '.join(words)}: {answer['error']}")
    rebuilds = answer["answers"]["rebuilds"]
    if any(each["ended"] != "complete" for each in rebuilds):
        return Rebuilds(None)
    hours = sum(each["duration_ns"] for each in rebuilds) / len(rebuilds) / 1e9 / _HOUR_S
    return Rebuilds(hours, given_up=any(member["timeouts"] for each in rebuilds for member in each["members"]))


def onto_shingled(layout: str, state: str, replacement: str) -> Rebuilds:
    """One cell of the table of shingled drives."""
    small = ("--width", "4", "--member-size", "400GiB", "--fill", "50%")
    return rebuilt(layout, "model:st12000vn0007", *small, "--replace-with", f"model:{replacement}", "--state", state)


def of_conventional(layout: str, drive: str) -> Rebuilds:
    """One figure of the table of conventional drives."""
    return rebuilt(layout, f"model:{drive}", "--width", "6", "--fill", "50%")


def conventional_table(folder: Path) -> str:
    """How much longer a rebuild takes of drives that are made of their sheets."""
    layouts = ("raid6", "raidz2")
    drives = [drive for name in CONVENTIONAL for drive in (name, str(made_of_sheet(name, None, folder)))]
    with ThreadPoolExecutor(cores()) as pool:
        found = {
            key: pool.submit(of_conventional, *key)
            for key in ((layout, drive) for layout in layouts for drive in drives)
        }
        hours = {key: done.result().hours for key, done in found.items()}
    rows = []
    for own, made in zip(drives[::2], drives[1::2], strict=True):
        cells = []
        for layout in layouts:
            one, other = hours[layout, own], hours[layout, made]
            assert one is not None and other is not None, "a conventional drive whose rebuild fails"
            cells += [f"{one:#.3g} h", f"{other / one - 1:+.1%}".replace("%", " %").replace("-", "−")]
        rows.append(_line([f"`{own}`", *cells]))
    head = ["drive", *(column for layout in layouts for column in (layout, "made of its sheet"))]
    return _line(head) + _line(["---"] * len(head)) + "".join(rows)


def shingled_table(folder: Path) -> str:
    """Rebuilds onto drives of which more is known, with their shingles and with those of others."""
    rows = [(name, lender) for name, lenders in LENDERS.items() for lender in (None, *lenders)]
    onto = {row: row[0] if row[1] is None else str(made_of_sheet(*row, folder)) for row in rows}
    with ThreadPoolExecutor(cores()) as pool:
        found = {row: [pool.submit(onto_shingled, *column, onto[row]) for column in COLUMNS] for row in rows}
        cells = {row: [each.result().cell for each in done] for row, done in found.items()}
    head = ["drive put in", "its shingles are", *(f"{layout}, {state}" for layout, state in COLUMNS)]
    lines = [_line(head), _line(["---"] * len(head))]
    lines += [
        _line([f"`{name}`", f"those of `{lender}`" if lender else "its own", *cells[name, lender]])
        for name, lender in rows
    ]
    return "".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def main() -> None:
    """Replace what stands between the marks."""
    with TemporaryDirectory(prefix="shakedown-borrowed-") as folder:
        put(DOCUMENT, BEGIN_CONVENTIONAL, conventional_table(Path(folder)))
        put(DOCUMENT, BEGIN_SHINGLED, shingled_table(Path(folder)))


if __name__ == "__main__":
    main()
