"""``shakedown rebuild``: how long an array's rebuild takes, and what it does to its users."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from shakedown.array.capacity import Capacity
from shakedown.array.cut_off import cut_off_in
from shakedown.array.in_lab import InGuest, refuse_in_lab, resume_in_lab, run_rebuild_in_lab
from shakedown.array.keep import PROGRESS_HEAD, PROGRESS_NAME
from shakedown.array.like_lab import as_filled_in_lab, like_lab
from shakedown.array.order import RebuildOrder, State, drive_name, failed_of, members_of
from shakedown.array.parts import Ordered
from shakedown.array.real import plan_real, resume_real, run_real
from shakedown.array.rebuild import check_faults, check_order_in_core
from shakedown.array.run import resume_rebuild, run_rebuild
from shakedown.array.settings import parse_options
from shakedown.cli.arrays import ArraySettings, parse_share
from shakedown.cli.baseline import NONE, baseline_of
from shakedown.cli.consent import AllowSignature, DestroyDataOn, PlanOnly, refuse_consent
from shakedown.cli.document import print_document
from shakedown.cli.named import named
from shakedown.cli.output import print_plan, print_result, tell
from shakedown.cli.own_file import refuse_other_file
from shakedown.cli.plain import plain
from shakedown.cli.resuming import refuse_another_order
from shakedown.cli.scale import Scale, parse_scale
from shakedown.cli.status import EXIT_OF
from shakedown.cli.terminated import terminated_as_interrupted
from shakedown.cli.whole import ARRAY_SEED, WHOLE, check_seed
from shakedown.device.disk.facts import Consent
from shakedown.device.lab_disk import DISKS
from shakedown.errors import Planned, UsageError
from shakedown.named_file import read_named_text
from shakedown.report.outcome import outcome
from shakedown.report.rebuild import answers_of, render_rebuild
from shakedown.result.atomic import replace_file
from shakedown.result.folder import RECORD_NAME, Run, free_folder, read_run
from shakedown.target.settings import split_pairs
from shakedown.tools.fio.job import OptionError, parse_job
from shakedown.units import parse_drive_bytes


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RebuildOptions:
    """The options of ``rebuild``."""

    width: Annotated[int | None, WHOLE, Parameter(help="of how many drives, where one is given")] = None
    member_size: Annotated[str | None, Parameter(help="how much of each drive the array uses [default: all]")] = None
    fill: Annotated[str, Parameter(help="how much of the array holds data")] = "100%"
    replace: Annotated[
        int | None, WHOLE, Parameter(help="which of modelled drives has failed, counted from 0 [default: the last]")
    ] = None
    replace_with: Annotated[str | None, Parameter(help="the new drive [default: one like the one that failed]")] = None
    state: Annotated[State, Parameter(help="of the new drive: used is after random writes that filled its cache")] = (
        "new"
    )
    baseline: Annotated[
        str | None,
        Parameter(
            help="another drive to compare with, new [default: one like the one that failed; of real drives, that one "
            "itself], or none"
        ),
    ] = None
    load: Annotated[Path | None, Parameter(help="a fio job that goes on meanwhile")] = None
    seed: Annotated[int, WHOLE, Parameter(help="the first of the seeds")] = 1
    seeds: Annotated[int, WHOLE, Parameter(help="how many, for the interval")] = 3
    scale: Scale = "1"
    settings: ArraySettings = ()
    like_lab: Annotated[
        bool,
        Parameter(show_default=False, help="of a model: a host like that of `lab:`, to compare them"),
    ] = False
    faults: Annotated[
        tuple[str, ...], Parameter(show_default=False, help="what goes wrong with a drive, PLACE=FILE (repeatable)")
    ] = ()
    whole: Annotated[bool, Parameter(show_default=False, help="go through every request, however long it takes")] = (
        False
    )
    out: Annotated[
        Path | None,
        Parameter(
            ("--out", "-o"), help="the folder of the run [default: runs/rebuild-LAYOUT-DRIVE-STATE, -2 and so on]"
        ),
    ] = None
    csv: Annotated[
        Path | None,
        Parameter(help="a copy of the run's progress.csv: time, bytes done, the tool's estimate, what was left"),
    ] = None
    destroy_data_on: DestroyDataOn = ()
    allow_signature: AllowSignature = ()
    plan: PlanOnly = False
    resume: Annotated[
        Path | None, Parameter(help="go on with the rebuild that was interrupted or cut off in this folder")
    ] = None
    json: Annotated[bool, Parameter(show_default=False, help="print one JSON document instead of the summary")] = False
    quiet: Annotated[bool, Parameter(show_default=False, help="no progress on standard error")] = False


_DEFAULTS = RebuildOptions()
_OF_RESUMING: Final = frozenset({"resume", "csv", "destroy_data_on", "allow_signature", "json", "quiet"})
_OF_A_NEW_REBUILD: Final = tuple(each.name for each in fields(RebuildOptions) if each.name not in _OF_RESUMING)


def rebuild(layout: str | None = None, /, *targets: str, options: RebuildOptions = _DEFAULTS) -> int:
    """Say how long the rebuild of an array takes, which drive holds it up, and what its users feel meanwhile.

    The last of the drives, or that of --replace, has failed and is replaced. The same with one like it is the baseline.
    Of real drives the array is made, filled, rebuilt and taken down: all that is on them is lost.
    Exit status 1: the rebuild fails or loses data, another drive fails on the way, or the array would kick a drive out.
    3: commands were given up on the way; or with --scale nobody can say who would be kicked out.
    130: interrupted; --resume DIR goes on, and of modelled drives the same command.

    For example:

    shakedown rebuild raid6 model:st12000vn0007 --width 8 --member-size 3500GiB --replace-with model:wd40efax

    shakedown rebuild raid5 model:wd40efrx --width 4 --fill 75% --state used --load users.fio

    shakedown rebuild raid6 lab:wd40efrx --width 4 --replace-with lab:wd40efax --scale 1/1000

    shakedown rebuild raid1 /dev/disk/by-id/ata-A /dev/disk/by-id/ata-B --replace-with /dev/disk/by-id/ata-C

    Parameters
    ----------
    layout
        raid1, raid10, raid5 or raid6 of md; mirror, raidz1 to raidz3 or draid1 to draid3 of ZFS.
    targets
        The drives: all of them, or one and --width. model:NAME, lab:NAME, or whole disks.
    """
    if options.csv is not None:
        _replaceable(options.csv)  # before hours have passed
    if options.resume is not None:
        positional = None if layout is None else "the layout and its drives"
        refuse_another_order("rebuild", positional, options, _OF_A_NEW_REBUILD)
        with terminated_as_interrupted(unignored=True):
            return _shown(_resumed(options.resume, options), options)
    if layout is None:
        raise UsageError(
            "a layout and its drives must be given", hint="shakedown rebuild raid6 model:wd40efrx --width 8"
        )
    order = _order(layout.lower(), targets, options)
    name = f"rebuild-{order.layout}-{_name_of(order.replacement)}-{order.state}"
    _refuse_elsewhere(order, options)
    try:
        out = options.out or free_folder(Path("runs") / name, lambda folder: _goes_on(order, folder, options))
        if options.plan:
            return _planned(order, out, options)
        with terminated_as_interrupted(unignored=True):
            return _shown(_rebuilt(order, out, options), options)
    except OptionError as error:
        raise UsageError(f"--load {options.load}: {error}", hint=error.hint) from error


def _resumed(folder: Path, options: RebuildOptions) -> Run:
    arena = cut_off_in(folder)
    if arena == "lab":
        return resume_in_lab(folder, _teller(options))
    if arena == "model":
        return resume_rebuild(folder, _teller(options))
    if arena is None and (complete := _complete_in(folder)) is not None:
        return complete
    return resume_real(folder, _consent(options), _teller(options))


def _complete_in(folder: Path) -> Run | None:
    """A rebuild that has nothing left to do: what it found is shown again."""
    if not (folder / RECORD_NAME).is_file():
        return None
    run = read_run(folder)
    return None if outcome(run) is None else run


def _refuse_elsewhere(order: RebuildOrder, options: RebuildOptions) -> None:
    """Raise UsageError for options that are of another arena than the order's."""
    arena = order.arena
    if arena != "model" and (options.whole or baseline_of(options.baseline) is not None):
        raise UsageError(
            "`--whole` and another `--baseline` are for modelled drives", hint="--baseline none leaves it out"
        )
    if arena != "device":
        refuse_consent(_consent(options))
    if arena != "model" and options.seeds != _DEFAULTS.seeds:
        raise UsageError(
            "`--seeds` are of modelled rebuilds: a real one is as it comes, and one of the lab comes the same again",
            hint="leave it out; in the lab `--seed` orders another",
        )
    if arena != "model" and order.faults and not _is_outside_lab(order):
        raise UsageError("`--faults` befall modelled drives", hint="model:NAME or lab:NAME")


def _is_outside_lab(order: RebuildOrder) -> bool:
    return order.arena == "lab" and DISKS not in os.environ


def _rebuilt(order: RebuildOrder, out: Path, options: RebuildOptions) -> Run:
    arena, tell = order.arena, _teller(options)
    if _is_outside_lab(order):
        return run_rebuild_in_lab(InGuest(order, options.settings, options.baseline), out, tell)
    if arena != "model":
        return run_real(order, out, _consent(options), tell, with_baseline=options.baseline is None)
    ordered = _ordered(order, options)
    return run_rebuild(ordered.order, ordered.baseline, ordered.seeds, out, tell)


def _goes_on(order: RebuildOrder, folder: Path, options: RebuildOptions) -> bool:
    """Whether the same command was interrupted there."""
    return order.arena == "model" and not options.plan and _ordered(order, options).is_begun_in(folder)


def _ordered(order: RebuildOrder, options: RebuildOptions) -> Ordered:
    """The order of modelled drives, with its baseline. Raises UsageError."""
    if not 1 <= options.seeds <= _MOST_SEEDS:
        raise UsageError(f"`--seeds {options.seeds}` is out of range", hint=f"1 to {_MOST_SEEDS}")
    baseline = None if options.baseline == NONE else _baseline(order, options.baseline)
    return Ordered(order, baseline, options.seeds)


def _planned(order: RebuildOrder, out: Path, options: RebuildOptions) -> int:
    if order.arena == "model":
        for each in _ordered(order, options).orders:
            check_order_in_core(each)
        room = Capacity.of(order, order.modelled_capacities)
        plans: tuple[Planned, ...] = (Planned((room.words,), asdict(room)),)
    elif order.arena == "lab":
        refuse_in_lab(order)
        effort = InGuest(order, options.settings, options.baseline).effort
        plans = (Planned((effort.words,), effort.document),)
    else:
        plans = plan_real(order, _consent(options), out, with_baseline=options.baseline is None)
    if options.json:
        print_document("rebuild", {"plan": [planned.document for planned in plans], "exit_status": 0})
    else:
        print_plan(plans)
    return 0


def _replaceable(path: Path) -> Path:
    """Raise UsageError for what would be replaced and is no such CSV: a job, a folder, a device."""
    begins = PROGRESS_HEAD.encode()
    refuse_other_file(
        path, lambda head: head.startswith(begins), "the progress of an earlier rebuild", "give --csv another path"
    )
    return path


def _consent(options: RebuildOptions) -> Consent:
    return Consent(options.destroy_data_on, options.allow_signature)


def _teller(options: RebuildOptions) -> Callable[[str], None]:
    return (lambda _line: None) if options.quiet else tell


def _shown(done: Run, options: RebuildOptions) -> int:
    status = _status(done)
    if options.csv is not None:
        replace_file(_replaceable(options.csv), (done.path / PROGRESS_NAME).read_bytes())
    if options.json:
        document = {
            "folder": str(done.path),
            "run": done.record.model_dump(mode="json"),
            "baseline": None if done.baseline is None else done.baseline.record.model_dump(mode="json"),
            "answers": answers_of(done),
            "exit_status": status,
        }
        print_document("rebuild", document)
    else:
        print_result(plain(render_rebuild(done)))
        if DISKS not in os.environ:  # a guest's folder is nobody's: who has ordered it tells where it comes to lie
            print(f"run: {done.path}", file=sys.stderr)
    return status


_MOST_SEEDS: Final = 100


def _order(layout: str, targets: tuple[str, ...], options: RebuildOptions) -> RebuildOrder:
    members = members_of(targets, options.width)
    lost = failed_of(members, options.replace)
    order = RebuildOrder(
        layout=layout,
        members=members,
        replacement=options.replace_with or lost,
        failed=options.replace,
        member_bytes=None if (size := options.member_size) is None else named("--member-size", parse_drive_bytes, size),
        fill=named("--fill", parse_share, options.fill),
        state=options.state,
        load=None if options.load is None else _job(options.load),
        seed=check_seed(options.seed, ARRAY_SEED),
        scale_divisor=parse_scale(options.scale),
        whole=options.whole,
        faults=_faults(options.faults),
        options=parse_options(layout, like_lab(layout, options.settings) if options.like_lab else options.settings),
    )
    if order.failed is not None and order.arena != "model":
        raise UsageError(
            "`--replace` is for modelled drives: of others the last one fails",
            hint="leave it out, and give the one that is to fail as the last",
        )
    if options.like_lab and order.arena != "model":
        raise UsageError("`--like-lab` is for modelled drives", hint="leave it out")
    return as_filled_in_lab(order) if options.like_lab else order


def _baseline(order: RebuildOrder, target: str | None) -> RebuildOrder | None:
    """The same with another drive, new; None if that is the order itself."""
    baseline = replace(order, replacement=target or order.members[order.place], state="new")
    return None if baseline == order else baseline


def _status(run: Run) -> int:
    """A loss is a loss at any scale; who would be kicked is a question for whole drives."""
    judged = outcome(run)
    assert judged is not None, "it is a rebuild"
    return EXIT_OF[judged.status]


def _faults(settings: tuple[str, ...]) -> dict[int, str]:
    """The text of a file for each place."""
    hint, twice = "like 2=faults.toml; docs/faults.md", "one file holds all that befall a drive"
    files = split_pairs(settings, hint, "PLACE=FILE", _place, twice)
    faults = {int(place): read_named_text(Path(file), hint=hint) for place, file in files.items()}
    for place, text in faults.items():
        check_faults(files[str(place)], text)
    return faults


def _place(text: str) -> str:
    if not (text.isascii() and text.isdecimal()):
        raise UsageError(f"`{text}` is no place of a drive", hint="they are counted from 0: docs/faults.md")
    return str(int(text))


def _job(path: Path) -> str:
    """The text of a load, which has to be one: of a job that cannot be the core names the section, of none nothing."""
    text = read_named_text(path, hint="give the path of a fio job; docs/rebuild.md")
    try:
        parse_job(text, "load")
    except UsageError as error:
        raise UsageError(f"--load {path}: {error}", hint=error.hint) from error
    return text


def _name_of(target: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", drive_name(target)).strip("-.")[:60] or "drive"
