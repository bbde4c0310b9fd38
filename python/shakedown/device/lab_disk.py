"""A modelled disk as a target: only within a guest of the lab, where every disk is modelled."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from shakedown.device.disk.presence import answers
from shakedown.device.medium import Lease
from shakedown.errors import UsageError
from shakedown.result.identity import Identity
from shakedown.tools.fio.job import Option
from shakedown.tools.fio.locate import Fio
from shakedown.units import SECTOR_BYTES

# Set by whoever boots the guest: each target's text, and its disk.
DISKS: Final = "SHAKEDOWN_LAB_DISKS"
# And what befalls the disks that something befalls.
FAULTS: Final = "SHAKEDOWN_LAB_FAULTS"
# Where a guest has its run's folder, whatever its name is outside: what a guest does hangs on every byte it is given.
RUN_FOLDER: Final = "/lab/run"
_CPU_INFO: Final = Path("/proc/cpuinfo")


def numbered(text: str, number: int) -> str:
    """The key in ``DISKS`` of one of several drives of an array."""
    return f"{number} {text}"


def _way_in(text: str) -> str:
    """Which command plays it in the lab: the lab has drives, and arrays of them."""
    kind, colon, _ = text.removeprefix("lab:").partition(":")
    if colon:
        return f"the lab is given drives, and makes arrays of them itself: shakedown rebuild {kind} lab:NAME --width 4"
    return f"shakedown run PROTOCOL {text}; it cannot be resumed"


class LabDisk:
    """Implements ``Medium``. Its disks hold nobody's data, so no consent is asked."""

    remembers = False

    def __init__(self, text: str, scale_divisor: int = 1, number: int | None = None) -> None:
        """Find the disk of the target ``text``; of several with one text, the ``number``. Raises UsageError outside.

        ``scale_divisor``: how many times smaller than the one it stands for it was made.
        """
        disks: dict[str, str] = json.loads(os.environ.get(DISKS, "{}"))
        key = text if number is None else numbered(text, number)
        # The environment alone is no proof: on a machine of its own it would name somebody's disk.
        if key not in disks or "User Mode Linux" not in _CPU_INFO.read_text():
            raise UsageError(f"`{text}` is a disk of the lab, and this command does not go there", hint=_way_in(text))
        self.disk = disks[key]
        system = Path("/sys/block") / Path(self.disk).name
        faults: dict[str, str] = json.loads(os.environ.get(FAULTS, "{}"))
        self.identity = Identity(
            kind="lab",
            text=text,
            name=Path(text.removeprefix("lab:")).stem,
            model=(system / "device" / "model").read_text().strip(),
            capacity_bytes=int((system / "size").read_text()) * SECTOR_BYTES,
            details={
                "scale_divisor": str(scale_divisor),
                "scheduler": (system / "queue" / "scheduler").read_text().strip(),
            }
            | ({"faults": faults[self.disk]} if self.disk in faults else {}),
        )

    @property
    def device(self) -> Path:
        """The disk in the guest."""
        return Path(self.disk)

    def require(self, fio: Fio) -> None:
        """Any fio reaches it."""

    def admit_writing(self) -> None:
        """Nobody's data is on it."""

    def missing(self, *, failed: bool) -> str | None:
        """A drive that has vanished keeps its name in a guest, and answers nothing."""
        return f"{self.identity.text} does not answer" if failed and not answers(Path(self.disk)) else None

    @contextmanager
    def lend(self, *, write: bool) -> Iterator[Lease]:  # noqa: ARG002 - it may be written always
        """Hand it to fio, which is to ask the guest for the time: the processor's own clock is the host's."""
        options = {"filename": self.disk, "ioengine": "libaio", "direct": "1", "clocksource": "clock_gettime"}
        yield Lease(tuple(Option(name, value) for name, value in options.items()), ())

    def close(self, *, finished: bool = True) -> None:
        """It ends with its guest."""
