"""``shakedown matrix``: resilver times over layouts, widths and fills."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from shakedown.analysis.matrix import observations
from shakedown.array.matrix import CSV_NAME, MatrixOrder, run_matrix, to_csv
from shakedown.array.settings import parse_zfs_options
from shakedown.cli.document import print_document
from shakedown.cli.plain import plain
from shakedown.errors import UsageError
from shakedown.report.matrix import matrix_svg, matrix_text
from shakedown.result.atomic import replace_file

PICTURE_NAME: Final = "matrix.svg"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class MatrixOptions:
    """The options of ``matrix``."""

    layouts: Annotated[str, Parameter(help="of ZFS, with commas")] = "mirror,raidz1,raidz2,raidz3"
    widths: Annotated[str, Parameter(help="numbers of drives, like 3-12 or 4,8,12")] = "3-12"
    fills: Annotated[str, Parameter(help="shares of the pool that are written, with commas")] = "25%,50%"
    replace_with: Annotated[
        str | None, Parameter(show_default=False, help="the new drive [default: one like the one that failed]")
    ] = None
    settings: Annotated[
        tuple[str, ...],
        Parameter("--set", show_default=False, help="an option of the pool, NAME=VALUE: docs/zfs.md (repeatable)"),
    ] = ()
    seed: Annotated[int, Parameter(help="of all random choices")] = 1
    out: Annotated[Path, Parameter(("--out", "-o"), help="the folder; one that holds a part is gone on with")] = Path(
        "runs/matrix"
    )
    json: Annotated[bool, Parameter(show_default=False, help="print one JSON document instead of the CSV")] = False
    quiet: Annotated[bool, Parameter(show_default=False, help="no progress on standard error")] = False


_DEFAULTS = MatrixOptions()


def matrix(*targets: str, options: MatrixOptions = _DEFAULTS) -> int:
    """Resilver every layout at every width and fill, and say how long each takes: CSV, and a picture.

    Uses all cores. What is done is kept: after an interruption the same command goes on. A mirror of so many drives
    is a pool of pairs.

    For example:

    shakedown matrix model:hd103uj --set release=0.6 --out runs/matrix-d

    Parameters
    ----------
    targets
        The drives, like model:hd103uj, taken in turn.
    """
    if not 0 <= options.seed < 2**32:
        raise UsageError(f"`--seed {options.seed}` is out of range", hint="any whole number from 0 to 2^32 - 1")
    order = MatrixOrder(
        layouts=_listed(options.layouts),
        widths=_widths(options.widths),
        fills=tuple(_share(each) for each in _listed(options.fills)),
        targets=targets,
        replacement=options.replace_with,
        options=parse_zfs_options(options.settings),
        seed=options.seed,
    )
    out = options.out
    cells = run_matrix(order, out, (lambda _line: None) if options.quiet else _tell)
    seen = observations(cells)
    replace_file(out / PICTURE_NAME, matrix_svg(cells, f"Resilver of {', '.join(targets)}").encode())
    if options.json:
        told = {"cells": [asdict(each) for each in cells], "observations": [asdict(each) for each in seen]}
        print_document("matrix", {**told, "csv": str(out / CSV_NAME), "picture": str(out / PICTURE_NAME)})
    else:
        sys.stdout.write(to_csv(cells))
        if not options.quiet:
            _tell(f"\n{matrix_text(cells, seen)}\n{out / CSV_NAME}\n{out / PICTURE_NAME}")
    return 0


def _listed(text: str) -> tuple[str, ...]:
    parts = [part.strip().lower() for part in text.split(",")]
    if not all(parts):
        raise UsageError(f"`{text}` is not a list", hint="values with commas between them, like 25%,50%")
    return tuple(dict.fromkeys(parts))


def _widths(text: str) -> tuple[int, ...]:
    widths: set[int] = set()
    for part in _listed(text):
        match = re.fullmatch(r"(\d{1,3})(?:-(\d{1,3}))?", part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise UsageError(f"`{part}` is no number of drives", hint="write widths like 3-12 or 4,8,12")
        widths |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    return tuple(sorted(widths))


def _share(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)%", text)
    if match is None:
        raise UsageError(f"`{text}` is not a share", hint="write it like 25%")
    return float(match[1]) / 100


def _tell(line: str) -> None:
    print(plain(line), file=sys.stderr, flush=True)
