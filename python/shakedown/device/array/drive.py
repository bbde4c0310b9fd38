"""One drive of an array: given up by the user, taken from the guard, wiped, and its traffic counted."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shakedown.device.array.programs import attempt, call
from shakedown.device.disk.facts import Consent
from shakedown.device.disk.medium import DiskMedium, Guarded
from shakedown.device.guard import is_blank
from shakedown.device.lab_disk import LabDisk
from shakedown.errors import RefusedError, UsageError
from shakedown.result.identity import Identity
from shakedown.units import SECTOR_BYTES

# Where in the line of statistics flushes stand, and behind them their time.
_FLUSHES: Final = 15
_FIRST_SECTOR: Final = 2048
# Of ZFS.
_LABEL_BYTES: Final = 256 << 10
# What stands on a drive because of an array; the array's own identity then has to show that it is ours.
_OURS_MAY_BE: Final = frozenset({"member", "signature", "in-use"})


@dataclass(frozen=True)
class Traffic:
    """What the kernel has counted of a drive: ``/sys/block/*/stat``.

    Flushes are not among ``requests`` or ``in_flight``: they are counted, and how long they took, when they have ended.
    """

    requests: int
    read_bytes: int
    written_bytes: int
    busy_ns: int
    in_flight: int
    flushes: int = 0
    flush_ns: int = 0

    @classmethod
    def parse(cls, stat: str) -> Traffic:
        """The file's one line. Before Linux 5.5 it says nothing of flushes."""
        fields = [int(field) for field in stat.split()]
        reads, _, read_sectors, _, writes, _, written_sectors, _, in_flight, busy_ms = fields[:10]
        flushes, flush_ms = fields[_FLUSHES : _FLUSHES + 2] if len(fields) > _FLUSHES else (0, 0)
        return cls(
            reads + writes,
            read_sectors * SECTOR_BYTES,
            written_sectors * SECTOR_BYTES,
            busy_ms * 1_000_000,
            in_flight,
            flushes,
            flush_ms * 1_000_000,
        )


def devices_apart(texts: Sequence[str]) -> list[str]:
    """What the names lead to. Raises UsageError where there is nothing, and for one device under two names."""
    found: list[str] = []
    for text in texts:
        if not Path(text).exists():
            raise UsageError(f"there is no device `{text}`", hint="`lsblk -o NAME,SIZE,MODEL,SERIAL` lists them")
        if (device := os.path.realpath(text)) in found:
            raise UsageError(
                f"one device is named twice, as `{text}`", hint="each drive of an array is a device of its own"
            )
        found.append(device)
    return found


class Drive:
    """A whole drive that is going to be overwritten.

    Nothing is written to it before ``take``, and ``take`` asks the guard. In a guest of the lab no drive holds
    anybody's data, and none is asked.
    """

    def __init__(self, text: str, number: int, *, run: Path, consent: Consent) -> None:
        """Find it. ``number`` tells drives of the lab apart that share a text. Raises UsageError, RefusedError."""
        self._medium: DiskMedium | LabDisk
        if text.startswith("lab:"):
            self._medium = LabDisk(text, number=number)
            self.path = self._medium.disk
        else:
            if not Path(text).is_block_device():
                raise UsageError(
                    f"`{text}` is no block device, and an array is made of those",
                    hint="a name in /dev/disk/by-id; for practice a loop device on a file: losetup -f --show FILE",
                )
            self._medium = DiskMedium(text, run=run, consent=consent)
            self.path = f"/dev/{self._medium.situation.kernel_name}"
        self._run = run
        self.identity: Identity = self._medium.identity

    @property
    def name(self) -> str:
        """As the kernel calls it, like ``sdb``."""
        return Path(self.path).name

    @property
    def guarded(self) -> Guarded | None:
        """What the guard says; None in the lab."""
        return self._medium.guarded() if isinstance(self._medium, DiskMedium) else None

    def is_ours_but_for_array(self) -> bool:
        """Whether nothing forbids writing but what an array does to its members. Whose array, is not asked here."""
        guarded = self.guarded
        return guarded is None or all(refusal.rule in _OURS_MAY_BE for refusal in guarded.refusals)

    def is_blank(self) -> bool:
        """Whether it is known to hold zeros only: a drive of the lab, a loop device on holes. Reads no disk."""
        if isinstance(self._medium, LabDisk):
            return True
        backing = self._medium.situation.backing_file
        if backing is None:
            return False
        status = Path(backing).lstat()
        return stat.S_ISREG(status.st_mode) and is_blank(Path(backing), status)

    def take(self) -> None:
        """Let the guard look once more, keep the edges of the drive, and leave it to whoever makes the array.

        Raises RefusedError and EnvironmentFailure.
        """
        self._run.mkdir(parents=True, exist_ok=True)
        with self._medium.lend(write=True):
            pass
        self._medium.close()

    def check_same(self) -> None:
        """Raise RefusedError if another device has its name by now."""
        if isinstance(self._medium, DiskMedium):
            now = DiskMedium(self._medium.situation.text, run=self._run, consent=Consent())
            if now.identity != self.identity or now.situation.number != self._medium.situation.number:
                raise RefusedError(f"{self.identity.text} is another device than the one examined", hint="start again")

    def wipe(self) -> None:
        """Take away what makes it a member: superblocks, labels, signatures, on itself and its partitions."""
        self.check_same()
        clears_labels = attempt("sh", "-c", "zpool version").returncode == 0
        for path in [*self._partitions(), self.path]:
            if clears_labels:
                attempt("zpool", "labelclear", "-f", path)
            else:
                _clear_labels(path)
            attempt("mdadm", "--zero-superblock", path)
            call("wipefs", "--all", "--quiet", "--force", path)
        attempt("blockdev", "--rereadpt", self.path)

    @property
    def first_partition(self) -> str:
        """Its node, whether it is there or not."""
        return f"{self.path}{'p' if self.path[-1].isdigit() else ''}1"

    def partition(self, size_bytes: int) -> None:
        """Make one partition of that size, where the array uses a part only. Raises EnvironmentFailure."""
        self.check_same()
        sectors = size_bytes // SECTOR_BYTES
        if attempt("sh", "-c", "command -v sfdisk").returncode == 0:
            call("sh", "-c", f"echo ',{sectors}' | sfdisk --quiet --label gpt {self.path}")
        else:
            # A guest of the lab has BusyBox's, which knows no GPT.
            last = _FIRST_SECTOR + sectors - 1
            call("sh", "-c", f"printf 'n\\np\\n1\\n{_FIRST_SECTOR}\\n{last}\\nw\\n' | fdisk -u {self.path}")

    def traffic(self) -> Traffic:
        """What was counted so far."""
        return Traffic.parse((_system(self.path) / "stat").read_text())

    def _partitions(self) -> list[str]:
        folder = _system(self.path)
        return sorted(f"/dev/{each.parent.name}" for each in folder.glob(f"{folder.name}*/partition"))


def _clear_labels(path: str) -> None:
    """Zero the four labels of ZFS, as ``zpool labelclear`` does, which zfs-fuse has not: two at each end."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        end = os.lseek(descriptor, 0, os.SEEK_END) // _LABEL_BYTES * _LABEL_BYTES
        for at in (0, _LABEL_BYTES, end - 2 * _LABEL_BYTES, end - _LABEL_BYTES):
            os.pwrite(descriptor, bytes(_LABEL_BYTES), at)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _system(path: str) -> Path:
    return Path("/sys/block") / Path(path).name
