"""Who a block device says it is: sysfs first, which has it from the device, then udev's record."""

from __future__ import annotations

import re
from typing import Final

from shakedown.device.describe import describe
from shakedown.device.disk.facts import Name, Twin
from shakedown.device.disk.machine import Machine
from shakedown.errors import UsageError
from shakedown.units import SECTOR_BYTES

_PAGE_80_HEAD_BYTES: Final = 4


def folder_of(machine: Machine, number: str) -> str | None:
    """The folder in sysfs of the block device ``major:minor``, None where there is no such device."""
    link = f"/sys/dev/block/{number}"
    return machine.real(link) if machine.text(f"{link}/dev") is not None else None


def name_of(machine: Machine, folder: str) -> Name:
    """Model, serial number, WWN and size. Raises Unread where they are told and cannot be read."""
    told = _udev(machine, folder)
    sectors = (machine.text(f"{folder}/size") or "").strip()
    return Name(
        model=_model(machine, folder),
        serial=_serial(machine, folder) or told.get("ID_SCSI_SERIAL") or told.get("ID_SERIAL_SHORT"),
        wwn=_wwn(machine, folder) or _hexadecimal(told.get("ID_WWN_WITH_EXTENSION") or told.get("ID_WWN", "")),
        size_bytes=int(sectors) * SECTOR_BYTES if sectors.isascii() and sectors.isdecimal() else 0,
    )


def links_of(machine: Machine, number: str) -> tuple[str, ...]:
    """The names in ``/dev/disk/by-id`` that lead to the device."""
    folder = "/dev/disk/by-id"
    return tuple(f"{folder}/{each}" for each in machine.names(folder) if machine.number(f"{folder}/{each}") == number)


def twins_of(machine: Machine, folder: str, name: Name) -> tuple[Twin, ...]:
    """Other devices with the same serial number or WWN. Raises Unread."""
    found = []
    for other in machine.names("/sys/block"):
        place = machine.real(f"/sys/block/{other}")
        if place == folder or (machine.text(f"{place}/hidden") or "0").strip() != "0":
            continue
        theirs = name_of(machine, place)
        if _same(name.serial, theirs.serial) or _same(name.wwn, theirs.wwn):
            found.append(Twin(other, theirs))
    return tuple(found)


def _same(ours: str | None, theirs: str | None) -> bool:
    return ours is not None and ours == theirs


def _model(machine: Machine, folder: str) -> str | None:
    try:
        return describe(folder.rpartition("/")[2], machine.at("/sys"), machine.at("/run/udev/data")).model
    except UsageError:
        return None


def _serial(machine: Machine, folder: str) -> str | None:
    """SCSI's and ATA's unit serial number is VPD page 80h; NVMe's and MMC's their own, as is that of virtio-blk."""
    page = machine.content(f"{folder}/device/vpd_pg80")
    if page is not None and len(page) > _PAGE_80_HEAD_BYTES:
        return page[_PAGE_80_HEAD_BYTES:].decode("utf-8", errors="replace").strip(" \0") or None
    texts = (machine.text(f"{folder}/{place}") for place in ("device/serial", "serial"))
    return next((text.strip(" \0\n") for text in texts if text and text.strip(" \0\n")), None)


def _wwn(machine: Machine, folder: str) -> str | None:
    for place in ("wwid", "device/wwid"):
        text = (machine.text(f"{folder}/{place}") or "").strip()
        # `t10.` and `nvme.` are model and serial number once more.
        if re.match(r"(?:naa|eui|uuid)\.", text):
            return _hexadecimal(text.partition(".")[2])
    return None


def _hexadecimal(text: str) -> str | None:
    digits = text.strip().lower().removeprefix("0x").replace("-", "")
    return digits if re.fullmatch(r"[0-9a-f]+", digits) else None


def _udev(machine: Machine, folder: str) -> dict[str, str]:
    number = (machine.text(f"{folder}/dev") or "").strip()
    lines = (machine.text(f"/run/udev/data/b{number}") or "").splitlines()
    return dict(line[2:].split("=", 1) for line in lines if line.startswith("E:") and "=" in line)
