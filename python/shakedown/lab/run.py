"""One command in a guest: from the order to its exit status."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from shakedown import _core
from shakedown.analysis.in_vain import in_vain
from shakedown.errors import TRACEBACK, EnvironmentFailure, UsageError
from shakedown.lab.bays import Bus, make_lab, makers
from shakedown.lab.cache import cache_folder, readable
from shakedown.lab.disks import disk_name, udev_archive
from shakedown.lab.ended import exit_status, raise_given_up
from shakedown.lab.fence import Fence
from shakedown.lab.folder import PRINTED, brought_out, fill, hand_over, room_in_guest, run_folder
from shakedown.lab.image import Image, find_image
from shakedown.lab.keep import Maker, kept
from shakedown.lab.kernel import Kernel, find_kernel
from shakedown.lab.ourselves import pack_ourselves
from shakedown.lab.printed import Printed
from shakedown.lab.program import Say
from shakedown.units import NS_PER_S, format_duration, format_size

OnPrint = Callable[[str, bytes], None]

# How a disk fails that the data of drives is put on.
_DISK_FAILS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS})
_STALL_LIMIT_S: Final = 60.0
# A guest that does not get to its end by itself by then is ended.
_GRACE_NS: Final = 2 * 3600 * NS_PER_S
# What a kernel takes of the memory before anybody else, and some room to write.
_KERNEL_BYTES: Final = 32 << 20
# Of the guest's memory for ZFS' cache; ZFS itself would take most of it.
_ARC_PART: Final = 4


@dataclass(frozen=True, kw_only=True)
class Order:
    """What to run, on what. ``bring_out`` are paths of the guest, each with where it is to lie here.

    ``faults`` are TOML, by the number of the drive. At each of ``power_cuts_ns``, which count from the first boot, the
    power of guest and drives fails; it is back after ``power_off_ns``, and the guest boots and runs ``after_cut``, or
    the command again. ``with_shakedown`` puts Shakedown itself into the guest, ``with_zfs`` OpenZFS into
    its kernel. ``keep`` is the folder of drives that outlive the run: see ``shakedown.lab.keep``.
    """

    command: tuple[str, ...]
    drives: tuple[str, ...] = ()
    bus: Bus = "scsi"
    seed: int = 1
    scale_divisor: int = 1
    memory_bytes: int = 1 << 30
    wall_limit_s: float | None = None
    virtual_limit_s: int = 365 * 86_400
    bring_in: tuple[Path, ...] = ()
    bring_out: Mapping[str, Path] = field(default_factory=dict)
    with_shakedown: bool = False
    faults: Mapping[int, str] = field(default_factory=dict)
    power_cuts_ns: tuple[int, ...] = ()
    power_off_ns: int = 10 * NS_PER_S
    after_cut: tuple[str, ...] = ()
    with_zfs: bool = False
    keep: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and the clock's and the drives' own account of it."""

    exit_status: int
    virtual_ns: int
    wall_ns: int
    report: _core.LabReport


def faults_in_vain(order: Order, outcome: Outcome, called: Callable[[int], str] | None = None) -> tuple[str, ...]:
    """A sentence for each fault that made no difference; what a drive of a number is ``called``, if not as a disk."""
    called = called or (lambda number: ("v" if order.bus == "blk" else "s") + disk_name(number)[1:])
    ended = f"the guest was at its end after {format_duration(outcome.virtual_ns)}"
    return tuple(
        words
        for number, text in sorted(order.faults.items())
        for words in in_vain(
            text, outcome.report["drives"][number]["faults_met"], called(number), outcome.virtual_ns, ended
        )
    )


class NotBroughtOut(EnvironmentFailure):
    """A command has come to its end, and not all that was to be brought out is there."""

    def __init__(self, error: EnvironmentFailure, outcome: Outcome) -> None:
        """``outcome`` is how the command ended."""
        ended = f"; the command ended with status {outcome.exit_status}" if outcome.exit_status else ""
        super().__init__(f"{error}{ended}", hint=error.hint)
        self.outcome = outcome


def run(order: Order, on_print: OnPrint, say: Say = lambda _: None) -> Outcome:
    """Boot a guest, run the command in it and wait for its end; what it prints goes to ``on_print`` as it comes.

    Nothing is left running, however this ends. Raises UsageError for the order, EnvironmentFailure if the lab is not
    built, cannot run here, or the guest does not come to its end, NotBroughtOut if it does.
    """
    began_ns = time.monotonic_ns()
    _refuse_too_much(order)
    # A drive that is none is told before a lab that has to be built for it.
    ordered = makers(order.drives, seed=order.seed, scale_divisor=order.scale_divisor)
    kernel, image = _built(order)
    images = {"tools": image.tools}
    if kernel.zfs_tools is not None:
        images["zfs"] = kernel.zfs_tools
    if order.with_shakedown:
        images["ourselves"] = pack_ourselves(image, say)
    boot = {"/boot/linux": kernel.path, "/boot/initramfs": image.initramfs}
    boot |= {f"/image/{name}": path for name, path in images.items()}
    with _places(order.keep, ordered) as places, run_folder() as folder:
        lab = make_lab(
            folder,
            order.drives,
            bus=order.bus,
            seed=order.seed,
            scale_divisor=order.scale_divisor,
            faults=order.faults,
            power_may_fail=bool(order.power_cuts_ns),
            kept=places,
        )
        cuts_ns = (*sorted(order.power_cuts_ns), None)
        for number, cut_ns in enumerate(cuts_ns):
            booted_ns = lab.now_ns
            _lay(folder, order, lab, is_first=number == 0, is_cut=cut_ns is not None)
            fence = _fence(folder, boot, order, lab, number)
            last_ns = booted_ns + order.virtual_limit_s * NS_PER_S + _GRACE_NS
            report = _serve(folder, fence, lab, order, on_print, last_ns if cut_ns is None else cut_ns)
            if cut_ns is not None and report["outcome"] == "power_cut":
                lab.power_cycle(off_ns=order.power_off_ns)
                continue
            status, uptime_ns = _ended(folder, fence, report, order)
            break
        left_behind = _left_behind(folder, order)
        with _keeps():
            lab.end()
    # The clock does not hear of time that passes while no drive has anything to do.
    virtual_ns = booted_ns + max(report["virtual_ns"], uptime_ns)
    outcome = Outcome(status, virtual_ns, time.monotonic_ns() - began_ns, report)
    if left_behind is not None:
        raise NotBroughtOut(left_behind, outcome) from left_behind
    return outcome


@contextmanager
def _keeps() -> Iterator[None]:
    """Raises EnvironmentFailure where the data of a drive could not be kept."""
    try:
        yield
    except OSError as error:
        # Another one is not the disk's: whoever reads what is printed may have enough of it.
        if error.errno not in _DISK_FAILS:
            raise
        hint = "make room there; drives that --keep has are as they were before the run"
        raise EnvironmentFailure(str(error.strerror), hint=hint) from error


def _left_behind(folder: Path, order: Order) -> EnvironmentFailure | None:
    """Bring out what is to be brought out; why that is not all of it."""
    try:
        if order.bring_out:
            brought_out(folder, order.bring_out)
    except EnvironmentFailure as error:
        return error
    return None


@contextmanager
def _places(keep: Path | None, ordered: Sequence[Maker]) -> Iterator[list[Path]]:
    """Where the drives outlive the run, if they are to."""
    if keep is None:
        yield []
        return
    with kept(keep, ordered) as places:
        yield places


def _lay(folder: Path, order: Order, lab: _core.Lab, *, is_first: bool, is_cut: bool) -> None:
    """What the guest finds at a boot. One whose power is going to be cut stays until then."""
    command = order.command if is_first or not order.after_cut else order.after_cut
    if order.with_shakedown and (is_set := os.environ.get(TRACEBACK)):
        command = ("env", f"{TRACEBACK}={is_set}", *command)
    fill(folder, command, order.virtual_limit_s, order.bring_in, order.bring_out, stays=is_cut)
    if order.bus == "scsi":
        (folder / "share" / "disks.tar").write_bytes(udev_archive(lab.drives))
    hand_over(folder)


def _serve(
    folder: Path, fence: Fence, lab: _core.Lab, order: Order, on_print: OnPrint, cut_ns: int | None
) -> _core.LabReport:
    """One boot, from the start of the kernel until nothing is left of it."""
    with fence, _keeps():
        began = [(folder / name).stat().st_size for name in PRINTED]
        streams = [Printed(folder / name, skip) for name, skip in zip(PRINTED, began, strict=True) if name != "console"]

        def relay() -> None:
            for printed in streams:
                if new := printed.new():
                    on_print(printed.name, new)

        report = lab.run(
            fence.pid,
            wall_limit_s=order.wall_limit_s,
            stall_limit_s=_STALL_LIMIT_S,
            pin_cpu=fence.cpu,
            on_tick=relay,
            power_cut_at_ns=cut_ns,
        )
        fence.end()
    relay()
    return report


def _ended(folder: Path, fence: Fence, report: _core.LabReport, order: Order) -> tuple[int, int]:
    """The command's exit status, and when it ended (ns). Raises EnvironmentFailure if it never did."""
    outcome, virtual_ns = report["outcome"], report["virtual_ns"]
    raise_given_up(outcome, virtual_ns, stall_s=_STALL_LIMIT_S)
    fence.raise_trouble()
    return exit_status(
        folder, outcome, virtual_ns, virtual_limit_s=order.virtual_limit_s, memory_bytes=order.memory_bytes
    )


def _built(order: Order) -> tuple[Kernel, Image]:
    with readable():
        kernel, image = find_kernel(with_zfs=order.with_zfs), find_image()
    if kernel is None or image is None:
        kind = "kernel with OpenZFS" if order.with_zfs else "kernel"
        missing = " and no ".join(what for what, there in ((kind, kernel), ("image", image)) if there is None)
        there = any(cache_folder().glob("kernel-*" if kernel is None else "image-*"))
        which = "that fits: what the cache has was made otherwise" if there else "yet"
        order_it = "shakedown lab build --zfs" if order.with_zfs else "shakedown lab build"
        hint = f"`{order_it}`, once, some minutes"
        raise EnvironmentFailure(f"the lab has no {missing} {which}", hint=hint)
    return kernel, image


def _refuse_too_much(order: Order) -> None:
    """Raise UsageError if what is brought in would not leave the command any room to write."""
    size_bytes = room_in_guest(order.bring_in)
    if size_bytes > order.memory_bytes // 2 - _KERNEL_BYTES:
        needed_gib = -(-2 * (size_bytes + _KERNEL_BYTES) // (1 << 30))
        machine_gib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 30
        raise UsageError(
            f"what is to be brought in takes {format_size(size_bytes)}, and a guest keeps it in half of its memory, "
            f"which is {format_size(order.memory_bytes)}",
            hint=f"--memory {needed_gib}GiB" if needed_gib <= machine_gib else "bring in less: no guest can hold this",
        )


def _fence(folder: Path, boot: dict[str, Path], order: Order, lab: _core.Lab, number: int) -> Fence:
    """The kernel and its command line, which is the same for the same order: it seeds all that is random inside."""
    # Another boot draws other numbers.
    again = [f"shakedown.boot={number}"] if number else []
    arguments = [
        f"mem={order.memory_bytes >> 20}M",
        "initrd=/boot/initramfs",
        "uml_dir=/tmp",
        "umid=lab",
        "con=null",
        "con0=null,fd:1",
        "ssl=null",
        "ssl0=null,fd:3",
        "ssl1=null,fd:4",
        "norandmaps",
        "scsi_mod.scan=sync",
        f"time-travel-start={lab.time_of_day_ns}",
        f"shakedown.seed={order.seed}",
        *again,
        *([f"zfs.zfs_arc_max={order.memory_bytes // _ARC_PART}"] if order.with_zfs else []),
        *lab.kernel_arguments,
    ]
    return Fence(
        folder,
        program=["/boot/linux", *arguments],
        binds=boot | {"/dev/null": Path(os.devnull), "/share": folder / "share", "/run": folder},
        writable=("/dev/null", "/share", "/run"),
        start_in="/run",
        memory_bytes=order.memory_bytes,
        printed=[folder / name for name in PRINTED],
    )
