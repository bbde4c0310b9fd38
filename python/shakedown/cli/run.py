"""``shakedown run``: a protocol against a target."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from shakedown.analysis.rules import USES_OF_ARRAYS, Use
from shakedown.cli.baseline import baseline_of
from shakedown.cli.consent import AllowSignature, DestroyDataOn, refuse_needless_consent
from shakedown.cli.document import print_document
from shakedown.cli.named import named
from shakedown.cli.output import print_plan, print_result
from shakedown.cli.plain import plain
from shakedown.cli.progress import watch
from shakedown.cli.resuming import ordered_anew
from shakedown.cli.scale import Scale, parse_scale
from shakedown.cli.several import GRAVEST_FIRST, plan_all, refuse_same, run_all
from shakedown.cli.status import exit_status
from shakedown.cli.terminated import terminated_as_interrupted
from shakedown.cli.whole import WHOLE, check_seed
from shakedown.device.disk.facts import Consent
from shakedown.errors import Planned, UsageError
from shakedown.protocol.in_lab import LabOrder
from shakedown.protocol.load import LoadedProtocol, load_protocol
from shakedown.protocol.play import Listener
from shakedown.protocol.run import Order
from shakedown.protocol.run import plan as plan_run
from shakedown.protocol.run import resume as resume_run
from shakedown.protocol.run import run as start_run
from shakedown.report.summary import render
from shakedown.result.folder import Run, free_folder, read_record, read_run
from shakedown.target.settings import split_pairs
from shakedown.target.storage_box import names_storage_box
from shakedown.units import parse_drive_bytes


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of ``run``."""

    baseline: Annotated[str | None, Parameter(help="run it on this target first and compare, or none")] = None
    out: Annotated[
        Path | None,
        Parameter(("--out", "-o"), help="the folder of the run [default: runs/PROTOCOL-TARGET, -2 and so on]"),
    ] = None
    resume: Annotated[Path | None, Parameter(help="go on with the interrupted run in this folder")] = None
    settings: Annotated[
        tuple[str, ...],
        Parameter(
            "--set", show_default=False, help="a parameter of the protocol, NAME=VALUE: docs/protocols (repeatable)"
        ),
    ] = ()
    seed: Annotated[
        int, WHOLE, Parameter(help="of a model: where its platters stand, what a job without randseed draws")
    ] = 1
    scale: Scale = "1"
    like_lab: Annotated[
        bool,
        Parameter(
            show_default=False,
            help="of a model: a host that makes the very requests which `lab:` makes, to compare them",
        ),
    ] = False
    fault: Annotated[
        tuple[str, ...],
        Parameter(
            show_default=False, help="what befalls a drive of the lab: DRIVE=FILE.toml, DRIVE=FAULT (repeatable)"
        ),
    ] = ()
    size: Annotated[
        str | None,
        Parameter(
            help="of the file that is made: 10GiB [default in a folder: a quarter of what is free, at most 16GiB]"
        ),
    ] = None
    temperature_limit: Annotated[
        int | None,
        WHOLE,
        Parameter(help="°C at which the load on a disk pauses, until it is 5 °C cooler"),
    ] = None
    destroy_data_on: DestroyDataOn = ()
    allow_signature: AllowSignature = ()
    plan: Annotated[
        bool, Parameter(show_default=False, help="only say what would be done to a disk, and whether it is allowed")
    ] = False
    use: Annotated[Use | None, Parameter(help="let this use alone decide the exit status")] = None
    json: Annotated[bool, Parameter(show_default=False, help="print one JSON document instead of the summary")] = False
    quiet: Annotated[bool, Parameter(show_default=False, help="no progress on standard error")] = False


_DEFAULTS = RunOptions()
_OF_A_NEW_RUN = ("baseline", "out", "settings", "seed", "scale", "size", "like_lab", "fault", "temperature_limit")


def run(
    protocol: str | None = None, target: str | None = None, /, *others: str, options: RunOptions = _DEFAULTS
) -> int:
    """Run a protocol against a target, or against several at once.

    For example:

    shakedown run cliff model:wd40efax --baseline model:st12000vn0007

    shakedown run sequential-32k /mnt/nas/test --size 20GiB --set amount=10G

    shakedown run cliff /dev/disk/by-id/ata-WDC_WD40EFAX-68JH4N0_WD-WX00 --destroy-data-on WD-WX00

    shakedown run --resume runs/cliff-wd40efax

    shakedown run cliff /dev/sdb /dev/sdc --destroy-data-on WD-WX00 --destroy-data-on WD-WX01

    Parameters
    ----------
    protocol
        Its name (cliff, random-1m, sequential-32k, ramp, atto, iometer-max-read, iometer-real-life,
        iometer-max-mixed, iometer-random-8k) or the path of a file of your own (./mine.toml).
    target
        model:NAME, model:./profile.toml, lab:NAME, a file, a folder, a whole disk, or nbd+unix:///path/to/socket.
        A file that is empty or all zeros is overwritten without asking.
    others
        More of them, to be run at the same time, each in a folder of its own (with --out: in that folder).
    """
    if others:
        return _several(protocol, (target or "", *others), options)
    if options.plan:
        return _planned(protocol, target, options)
    with terminated_as_interrupted(unignored=True), watch(quiet=options.quiet) as listener:
        if options.resume is not None:
            done = _resumed(protocol, options, listener)
        else:
            done = _started(protocol, target, options, listener)
    status = exit_status(done.record.verdict, options.use)
    if options.json:
        print_document("run", _document(done) | {"exit_status": status})
    else:
        print_result(plain(render([done])))
        print(f"run: {done.path}", file=sys.stderr)
    return status


def _started(protocol: str | None, target: str | None, options: RunOptions, listener: Listener) -> Run:
    return start_run(*_ordered(protocol, target, options), listener)


def _several(protocol: str | None, targets: tuple[str, ...], options: RunOptions) -> int:
    """One run each; nothing begins unless all may."""
    for name, given in (
        ("baseline", baseline_of(options.baseline)),
        ("fault", options.fault),
        ("resume", options.resume),
    ):
        if given:
            raise UsageError(f"`--{name}` is for a run on one target", hint="give that run a command of its own")
    refuse_same(targets)
    ordered = [_ordered(protocol, target, options) for target in targets]
    outs = _apart([out if options.out is None else options.out / _name_of(order.target) for _, order, out in ordered])
    loaded = ordered[0][0]
    plans = plan_all(loaded, [(order, out) for (_, order, _), out in zip(ordered, outs, strict=True)])
    if options.plan:
        return _show_plans(plans, options)
    words = _words(protocol or "", options)
    commands = [(target, [*words, target, "--out", str(out)]) for target, out in zip(targets, outs, strict=True)]
    outcomes = run_all(commands, quiet=options.quiet)
    status = next(each for each in GRAVEST_FIRST if each in {outcome.exit_status for outcome in outcomes})
    if options.json:
        print_document("run", {"runs": [each.document for each in outcomes], "exit_status": status})
    else:
        for outcome in outcomes:
            if outcome.folder is not None:
                print_result(plain(render([read_run(outcome.folder)])))
                print(f"run: {outcome.folder}", file=sys.stderr)
    return status


def _apart(outs: list[Path]) -> list[Path]:
    """Folders of which no two are the same: two drives may have one name."""
    found: list[Path] = []
    for out in outs:
        path, number = out, 1
        while path in found:
            number += 1
            path = out.with_name(f"{out.name}-{number}")
        found.append(path)
    return found


def _words(protocol: str, options: RunOptions) -> list[str]:
    """The options of a run as they were given, for a process of its own."""
    named = {"seed": options.seed, "scale": options.scale, "size": options.size, "use": options.use}
    named["temperature-limit"] = options.temperature_limit
    words = [
        protocol,
        *(word for name, value in named.items() if value is not None for word in (f"--{name}", str(value))),
    ]
    repeated = {"set": options.settings, "destroy-data-on": options.destroy_data_on}
    repeated["allow-signature"] = options.allow_signature
    words += [word for name, values in repeated.items() for value in values for word in (f"--{name}", value)]
    return [*words, "--like-lab"] if options.like_lab else words


def _planned(protocol: str | None, target: str | None, options: RunOptions) -> int:
    """Show the plan of a run that would be allowed; of one that would not, it comes with the refusal."""
    if options.resume is not None:
        raise UsageError("`--plan` is for a new run: it goes not with `--resume`")
    plans = plan_run(*_ordered(protocol, target, options))
    if not plans:
        raise UsageError(f"`{target}` is no disk: there is nothing to plan", hint="leave `--plan` out")
    return _show_plans(plans, options)


def _show_plans(plans: tuple[Planned, ...], options: RunOptions) -> int:
    if options.json:
        print_document("run", {"plan": [planned.document for planned in plans], "exit_status": 0})
    else:
        print_plan(plans)
    return 0


def _ordered(protocol: str | None, target: str | None, options: RunOptions) -> tuple[LoadedProtocol, Order, Path]:
    if protocol is None or target is None:
        missing = "a target" if protocol else "a protocol and a target"
        raise UsageError(f"{missing} must be given", hint="shakedown run cliff model:wd40efax")
    loaded = load_protocol(protocol, split_pairs(options.settings, "like `--set hold=30s`"))
    _refuse_unjudged(options.use, loaded.protocol.name, loaded.protocol.uses)
    _refuse_of_array(options.use, target)
    baseline = baseline_of(options.baseline)
    _refuse_array_beside_drive(loaded.protocol.uses, target, baseline)
    consent = Consent(options.destroy_data_on, options.allow_signature)
    refuse_needless_consent(consent, target, baseline)
    order = Order(
        target=target,
        baseline=baseline,
        seed=check_seed(options.seed),
        scale_divisor=parse_scale(options.scale),
        size_bytes=None if options.size is None else named("--size", parse_drive_bytes, options.size),
        consent=consent,
        like_lab=options.like_lab,
        faults=options.fault,
        temperature_limit_celsius=_temperature(options.temperature_limit),
    )
    return loaded, order, options.out or free_folder(Path("runs") / f"{loaded.protocol.name}-{_name_of(target)}")


def _resumed(protocol: str | None, options: RunOptions, listener: Listener) -> Run:
    assert options.resume is not None
    if protocol is not None or ordered_anew(options, _OF_A_NEW_RUN):
        raise UsageError(
            "`--resume` goes on with a run as it was ordered: give no protocol, no target and none of --baseline, "
            "--out, --set, --seed, --scale, --size, --like-lab, --fault, --temperature-limit",
            hint=f"shakedown run --resume {options.resume}",
        )
    stopped = LabOrder.read(options.resume)
    record = read_record(options.resume).protocol if stopped is None else stopped.load().protocol
    _refuse_unjudged(options.use, record.name, record.uses)
    if stopped is not None and not options.quiet:
        print("a run in the lab is played again from its beginning, and comes out the same", file=sys.stderr)
    return resume_run(options.resume, Consent(options.destroy_data_on, options.allow_signature), listener)


def _temperature(limit: int | None) -> int | None:
    if limit is not None and limit not in range(20, 101):
        raise UsageError(f"`--temperature-limit {limit}` is out of range", hint="degrees Celsius, from 20 to 100")
    return limit


def _refuse_unjudged(use: Use | None, protocol: str, uses: tuple[Use, ...]) -> None:
    if use is not None and use not in uses:
        raise UsageError(
            f"`{protocol}` says nothing on the use `{use}`", hint=f"it bears on {', '.join(uses) or 'none'}"
        )


def _refuse_of_array(use: Use | None, target: str) -> None:
    if use is not None and use not in USES_OF_ARRAYS and names_storage_box(target):
        raise UsageError(
            f"`{use}` is a use of single drives, and `{target}` is an array",
            hint=f"of an array {' and '.join(USES_OF_ARRAYS)} is judged",
        )


def _refuse_array_beside_drive(uses: tuple[Use, ...], target: str, baseline: str | None) -> None:
    if uses and baseline is not None and names_storage_box(baseline) and not names_storage_box(target):
        raise UsageError(
            f"`--baseline {baseline}` is an array: what share of its rate a drive has, says nothing of the drive",
            hint="give a drive, as `--baseline model:st12000vn0007`",
        )


def _name_of(target: str) -> str:
    """What to call the folder: the last part of the target without what file systems dislike."""
    if names_storage_box(target):
        return re.sub(r"[^A-Za-z0-9_.-]+", "-", "-".join(target.split(":")[1:3])).strip("-.")[:60]
    last = target.partition(":")[2] if target.startswith(("model:", "lab:")) else target
    stem = Path(last.rstrip("/")).name.removesuffix(".toml")
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", stem).strip("-.")[:60] or "target"


def _document(run: Run) -> dict[str, object]:
    baseline = run.baseline
    return {
        "folder": str(run.path),
        "run": run.record.model_dump(mode="json"),
        "baseline": None if baseline is None else baseline.record.model_dump(mode="json"),
    }
