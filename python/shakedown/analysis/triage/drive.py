"""Which names mean the same drive: a port, a SCSI address, a letter that changes when it comes back."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from shakedown.analysis.triage.host import Hosts

MOST_DRIVES: Final = 2048
"""More than a machine has; of a log that names more, those not heard of for longest are forgotten."""

_INQUIRY_CHARACTERS: Final = 16
_ADAPTER: Final = re.compile(r"(?!nvme)\S+ [0-9a-f]+:[0-9a-f]{2}:[0-9a-f]{2}\.\d$|mpt[23]sas(?:_cm)?\d+$")
_PORT: Final = re.compile(r"ata\d+(?:\.\d+)?$")
_BY_ID: Final = re.compile(r"(?:ata|nvme|scsi|usb|wwn)-[\w.:+=@-]+$")
_DISK: Final = re.compile(r"(?:sd[a-z]+|nvme\d+(?:n\d+)?|vd[a-z]+|hd[a-z]|mmcblk\d+)$")


def is_of_other_adapter(address: str) -> bool:
    """Whether a SCSI address is none that libata gives, whose ports have one drive or two: a SAS adapter counts on."""
    found = re.fullmatch(r"\d+:\d+:(\d+):\d+", address)
    return found is not None and int(found[1][:9]) > 1


@dataclass(eq=False)
class Drive:
    """A drive as a log shows it. ``is_gone`` after the kernel gave it up, until it is seen again.

    ``usb`` is its place on the USB (``2-1.4``), empty if the log never says or it is elsewhere.
    ``passed_on`` is the name under ``/dev`` that it had until another drive got it.
    """

    names: list[str] = field(default_factory=list)
    model: str = ""
    passed_on: str = ""
    usb: str = ""
    is_gone: bool = False
    has_disk: bool = False
    speed_gbps: float = 0.0
    spoken_of_at: int = 0
    """When the log spoke of it first, and when it last found it under an address: both of one count."""
    found_at: int = 0

    @property
    def letter(self) -> str:
        """The name under ``/dev`` that it had last, empty if the log never says."""
        return next((name for name in reversed(self.names) if _DISK.match(name)), "")

    @property
    def port(self) -> str:
        """Its ATA port, empty if the log never says or it has none."""
        return next((name for name in reversed(self.names) if _PORT.match(name)), "")

    @property
    def by_id(self) -> str:
        """Its name under ``/dev/disk/by-id`` as ZFS calls it, empty if the log never says."""
        return next((name for name in reversed(self.names) if _BY_ID.match(name)), "")

    @property
    def is_placed(self) -> bool:
        """Whether both its port and its SCSI address are known."""
        return bool(self.port) and any(":" in name for name in self.names)

    @property
    def is_disk(self) -> bool:
        """Whether it is more than a port: the kernel has found a disk, or calls it as it calls none but disks."""
        return self.has_disk or any(":" in name or _DISK.match(name) for name in self.names)

    @property
    def is_usb_device(self) -> bool:
        """Whether it is a device on the USB of which the log does not say which disk it is, or that it is one."""
        return bool(self.names) and all(re.fullmatch(r"\d+-[\d.]+", name) for name in self.names)

    @property
    def is_adapter(self) -> bool:
        """Whether it is the adapter itself (``ahci 0000:01:00.0``, ``mpt3sas_cm0``), behind which drives are."""
        return any(_ADAPTER.match(name) for name in self.names)

    @property
    def is_behind_other_adapter(self) -> bool:
        """Whether its SCSI address is none that libata gives."""
        return any(is_of_other_adapter(name) for name in self.names)

    @property
    def is_nvme(self) -> bool:
        """Whether it is flash on PCI Express, without shingles, SATA link and the settings of a SCSI disk."""
        return any(name.startswith("nvme") for name in self.names)

    @property
    def title(self) -> str:
        """How people call it, or did then."""
        letter = self.letter or (f"{self.passed_on} (another drive by now)" if self.passed_on else "")
        known = [name for name in (letter, self.port) if name]
        if self.is_usb_device:
            return f"usb {self.names[-1]}"
        return " ".join(known) or (self.names[-1] if self.names else "")


class Drives:
    """All drives of a log, by name."""

    def __init__(self) -> None:
        """No drive yet."""
        self._by_name: OrderedDict[str, Drive] = OrderedDict()
        self._unplaced: dict[str, str] = {}
        self._is_settled = True
        self._count = count(1)
        self.hosts = Hosts()

    def get(self, name: str) -> Drive:
        """The drive of a name, a new one if the name is new."""
        drive = self._by_name.get(name)
        if drive is None:
            drive = self._by_id(name) or Drive([], spoken_of_at=next(self._count))
            self._name(drive, name)
        self._by_name.move_to_end(name)
        return drive

    def known(self, name: str) -> Drive | None:
        """The drive of a name, if the log has spoken of it."""
        return self._by_name.get(name)

    def same(self, one: str, other: str) -> tuple[Drive, Drive | None]:
        """Two names are one drive: it, and the drive that ``other`` meant until now, if that was thought another.

        A letter belongs to the address that had it last, and to a drive that was found under a new address since
        somebody spoke of the letter alone; anything else that two drives had in common makes them one.
        """
        drive, before = self.get(one), self._by_name.get(other)
        if before is drive:
            return drive, None
        is_reused = before is not None and bool(_DISK.match(other)) and _is_another(before, drive)
        self._name(drive, other)
        if before is None or is_reused:
            if before is not None:
                before.names.remove(other)
                before.passed_on = other
            return drive, None
        self._swallow(drive, before)
        return drive, before

    def is_model(self, name: str, model: str) -> tuple[Drive, Drive | None]:
        """A drive under ``name`` calls itself ``model``: it, and the drive it was thought not to be, as in ``same``.

        libata names the model by port, then SCSI by address. Which address is the port's the boot tells (``hosts``);
        else both wait for ``told_by_models``. A model that comes under a new address while a single drive of that
        model is gone is that drive.
        """
        is_port = _PORT.match(name) is not None
        is_of_ata = is_port or model.startswith("ATA ")
        model = re.sub(r"^ATA +", "", model).strip()
        drive = self._by_name.get(name)
        if drive is not None and drive.model and not _like(drive.model, model):
            drive = self._replaced(name)
        if is_port or (drive is None and (self._is_told(name) or self._has_unplaced(model))):
            drive = self.get(name)
        elif drive is None:
            drive = self._lost(model)
            if drive is not None:
                self._name(drive, name)
        drive = drive or self.get(name)
        if len(model) > len(drive.model):
            drive.model = model
        drive.is_gone = False
        drive.has_disk = True
        if ":" in name:
            drive.found_at = next(self._count)
        if is_of_ata and not drive.is_placed:
            self._unplaced[name] = model
            if len(self._unplaced) > MOST_DRIVES:
                del self._unplaced[next(iter(self._unplaced))]
            self._is_settled = False
        return self.placed(name) if ":" in name else (drive, None)

    def placed(self, address: str) -> tuple[Drive, Drive | None]:
        """The drive at a SCSI address, joined as by ``same`` to the port that the boot says it is at."""
        drive, port = self.get(address), self.hosts.port_at(address)
        if not port or port in drive.names:
            return drive, None
        at_port = self._by_name.get(port)
        if at_port is not None and drive.model and at_port.model and not _like(drive.model, at_port.model):
            return drive, None
        return self.same(port, address)

    def told_by_models(self) -> Iterator[tuple[Drive, Drive | None]]:
        """Ports and addresses of whose hosts the boot says nothing, joined as by ``same`` where their models tell.

        SCSI names the disks in the order of their ports. Where more addresses are of a model than ports, or fewer, a
        disk is behind another adapter or a line is missing: then any of them may be any.
        """
        if self._is_settled:
            return
        self._is_settled = True
        waiting = {name: model for name, model in self._unplaced.items() if self._waits(name)}
        self._unplaced = waiting
        for like in {model[:_INQUIRY_CHARACTERS] for model in waiting.values()}:
            alike = sorted((name for name, model in waiting.items() if _like(model, like)), key=_numbers)
            ports, addresses = [name for name in alike if ":" not in name], [name for name in alike if ":" in name]
            if len(ports) == len(addresses):
                yield from (self.same(port, address) for port, address in zip(ports, addresses, strict=True))

    def reboot(self) -> None:
        """Names mean nothing any more: forget them. Whoever holds a drive keeps it."""
        self._by_name.clear()
        self._unplaced.clear()
        self.hosts = Hosts()

    def _name(self, drive: Drive, name: str) -> None:
        if name in drive.names:
            drive.names.remove(name)
        drive.names.append(name)
        self._by_name[name] = drive
        while len(self._by_name) > MOST_DRIVES:
            forgotten, former = self._by_name.popitem(last=False)
            former.names = [each for each in former.names if each != forgotten] or former.names

    def _replaced(self, name: str) -> Drive:
        """Another drive in the place of the one before, which keeps what was said of it."""
        drive = Drive([name])
        self._by_name[name] = drive
        return drive

    def _swallow(self, drive: Drive, other: Drive) -> None:
        for name in list(other.names):
            if name not in drive.names:
                self._name(drive, name)
        drive.model = drive.model or other.model
        drive.is_gone = drive.is_gone or other.is_gone
        drive.has_disk = drive.has_disk or other.has_disk
        drive.found_at = max(drive.found_at, other.found_at)

    def _is_told(self, name: str) -> bool:
        return bool(self.hosts.port_at(name)) if ":" in name else self.hosts.is_known(name)

    def _has_unplaced(self, model: str) -> bool:
        """Whether a drive of a model has been named by its port and not by an address yet."""
        return any(
            ":" not in name and _like(other, model) and self._waits(name) for name, other in self._unplaced.items()
        )

    def _waits(self, name: str) -> bool:
        """Whether a port or an address still wants the other, and nothing but the models may tell."""
        drive = self._by_name.get(name)
        return drive is not None and not drive.is_placed and not self._is_told(name)

    def _lost(self, model: str) -> Drive | None:
        lost = {id(drive): drive for drive in self._by_name.values() if drive.is_gone and _like(drive.model, model)}
        return next(iter(lost.values())) if len(lost) == 1 else None

    def _by_id(self, name: str) -> Drive | None:
        """The one drive whose model a name such as ``ata-WDC_WD40EFAX-68JH4N0_SERIAL`` holds."""
        if "-" not in name or "_" not in name:
            return None
        spaced = name.replace("_", " ")
        named = {id(drive): drive for drive in self._by_name.values() if drive.model and drive.model in spaced}
        return next(iter(named.values())) if len(named) == 1 else None


def _is_another(before: Drive, drive: Drive) -> bool:
    """Whether a letter's drive is not the one that has the letter now.

    It had an address of its own; or nobody knew more than its letter, and the other was found since.
    """
    if any(":" in name for name in before.names):
        return True
    return drive.found_at > before.spoken_of_at and all(_DISK.match(name) for name in before.names)


def _numbers(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name)]


def _like(one: str, other: str) -> bool:
    return bool(one) and one[:_INQUIRY_CHARACTERS].strip() == other[:_INQUIRY_CHARACTERS].strip()
