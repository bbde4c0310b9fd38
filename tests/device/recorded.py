"""Machines that are folders: sysfs, proc and udev as files, and what programs and the kernel would answer.

Below ``recorded`` lie the answers that are no files on a machine: ``ask/PROGRAM-NAME`` is what a program prints,
``loop/NAME`` what a loop device stands on, ``busy/NAME`` who cannot be opened exclusively, ``bytes/NAME-OFFSET`` what
a device holds, and ``denied`` lists what may not be read. A node in ``dev`` says ``block MAJOR:MINOR``, a regular file
``file MAJOR:MINOR INODE``.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from shakedown.device.disk.machine import Machine, Unread

SECTORS = 7_814_037_168


class Recorded(Machine):
    def _denied(self, path: str) -> None:
        listed = self.at("/recorded/denied")
        if listed.exists() and path in listed.read_text().splitlines():
            raise Unread(f"what {path} says: Permission denied")

    def content(self, path: str) -> bytes | None:
        self._denied(path)
        return super().content(path)

    def names(self, folder: str) -> list[str]:
        self._denied(folder)
        return super().names(folder)

    def link(self, path: str) -> str | None:
        text = super().link(path)
        return text if text is None or ":" in text else self.real(path)

    def _words(self, path: str) -> list[str]:
        place = self.at(path)
        return place.read_text().split() if place.is_file() else []

    def number(self, path: str) -> str | None:
        match self._words(path):
            case ["block", number]:
                return number
        return None

    def file(self, path: str) -> tuple[str, int] | None:
        match self._words(path):
            case ["file", number, inode]:
                return number, int(inode)
        return None

    def behind_loop(self, kernel_name: str) -> tuple[str, int] | None:
        match self._words(f"/recorded/loop/{kernel_name}"):
            case [number, inode]:
                return number, int(inode)
        return None

    def is_exclusive(self, path: str) -> bool:
        match self._words(f"/recorded/busy/{Path(path).name}"):
            case []:
                return True
            case ["EBUSY"]:
                return False
        raise Unread(f"whether {path} is in use: it cannot be opened")

    def bytes_at(self, path: str, offset: int, length: int) -> bytes:
        return bytes.fromhex("".join(self._words(f"/recorded/bytes/{Path(path).name}-{offset}")))

    def ask(self, program: str, *arguments: str, good: tuple[int, ...] = (0,)) -> str:
        answer = self.at(f"/recorded/ask/{program}-{Path(arguments[-1]).name}")
        if not answer.exists():
            if program == "smartctl":
                raise Unread("what smartctl says: it is not installed")
            return {"wipefs": '{"signatures": []}', "partx": ""}[program]
        text = answer.read_text()
        if text.startswith("!"):
            raise Unread(f"what {program} says: {text[1:]}")
        return text


@dataclass(frozen=True)
class Disk:
    """A disk to be put into a machine; ``files`` lie in its folder in sysfs, ``udev`` is its record there."""

    name: str
    number: str
    files: dict[str, str] = field(default_factory=dict)
    udev: dict[str, str] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    place: str = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0"

    def partition(self, index: int) -> str:
        return f"{self.name}p{index}" if self.name[-1].isdigit() else f"{self.name}{index}"


def page_80(serial: str) -> str:
    return f"\0\x80\0{chr(len(serial))}{serial}"


class Builder:
    """Writes a machine into an empty folder: Linux on ``sda``, mounted from ``sda2``, with swap in ``sda3``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        system = Disk("sda", "8:0", {"device/vpd_pg80": page_80("SYS-0001"), "device/wwid": "naa.5000c500000000aa"})
        self.disk(system)
        for index in (1, 2, 3):
            self.partition(system, index, 2048 * index)
        self.write("/proc/swaps", "Filename Type Size Used Priority\n/dev/sda3 partition 1 0 -2\n")
        own = "22 27 0:21 / /proc rw - proc proc rw\n27 1 8:2 / / rw shared:1 - ext4 /dev/sda2 rw\n"
        for process in ("self", "1", "4711"):
            self.write(f"/proc/{process}/mountinfo", own)
            self.write(f"/proc/{process}/comm", "systemd\n")
            self.symlink(f"/proc/{process}/fd/0", "/dev/null")
            self.symlink(f"/proc/{process}/fd/3", "socket:[1234]")
        self.symlink("/proc/self/ns/pid", "pid:[4026531836]")
        self.write("/dev/null", "")

    def write(self, path: str, text: str) -> None:
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode("latin-1" if "vpd_" in path else "utf-8"))

    def symlink(self, path: str, target: str) -> None:
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(os.path.relpath(self.root / target.lstrip("/"), place.parent) if target[0] == "/" else target)

    def disk(self, disk: Disk) -> None:
        folder = f"/sys/devices/{disk.place}/block/{disk.name}"
        files = {"size": str(SECTORS), "ro": "0", "hidden": "0", "removable": "0", "queue/zoned": "none"}
        self._device(folder, disk.name, disk.number, files | disk.files)
        self.symlink(f"/sys/block/{disk.name}", folder)
        lines = [*(f"S:{link}" for link in disk.links), *(f"E:{key}={value}" for key, value in disk.udev.items())]
        self.write(f"/run/udev/data/b{disk.number}", "".join(f"{line}\n" for line in lines))
        for link in disk.links:
            self.symlink(f"/dev/{link}", f"/dev/{disk.name}")

    def partition(self, disk: Disk, index: int, start: int) -> None:
        major, minor = disk.number.split(":")
        name = disk.partition(index)
        folder = f"/sys/devices/{disk.place}/block/{disk.name}/{name}"
        files = {"partition": str(index), "start": str(start), "size": "2048", "ro": "0"}
        self._device(folder, name, f"{major}:{int(minor) + index}", files)

    def stack(self, name: str, number: str, below: list[str], files: dict[str, str]) -> None:
        """A device that the kernel makes of others: md, dm, bcache, loop."""
        folder = f"/sys/devices/virtual/block/{name}"
        self._device(folder, name, number, {"size": "2048", "ro": "0", "queue/zoned": "none"} | files)
        self.symlink(f"/sys/block/{name}", folder)
        for each in below:
            real = os.path.realpath(self.root / f"sys/class/block/{each}").removeprefix(str(self.root))
            self.symlink(f"{folder}/slaves/{each}", real)
            self.symlink(f"{real}/holders/{name}", folder)

    def _device(self, folder: str, name: str, number: str, files: dict[str, str]) -> None:
        for path, text in {"dev": f"{number}\n", **files}.items():
            self.write(f"{folder}/{path}", text if path.startswith("device/vpd") else f"{text}\n".replace("\n\n", "\n"))
        self.symlink(f"/sys/dev/block/{number}", folder)
        self.symlink(f"/sys/class/block/{name}", folder)
        self.write(f"/dev/{name}", f"block {number}\n")


def filled(value: object, names: dict[str, str]) -> object:
    """``value`` with ``{disk}``, ``{number}`` and the like replaced, in whatever it holds."""
    if isinstance(value, str):
        return re.sub(r"\{(\w+)\}", lambda found: names.get(found[1], found[0]), value)
    if isinstance(value, list):
        return [filled(each, names) for each in value]
    if isinstance(value, dict):
        return {str(filled(key, names)): filled(each, names) for key, each in value.items()}
    return value
