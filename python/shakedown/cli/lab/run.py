"""``shakedown lab run``: a command on modelled drives in a guest."""

from __future__ import annotations

import errno
import os
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from shakedown.cli.lab.say import say
from shakedown.cli.named import named
from shakedown.cli.scale import parse_scale
from shakedown.cli.terminated import terminated_as_interrupted
from shakedown.cli.whole import WHOLE, check_seed
from shakedown.errors import RefusedError, UsageError
from shakedown.lab.bays import Bus
from shakedown.lab.faults import faults_by_drive
from shakedown.lab.folder import inside, refuse_namesakes
from shakedown.lab.run import NotBroughtOut, Order, Outcome, faults_in_vain
from shakedown.lab.run import run as run_in_lab
from shakedown.result.atomic import failed_write, make_folder
from shakedown.units import NS_PER_S, format_duration, format_size, parse_duration_ns, parse_memory_bytes

_LEAST_MEMORY_BYTES = 128 << 20


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LabRunOptions:
    """The options of ``lab run``."""

    drive: Annotated[
        tuple[str, ...],
        Parameter(show_default=False, help="a modelled drive, model:NAME or model:./mine.toml (repeatable)"),
    ] = ()
    bus: Annotated[Bus, Parameter(help="how the drives are attached: /dev/sdX, or /dev/vdX without time-outs")] = "scsi"
    seed: Annotated[int, WHOLE, Parameter(help="of everything random in the drives and in the guest")] = 1
    scale: Annotated[
        str, Parameter(help="make the drives smaller: 1/100 has a hundredth of the capacity and the persistent cache")
    ] = "1"
    fault: Annotated[
        tuple[str, ...],
        Parameter(show_default=False, help="what befalls a drive: DRIVE=FILE.toml or DRIVE=FAULT (repeatable)"),
    ] = ()
    power_cut_at: Annotated[
        tuple[str, ...],
        Parameter(
            show_default=False, help="let the power of guest and drives fail then, in virtual time: 3h (repeatable)"
        ),
    ] = ()
    power_off_for: Annotated[str, Parameter(help="after how long the power is back and the guest boots again")] = "10s"
    after_cut: Annotated[
        str | None,
        Parameter(show_default=False, help="what to run at each later boot, for bash [default: the command again]"),
    ] = None
    keep: Annotated[
        Path | None,
        Parameter(
            show_default=False, help="a folder in which the drives outlive the run: the next one goes on with them"
        ),
    ] = None
    memory: Annotated[str, Parameter(help="the memory of the guest")] = "1GiB"
    wall_limit: Annotated[
        str | None, Parameter(show_default=False, help="end it after so much real time: 10min [default: never]")
    ] = None
    virtual_limit: Annotated[str, Parameter(help="give up after so much virtual time")] = "365d"
    bring_in: Annotated[
        tuple[Path, ...], Parameter(show_default=False, help="a file or folder for the command's folder (repeatable)")
    ] = ()
    bring_out: Annotated[
        tuple[str, ...], Parameter(show_default=False, help="a path of the guest to keep afterwards (repeatable)")
    ] = ()
    out: Annotated[Path, Parameter(help="the folder for what is brought out")] = Path()
    zfs: Annotated[bool, Parameter(help="a kernel with OpenZFS, from `lab build --zfs`")] = False
    with_shakedown: Annotated[bool, Parameter(help="put Shakedown itself, as it runs here, into the guest")] = False
    quiet: Annotated[bool, Parameter(show_default=False, help="no account of the time on standard error")] = False


_DEFAULTS = LabRunOptions()


def run(*command: Annotated[str, Parameter(allow_leading_hyphen=True)], options: LabRunOptions = _DEFAULTS) -> int:
    r"""Run a command in a guest: real block layer, md, filesystems and tools on modelled drives, in virtual time.

    Its output and its exit status are the command's. The same order gives the same result, to the bit. 5 also tells
    that the guest did not come to its end; standard error says why.

    For example:

    shakedown lab run --drive model:wd40efax --scale 1/1000 -- lsblk -o NAME,SIZE,MODEL,SERIAL

    shakedown lab run --drive model:wd40efax --bring-in job.fio --bring-out /lab/result.json --wall-limit 10min \
    -- fio --output-format=json --output=result.json job.fio

    shakedown lab run --drive model:wd40efax --power-cut-at 90s --after-cut 'e2fsck -fy /dev/sda' \
    -- bash -c 'mkfs.ext4 -q /dev/sda && mount /dev/sda /mnt && cp -r /usr /mnt'

    Parameters
    ----------
    command
        What to run, after `--`. It runs in /lab, as root of the guest.
    """
    if not command or not command[0]:
        raise UsageError("no command was given", hint="shakedown lab run --drive model:wd40efax -- lsblk")
    if command[0].startswith("-"):
        raise UsageError(f"there is no option `{command[0]}`", hint="what is to run stands behind `--`; --help has all")
    order = _order(command, options)
    with terminated_as_interrupted(unignored=True):
        try:
            outcome, left_behind = run_in_lab(order, _print, say), None
        except NotBroughtOut as error:
            outcome, left_behind = error.outcome, error
    if not options.quiet:
        print(_account(outcome), *faults_in_vain(order, outcome), sep="\n", file=sys.stderr)
    if left_behind is not None:
        raise left_behind
    return outcome.exit_status


def _order(command: tuple[str, ...], options: LabRunOptions) -> Order:
    limit_ns = None if options.wall_limit is None else named("--wall-limit", parse_duration_ns, options.wall_limit)
    virtual_limit_s = _virtual_limit_s(options.virtual_limit)
    cuts_ns, off_ns = _power_cuts_ns(options, virtual_limit_s * NS_PER_S)
    return Order(
        command=command,
        drives=options.drive,
        bus=options.bus,
        seed=check_seed(options.seed),
        scale_divisor=parse_scale(options.scale),
        memory_bytes=_memory_bytes(options.memory),
        wall_limit_s=None if limit_ns is None else limit_ns / NS_PER_S,
        virtual_limit_s=virtual_limit_s,
        bring_in=options.bring_in,
        with_shakedown=options.with_shakedown,
        faults=faults_by_drive(options.fault, len(options.drive)),
        power_cuts_ns=cuts_ns,
        power_off_ns=off_ns,
        after_cut=() if options.after_cut is None else ("bash", "-c", options.after_cut),
        with_zfs=options.zfs,
        keep=options.keep,
        # A folder is made for them: when nothing else is refused any more.
        bring_out=_places(options),
    )


def _memory_bytes(text: str) -> int:
    memory_bytes = named("--memory", parse_memory_bytes, text)
    if memory_bytes < _LEAST_MEMORY_BYTES:
        raise UsageError(f"`--memory {text}` is too little", hint="at least 128MiB")
    if memory_bytes > (here := os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")):
        raise UsageError(f"`--memory {text}` is more than this machine has", hint=f"at most {format_size(here)}")
    return memory_bytes


def _virtual_limit_s(text: str) -> int:
    limit_s, rest_ns = divmod(named("--virtual-limit", parse_duration_ns, text), NS_PER_S)
    if rest_ns or not limit_s:
        raise UsageError(f"`--virtual-limit {text}` is not in whole seconds, one or more", hint="--virtual-limit 90s")
    return limit_s


def _power_cuts_ns(options: LabRunOptions, limit_ns: int) -> tuple[tuple[int, ...], int]:
    """When the power is cut, and for how long each time."""
    cuts_ns = tuple(sorted(named("--power-cut-at", parse_duration_ns, text) for text in options.power_cut_at))
    off_ns = named("--power-off-for", parse_duration_ns, options.power_off_for)
    if cuts_ns and not cuts_ns[0]:
        raise UsageError("the power cannot fail before the guest has begun", hint="--power-cut-at 90s")
    if cuts_ns and cuts_ns[-1] >= limit_ns:
        late, limit = format_duration(cuts_ns[-1]), format_duration(limit_ns)
        raise UsageError(
            f"a power cut at {late} never comes: the guest ends after {limit}", hint="--virtual-limit 400d"
        )
    for earlier, later in pairwise(cuts_ns):
        if later - earlier <= off_ns:
            what = f"the power cut at {format_duration(later)} falls into the time without power of the one before"
            ends = format_duration(earlier + off_ns)
            raise UsageError(what, hint=f"one after {ends}, or a shorter --power-off-for")
    if options.after_cut is not None and not cuts_ns:
        raise UsageError("`--after-cut` without a power cut", hint="like `--power-cut-at 10min`")
    return cuts_ns, off_ns


def _places(options: LabRunOptions) -> dict[str, Path]:
    """Where what is brought out will lie, in a folder that can be written to before the run and not only after it."""
    for path in options.bring_out:
        inside(path)
    refuse_namesakes([Path(path).name for path in options.bring_out], "out")
    places = {path: options.out / Path(path).name for path in options.bring_out}
    for place in places.values():
        if os.path.lexists(place):
            raise RefusedError(f"{place} exists already", hint="choose another folder: --out")
    if options.bring_out:
        make_folder(options.out)
        if not os.access(options.out, os.W_OK | os.X_OK):
            raise failed_write(options.out, OSError(errno.EACCES, os.strerror(errno.EACCES)))
    return places


def _print(stream: str, text: bytes) -> None:
    ours, rest = sys.stdout if stream == "output" else sys.stderr, memoryview(text)
    while rest:
        # Unbuffered output (PYTHONUNBUFFERED) takes a part without a word, the last before its reader has gone, too.
        rest = rest[ours.buffer.write(rest) :]
    ours.flush()


def _account(outcome: Outcome) -> str:
    virtual, wall = format_duration(outcome.virtual_ns), format_duration(outcome.wall_ns)
    return f"lab: {virtual} of virtual time in {wall}, I/O trace {outcome.report['trace_hash']}"
