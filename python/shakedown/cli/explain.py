"""``shakedown explain``: what limits a storage box."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from shakedown.analysis.explain.ceiling import Box, Drive, RuleOfThumb, Way
from shakedown.analysis.explain.instead import changes
from shakedown.analysis.explain.layout import KINDS_OF_CHUNKS, KINDS_OF_COPIES, ZFS_KINDS, Layout
from shakedown.analysis.explain.limiter import Proof, isolate, prove
from shakedown.analysis.explain.load import Measured, parse_measured
from shakedown.cli.document import print_document
from shakedown.cli.named import named
from shakedown.cli.output import print_result
from shakedown.cli.plain import plain
from shakedown.cli.whole import WHOLE
from shakedown.data import profile_name
from shakedown.errors import InconclusiveError, UsageError
from shakedown.protocol.measured import measured_loads, of_another_array, of_its_steps, of_other_drives
from shakedown.report.explain import explain_document, explain_text
from shakedown.result.folder import Run, read_record, read_run
from shakedown.target.ability import ModelledDrive
from shakedown.target.settings import between, read_settings
from shakedown.units import (
    NS_PER_S,
    format_size,
    parse_bytes_per_s,
    parse_data_rate,
    parse_duration_ns,
    parse_request_bytes,
)

_WHAT_IS_EXPLAINED: Final = "a step needs one job, of one size of request, and must have completed something"
_OPTIONS: Final = (
    "chunk=64KiB is of raid0, raid10, raid5 and raid6, copies=3 of mirror and raid10, recordsize=16KiB of ZFS"
)
_parse_record_bytes: Final = between(512, 16 << 20, parse_request_bytes, format_size)
_parse_chunk_bytes: Final = between(4096, 1 << 30, parse_request_bytes, format_size)
_parse_copies: Final = between(2)
_TWICE: Final = "leave one out, or name each: `before: 8KiB 65R 60rand depth 64 = 89 IOPS`"
_A_DRIVE: Final = "a drive is `model:NAME`, or two figures of one like `50IOPS,95MB/s`"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    """The options of ``explain``."""

    measured: Annotated[
        tuple[str, ...],
        Parameter(
            show_default=False,
            help='typed-in figures: "001b: 8KiB 65R 60rand depth 64 = 89 IOPS, mean 700ms" (repeatable)',
        ),
    ] = ()
    link: Annotated[str | None, Parameter(help="between host and box, like 1Gb/s")] = None
    round_trip: Annotated[
        str | None, Parameter(help="of the smallest request through protocol and box, like 0.3ms")
    ] = None
    settings: Annotated[
        tuple[str, ...],
        Parameter(
            "--set",
            show_default=False,
            help="of md chunk=512KiB; of mirror and raid10 copies=2, how many drives hold the same; of ZFS "
            "recordsize=128KiB (repeatable)",
        ),
    ] = ()
    instead: Annotated[
        tuple[str, ...], Parameter(show_default=False, help="another drive to reckon with (repeatable)")
    ] = ()
    json: Annotated[bool, Parameter(show_default=False, help="print one JSON document instead of text")] = False


_DEFAULTS = ExplainOptions()


def _refuse_missing(_: object, path: Path) -> None:
    """Whoever names a folder that is not there need not first be told which options are missing. Raises UsageError."""
    if not path.exists():
        read_record(path)


def explain(
    *runs: Annotated[Path, Parameter(validator=_refuse_missing)],
    layout: Annotated[
        str, Parameter(help="single, raid0, raid1, raid10, raid5, raid6, mirror (pairs), raidz1 to raidz3")
    ],
    drive: Annotated[str, Parameter(help="model:NAME, or two figures like 50IOPS,95MB/s")],
    width: Annotated[int, WHOLE, Parameter(help="how many drives")] = 1,
    options: ExplainOptions = _DEFAULTS,
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
        _layout(layout.lower(), width, options.settings),
        _drive(drive),
        Way(_link(options.link), _round_trip(options.round_trip)),
    )
    if not runs and not options.measured:
        raise UsageError(
            "nothing was measured: give the folder of a run, or `--measured`",
            hint='shakedown explain ... --measured "8KiB 65R 60rand depth 64 = 89 IOPS"',
        )
    read = list(_read(runs))
    others = {run.path: _of_another(run, box) for run, _ in read}
    found = [(run, [replace(each, is_of_another=bool(others[run.path])) for each in loads]) for run, loads in read]
    box = replace(box, way=_as_stated(box.way, [each for _, loads in found for each in loads]))
    proofs = [prove(box, each) for each in _all_measured(found, options.measured)]
    differing = [text for run, _ in found for text in (*others[run.path], *of_its_steps(run))]
    differing += _when_full(box.drive, proofs)
    told = (box, proofs, differing + isolate(proofs), changes(box, proofs, [_drive(each) for each in options.instead]))
    if options.json:
        print_document("explain", explain_document(*told))
    else:
        print_result(plain(explain_text(*told)))
    return InconclusiveError.exit_status if any(proof.limiter == "impossible" for proof in proofs) else 0


def _of_another(run: Run, box: Box) -> list[str]:
    """In words, why a run's figures are not of the box that is explained."""
    drives = of_other_drives(run, box.drive.label) if isinstance(box.drive, ModelledDrive) else ()
    return [*of_another_array(run, box.layout), *drives]


def _when_full(drive: Drive, proofs: Sequence[Proof]) -> Iterator[str]:
    """What the ceilings of a shingled drive leave out, where something is written."""
    is_written = any(proof.measured.load.read_share < 1 for proof in proofs)
    if is_written and isinstance(drive, ModelledDrive) and drive.identity.shingled:
        yield (
            f"`{drive.label}` is shingled, and its ceilings are those of one as delivered. Once its cache is full it "
            f"does a fraction of them: `shakedown run cliff {drive.label}` shows when, and how much is left."
        )


def _all_measured(runs: Sequence[tuple[Run, list[Measured]]], typed: tuple[str, ...]) -> list[Measured]:
    found = [each for run, loads in runs for each in _told_apart(run, loads, runs)]
    if not found and not typed:
        raise UsageError("none of these runs holds a step that can be explained", hint=_WHAT_IS_EXPLAINED)
    return found + _typed(typed, {each.name for each in found})


def _typed(texts: Sequence[str], taken: set[str]) -> list[Measured]:
    """What was typed in. Raises UsageError for a second figure of what has one: nobody can tell which is meant."""
    loads = []
    for text in texts:
        measured = parse_measured(text)
        # Without a name it is called as it was written, and one load can be written in several ways.
        name = measured.name if ":" in text else str(measured.load)
        if name in taken:
            raise UsageError(f"`{name}` has two figures, one of them {measured.iops:.4g} IOPS", hint=_TWICE)
        taken.add(name)
        loads.append(measured)
    return loads


def _told_apart(run: Run, loads: list[Measured], runs: Sequence[tuple[Run, list[Measured]]]) -> list[Measured]:
    """With the run's folder in its name, where another run has a step of that name."""
    others = {each.name for other, theirs in runs if other is not run for each in theirs}
    return [replace(each, name=f"{run.path} {each.name}") if each.name in others else each for each in loads]


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


def _layout(kind: str, width: int, settings: Sequence[str]) -> Layout:
    known: dict[str, tuple[str, Callable[[str], int]]] = {}
    if kind in ZFS_KINDS:
        known["recordsize"] = ("record_bytes", _power_of_two(_parse_record_bytes))
    if kind in KINDS_OF_CHUNKS:
        known["chunk"] = ("chunk_bytes", _power_of_two(_parse_chunk_bytes))
    if kind in KINDS_OF_COPIES:
        known["copies"] = ("together", _copies)
    if settings and not known:
        raise UsageError(f"`--set {settings[0]}`: {kind} has no options here", hint=_OPTIONS)
    return Layout(kind, width, **read_settings(settings, known, kind, _OPTIONS))


def _power_of_two(parse: Callable[[str], int]) -> Callable[[str], int]:
    """As ZFS takes a record's size, and md a chunk's."""

    def read(text: str) -> int:
        size_bytes = parse(text)
        if size_bytes & (size_bytes - 1):
            raise ValueError(text)
        return size_bytes

    return read


def _copies(text: str) -> int:
    """A number, or mdadm's ``n2``."""
    return _parse_copies(text.removeprefix("n"))


def _drive(text: str) -> Drive:
    if text.startswith("model:"):
        return ModelledDrive(text)
    found = re.fullmatch(
        r"\s*(\d+(?:\.\d+)?)\s*IOPS\s*,\s*(\d+(?:\.\d+)?)\s*([KMG]i?b(?:its?)?/s)\s*", text, re.IGNORECASE
    )
    if found is None or not float(found[1]) or not float(found[2]):
        meant = f"did you mean the modelled drive, `model:{text}`?" if profile_name(text) else _A_DRIVE
        raise UsageError(f"`{text}` is no drive", hint=meant)
    return RuleOfThumb(float(found[1]), parse_data_rate(found[2] + found[3]))


def _link(text: str | None) -> float | None:
    return None if text is None else 8 * parse_bytes_per_s(text)


def _as_stated(way: Way, measured: Sequence[Measured]) -> Way:
    """With what all modelled boxes that were measured state, where nothing else was given."""
    stated = [dict(text.split("=", 1) for text in each.stated or ()) for each in measured]
    links, trips = ({each.get(name) for each in stated} for name in ("link", "round-trip"))
    return Way(
        way.link_bits_per_s or (_link(links.pop()) if len(links) == 1 else None),
        way.round_trip_s or (_round_trip(trips.pop()) if len(trips) == 1 else None),
    )


def _round_trip(text: str | None) -> float | None:
    if text is None:
        return None
    if not (duration_ns := named("--round-trip", parse_duration_ns, text)):
        raise UsageError("a round trip takes some time", hint="write it like `0.3ms`")
    return duration_ns / NS_PER_S
