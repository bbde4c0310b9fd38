"""``shakedown explain``: what limits a storage box."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from shakedown.analysis.explain.ceiling import Box, Drive, RuleOfThumb, Way
from shakedown.analysis.explain.instead import changes
from shakedown.analysis.explain.layout import Layout
from shakedown.analysis.explain.limiter import isolate, prove
from shakedown.analysis.explain.load import Measured, parse_measured
from shakedown.cli.document import print_document
from shakedown.cli.named import named
from shakedown.cli.output import print_result
from shakedown.cli.plain import plain
from shakedown.errors import InconclusiveError, UsageError
from shakedown.protocol.measured import measured_loads, of_another_array
from shakedown.report.explain import explain_document, explain_text
from shakedown.result.folder import Run, read_run
from shakedown.target.ability import ModelledDrive
from shakedown.units import NS_PER_S, parse_bytes_per_s, parse_duration_ns

_WHAT_IS_EXPLAINED: Final = "a step needs one job, of one size of request, and must have completed something"
_A_DRIVE: Final = "a drive is `model:NAME`, or two figures of one like `50IOPS,95MB/s`"


def explain(
    *runs: Path,
    layout: Annotated[str, Parameter(help="single, raid0, raid1, raid10, raid5, raid6, mirror, raidz1 to raidz3")],
    drive: Annotated[str, Parameter(help="model:NAME, or two figures like 50IOPS,95MB/s")],
    width: Annotated[int, Parameter(help="how many drives")] = 1,
    measured: Annotated[
        tuple[str, ...],
        Parameter(help='typed-in figures: "001b: 8KiB 65R 60rand depth 64 = 89 IOPS, mean 700ms"; may be repeated'),
    ] = (),
    link: Annotated[str | None, Parameter(help="between host and box, like 1Gb/s")] = None,
    round_trip: Annotated[
        str | None, Parameter(help="of the smallest request through protocol and box, like 0.3ms")
    ] = None,
    instead: Annotated[tuple[str, ...], Parameter(help="another drive to reckon with; may be repeated")] = (),
    json: Annotated[bool, Parameter(show_default=False, help="print one JSON document instead of text")] = False,
) -> int:
    """Say what limits an array or a NAS: the drives, the link, the round trip, or something else in the box.

    Lays measured figures beside what each part allows, names the part that is at its end, and says what another
    layout, another drive or more of them would change.

    For example:

    shakedown explain --layout raid5 --width 4 --drive 50IOPS,95MB/s --link 1Gb/s
    --measured "32KiB 100R 0rand depth 64 = 1761 IOPS" --measured "8KiB 65R 60rand depth 64 = 89 IOPS"

    Parameters
    ----------
    runs
        Folders of runs, each of whose steps is explained.
    """
    box = Box(
        Layout(layout.lower(), width),
        _drive(drive),
        Way(_link(link), _round_trip(round_trip)),
    )
    if not runs and not measured:
        raise UsageError(
            "nothing was measured: give the folder of a run, or `--measured`",
            hint='shakedown explain ... --measured "8KiB 65R 60rand depth 64 = 89 IOPS"',
        )
    found = list(_read(runs))
    proofs = [prove(box, each) for each in _all_measured(found, measured)]
    differing = [text for run, _ in found for text in of_another_array(run, box.layout)]
    told = (box, proofs, differing + isolate(proofs), changes(box, proofs, [_drive(each) for each in instead]))
    if json:
        print_document("explain", explain_document(*told))
    else:
        print_result(plain(explain_text(*told)))
    return InconclusiveError.exit_status if any(proof.limiter == "impossible" for proof in proofs) else 0


def _all_measured(runs: Sequence[tuple[Run, list[Measured]]], typed: tuple[str, ...]) -> list[Measured]:
    found = [each for _, loads in runs for each in loads]
    if not found and not typed:
        raise UsageError("none of these runs holds a step that can be explained", hint=_WHAT_IS_EXPLAINED)
    return found + [parse_measured(each) for each in typed]


def _read(paths: Sequence[Path]) -> Iterator[tuple[Run, list[Measured]]]:
    """Runs and what they measured; of several, one that measured nothing of use is told of and left out."""
    for path in paths:
        try:
            run = read_run(path)
            yield run, measured_loads(run)
        except UsageError as error:
            if len(paths) == 1:
                raise
            print(plain(f"left out: {error}"), file=sys.stderr)


def _drive(text: str) -> Drive:
    if text.startswith("model:"):
        return ModelledDrive(text)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*IOPS\s*,\s*(\d+(?:\.\d+)?)\s*(MB|MiB)/s\s*", text, re.IGNORECASE)
    if found is None or not float(found[1]) or not float(found[2]):
        raise UsageError(f"`{text}` is no drive", hint=_A_DRIVE)
    return RuleOfThumb(float(found[1]), float(found[2]) * (1e6 if found[3].lower() == "mb" else 2**20))


def _link(text: str | None) -> float | None:
    return None if text is None else 8 * parse_bytes_per_s(text)


def _round_trip(text: str | None) -> float | None:
    if text is None:
        return None
    if not (duration_ns := named("--round-trip", parse_duration_ns, text)):
        raise UsageError("a round trip takes some time", hint="write it like `0.3ms`")
    return duration_ns / NS_PER_S
