"""Linux md through mdadm."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from shakedown.device.array.array import Look, Shape, Span
from shakedown.device.array.drive import Drive
from shakedown.device.array.programs import attempt, call, require
from shakedown.errors import EnvironmentFailure, RefusedError
from shakedown.tools.mdstat import Array, parse_mdstat

_PROGRAMS: Final = {
    "mdadm": "mdadm", "mkfs.ext4": "e2fsprogs", "mount": "mount", "wipefs": "util-linux", "blkid": "util-linux",
}  # fmt: skip
_MDSTAT: Final = Path("/proc/mdstat")
_SYNC_POLL_S: Final = 1.0
_KIB: Final = 1024


class MdArray:
    """Implements ``RealArray``."""

    allocated_bytes = 0

    def __init__(self, shape: Shape, identity: str) -> None:
        """``identity`` is the UUID that it gets, or has. Raises EnvironmentFailure where there is no md."""
        require(_PROGRAMS)
        attempt("modprobe", f"raid{shape.layout.removeprefix('raid')}")
        if not _MDSTAT.exists():
            attempt("modprobe", "md-mod")
        if not _MDSTAT.exists():
            raise _no_md()
        self._shape = shape
        self.identity = identity
        self._device = ""

    @staticmethod
    def check() -> None:
        """Raise EnvironmentFailure where there is no md. It loads nothing."""
        require(_PROGRAMS)
        if not _MDSTAT.exists() and attempt("modprobe", "--dry-run", "md-mod").returncode != 0:
            raise _no_md()

    def create(self, drives: Sequence[Drive], *, are_blank: bool) -> None:
        """``mdadm --create``. On drives that hold zeros only the parity is right as it is."""
        self._device = _free_device()
        options = self._shape.options
        command = ["mdadm", "--create", self._device, f"--uuid={self.identity}", "--metadata=1.2", "--run"]
        command += [f"--level={self._shape.layout.removeprefix('raid')}", f"--raid-devices={len(drives)}"]
        command += ["--bitmap=internal" if options.bitmap else "--bitmap=none"]
        if self._shape.member_bytes is not None:
            command += [f"--size={self._shape.member_bytes // _KIB}"]
        if options.chunk_bytes is not None:
            command += [f"--chunk={options.chunk_bytes // _KIB}"]
        if layout := _layout(options.rotation, options.copies):
            command += [f"--layout={layout}"]
        if are_blank:
            command += ["--assume-clean"]
        call(*command, *(drive.path for drive in drives))
        self._tune()
        self._wait()

    def _tune(self) -> None:
        """The options of ``/sys/block/mdX/md`` that the order names."""
        options, folder = self._shape.options, Path("/sys/block", Path(self._device).name, "md")
        values = {
            "stripe_cache_size": options.stripe_cache,
            "sync_speed_min": _kib(options.speed_min_bytes_per_s),
            "sync_speed_max": _kib(options.speed_max_bytes_per_s),
            "rmw_level": None if options.read_modify_write is None else int(options.read_modify_write),
        }
        for name, value in values.items():
            if value is not None and (folder / name).exists():
                (folder / name).write_text(f"{value}\n")

    def _wait(self) -> None:
        """Until its redundancy is there. Raises EnvironmentFailure where that can be no more."""
        while not (now := self.look()).failed:
            if now.is_over:
                return
            time.sleep(_SYNC_POLL_S)
        raise EnvironmentFailure(
            f"{self._device} lost a drive, or all of them, before its first sync had ended",
            hint="`dmesg` tells which; test the drives by themselves first",
        )

    def find(self, drives: Sequence[Drive]) -> bool:
        """Take the array that udev has assembled, or assemble it; by its UUID and from these drives only.

        Raises RefusedError where there is another drive in it.
        """
        for name, array in parse_mdstat(_MDSTAT.read_text()).items():
            if _uuid(attempt("mdadm", "--detail", "--export", f"/dev/{name}").stdout) == self.identity:
                _refuse_strangers(array, drives)
                self._device = f"/dev/{name}"
        if not self._device:
            members = [drive.path for drive in drives if self._has(drive)]
            if not members:
                return False
            self._device = _free_device()
            call("mdadm", "--assemble", self._device, f"--uuid={self.identity}", "--run", *members)
        attempt("mdadm", "--readwrite", self._device)
        self._tune()
        return True

    def _has(self, drive: Drive) -> bool:
        done = attempt("mdadm", "--examine", "--export", drive.path)
        return done.returncode == 0 and _uuid(done.stdout) == self.identity

    def mount(self, folder: Path) -> None:
        """ext4 that has nothing left to do in the background (account A)."""
        if attempt("blkid", "-p", self._device).returncode != 0:
            call("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", self._device)
        call("mount", "-o", "noatime", self._device, str(folder))

    def unmount(self, folder: Path) -> None:
        """Nothing of it is in memory afterwards."""
        call("umount", str(folder))
        Path("/proc/sys/vm/drop_caches").write_text("3\n")

    def lose(self, drive: Drive) -> None:
        """``--fail`` and ``--remove``."""
        call("mdadm", self._device, "--fail", drive.path)
        for _ in range(_REMOVALS):
            if attempt("mdadm", self._device, "--remove", drive.path).returncode == 0:
                return
            time.sleep(0.1)  # md lets go of it when what was under way has ended
        raise EnvironmentFailure(f"md does not let go of {drive.path}", hint="`dmesg` may tell why")

    def replace(self, lost: Drive, new: Drive) -> None:  # noqa: ARG002 - md knows the empty place
        """``--add``: md begins by itself."""
        call("mdadm", self._device, "--add", new.path)

    def look(self) -> Look:
        """``/proc/mdstat``."""
        array = parse_mdstat(_MDSTAT.read_text()).get(Path(self._device).name)
        if array is None:
            return Look(None, None, None, None, is_over=True, failed=True)
        sync = array.sync
        if sync is not None:
            # Less than six seconds read as 0.0 minutes.
            left_s = sync.finish_s or None
            return Look(sync.done_bytes, sync.total_bytes, sync.bytes_per_s, left_s, is_over=False)
        # Between the command and the beginning, and at the end until the drive is in, it shows nothing.
        healthy = sum(not member.faulty for member in array.members)
        failed = self.seems_over() and healthy < (array.wanted or 0)
        return Look(None, None, None, None, is_over=self.seems_over() and not array.degraded, failed=failed)

    def seems_over(self) -> bool:
        """Md's own word for what it does, read in microseconds."""
        path = Path("/sys/block", Path(self._device).name, "md", "sync_action")
        return not path.exists() or path.read_text().strip() == "idle"

    def span(self) -> Span:
        """Md tells the kernel's log only."""
        return Span()

    def destroy(self) -> None:
        """``--stop``."""
        name = Path(self._device).name
        # By the beginnings of lines: one that is not understood must not pass for an array that is not there.
        if name and any(line.startswith(f"{name} :") for line in _MDSTAT.read_text().splitlines()):
            call("mdadm", "--stop", self._device)
        self._device = ""


_REMOVALS: Final = 50


def _no_md() -> EnvironmentFailure:
    return EnvironmentFailure("this kernel has no md", hint="in the lab it has: `lab:NAME` in place of a device")


def _refuse_strangers(array: Array, drives: Sequence[Drive]) -> None:
    ours = {drive.name for drive in drives}
    if strangers := [member.device for member in array.members if member.device not in ours]:
        raise RefusedError(
            f"{', '.join(strangers)} is in the array /dev/{array.name}, and none of the drives of this rebuild",
            hint=f"take it out: mdadm /dev/{array.name} --fail /dev/{strangers[0]} --remove /dev/{strangers[0]}",
        )


def _free_device() -> str:
    numbers = (number for number in range(100, 1000) if not Path(f"/sys/block/md{number}").exists())
    return f"/dev/md{next(numbers)}"


def _layout(rotation: str | None, copies: tuple[int, int, bool] | None) -> str | None:
    if copies is None:
        return rotation
    near, far, is_offset = copies
    return f"o{far}" if is_offset else f"n{near}" if far == 1 else f"f{far}"


def _kib(size_bytes: int | None) -> int | None:
    return None if size_bytes is None else size_bytes // _KIB


def _uuid(exported: str) -> str:
    found = re.search(r"^MD_UUID=(\S+)$", exported, re.MULTILINE)
    return found[1] if found else ""
