"""``shakedown matrix``: how long rebuilds take over layouts, widths and fills."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from shakedown.analysis.matrix import Cell, observations
from shakedown.array.matrix import CSV_NAME, WIDEST, MatrixOrder, plan_matrix, run_matrix
from shakedown.cli.arrays import ArraySettings, parse_share
from shakedown.cli.consent import AllowSignature, DestroyDataOn, PlanOnly, refuse_consent
from shakedown.cli.document import print_document
from shakedown.cli.named import named
from shakedown.cli.output import print_plan, print_result, tell
from shakedown.cli.plain import plain
from shakedown.cli.scale import Scale, parse_scale
from shakedown.cli.terminated import terminated_as_interrupted
from shakedown.cli.whole import ARRAY_SEED, WHOLE, check_seed
from shakedown.device.disk.facts import Consent
from shakedown.errors import UsageError
from shakedown.report.matrix import matrix_notes, matrix_svg, matrix_text
from shakedown.result.atomic import replace_file
from shakedown.units import parse_drive_bytes

PICTURE_NAME: Final = "matrix.svg"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class MatrixOptions:
    """The options of ``matrix``."""

    layouts: Annotated[str, Parameter(help="of ZFS or md, with commas")] = "mirror,raidz1,raidz2,raidz3"
    widths: Annotated[str, Parameter(help="numbers of drives, like 3-12 or 4,8,12")] = "3-12"
    fills: Annotated[str, Parameter(help="shares of the pool that are written, with commas")] = "25%,50%"
    replace_with: Annotated[
        str | None, Parameter(show_default=False, help="the new drive [default: one like the one that failed]")
    ] = None
    member_size: Annotated[str | None, Parameter(help="how much of each drive is used [default: all]")] = None
    scale: Scale = "1"
    settings: ArraySettings = ()
    seed: Annotated[int, WHOLE, Parameter(help="of all random choices")] = 1
    whole: Annotated[bool, Parameter(show_default=False, help="go through every request, however long it takes")] = (
        False
    )
    out: Annotated[Path, Parameter(("--out", "-o"), help="the folder; one that holds a part is gone on with")] = Path(
        "runs/matrix"
    )
    destroy_data_on: DestroyDataOn = ()
    allow_signature: AllowSignature = ()
    plan: PlanOnly = False
    json: Annotated[bool, Parameter(show_default=False, help="print one JSON document instead of the tables")] = False
    quiet: Annotated[bool, Parameter(show_default=False, help="no progress on standard error")] = False


_DEFAULTS = MatrixOptions()


def matrix(*targets: str, options: MatrixOptions = _DEFAULTS) -> int:
    """Rebuild every layout at every width and fill, and say how long each takes: tables, a CSV and a picture.

    What is done is kept: after an interruption the same command goes on. Of a mirror of so many drives one pair is
    rebuilt: the other pairs of such a pool, and an odd drive, have no part in it. Modelled drives use all cores; on
    those of the lab, and on real ones, all of which is lost, a cell follows the other.

    For example:

    shakedown matrix model:hd103uj --set release=0.6 --out runs/matrix-d

    shakedown matrix lab:wd40efrx --scale 1/4000 --layouts raidz1,raidz2 --widths 4-6 --fills 10%

    shakedown matrix /dev/disk/by-id/ata-A /dev/disk/by-id/ata-B /dev/disk/by-id/ata-C --widths 3 --plan

    Parameters
    ----------
    targets
        The drives, like model:hd103uj or lab:hd103uj, taken in turn; or whole disks, as many as the widest cell has.
    """
    if not targets:
        raise UsageError("the drives must be given", hint="shakedown matrix model:hd103uj --widths 3-6")
    order = MatrixOrder(
        layouts=_listed(options.layouts),
        widths=_widths(options.widths),
        fills=tuple(parse_share(each) for each in _listed(options.fills)),
        targets=targets,
        replacement=options.replace_with,
        settings=options.settings,
        seed=check_seed(options.seed, ARRAY_SEED),
        scale_divisor=parse_scale(options.scale),
        member_bytes=None if (size := options.member_size) is None else named("--member-size", parse_drive_bytes, size),
        whole=options.whole,
    )
    consent = Consent(options.destroy_data_on, options.allow_signature)
    if options.plan:
        return _planned(order, consent, options)
    if order.arena != "device":
        refuse_consent(consent)
    with terminated_as_interrupted(unignored=True):
        cells = run_matrix(order, options.out, (lambda _line: None) if options.quiet else tell, consent)
    return _shown(order, cells, options)


def _planned(order: MatrixOrder, consent: Consent, options: MatrixOptions) -> int:
    plans = plan_matrix(order, options.out, consent)
    if not plans:
        raise UsageError("no drive of it is real: there is nothing to plan", hint="leave `--plan` out")
    if options.json:
        print_document("matrix", {"plan": [planned.document for planned in plans], "exit_status": 0})
    else:
        print_plan(plans)
    return 0


def _shown(order: MatrixOrder, cells: list[Cell], options: MatrixOptions) -> int:
    out, seen = options.out, observations(cells) if order.is_of_like_drives else []
    title, of_order = order.title, (*order.cautions(cells), *order.replaced, *order.left_out)
    replace_file(out / PICTURE_NAME, matrix_svg(cells, title).encode())
    if options.json:
        told = {"cells": [asdict(each) for each in cells], "observations": [asdict(each) for each in seen]}
        notes = list(matrix_notes(cells, of_order))
        paths = {"csv": str(out / CSV_NAME), "picture": str(out / PICTURE_NAME)}
        print_document("matrix", {**told, "notes": notes, **paths})
    else:
        print_result(plain(f"{title}\n\n{matrix_text(cells, seen, of_order)}"))
        tell(f"csv: {out / CSV_NAME}")
        tell(f"picture: {out / PICTURE_NAME}")
    return 0


def _listed(text: str) -> tuple[str, ...]:
    parts = [part.strip().lower() for part in text.split(",")]
    if not all(parts):
        raise UsageError(f"`{text}` is not a list", hint="values with commas between them, like 25%,50%")
    return tuple(dict.fromkeys(parts))


def _widths(text: str) -> tuple[int, ...]:
    widths: set[int] = set()
    for part in _listed(text):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part)
        if match is None:
            raise UsageError(f"`{part}` is no number of drives", hint="write widths like 3-12 or 4,8,12")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise UsageError(f"`{part}` goes backwards", hint=f"did you mean `{last}-{first}`?")
        # One too wide is refused for that: nobody waits for all up to a million.
        widths |= {*range(first, min(last, WIDEST) + 1), last}
    return tuple(sorted(widths))
