"""Whether a disk is there and answers, and under which name: after an error, and after a reboot."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Final

from shakedown.device.disk.facts import Name
from shakedown.device.disk.machine import Machine, Unread, needed
from shakedown.device.disk.naming import folder_of, name_of
from shakedown.errors import EnvironmentFailure, RefusedError
from shakedown.result.identity import Identity

UNKNOWN_MODEL: Final = "unknown disk"
_BLOCK_BYTES: Final = 4096
_PLACES: Final = (0.0, 0.5, 1.0)


def find_disk(machine: Machine, name: Name) -> str | None:
    """The kernel's name of the one disk that says that it is this one, None where none does.

    Raises EnvironmentFailure where it cannot be learned, RefusedError where several do: which of them is meant nobody
    can tell. One that has neither serial number nor WWN is found nowhere.
    """
    if name.serial is None and name.wwn is None:
        return None
    with needed(f"{name.model}"):
        return _only([each for each in machine.names("/sys/block") if _says(machine, each) == name], f"{name.model}")


def path_of(target: Identity, machine: Machine | None = None) -> str:
    """Where the target of an earlier run is to be opened: a disk may have another name since.

    Raises EnvironmentFailure where no disk says that it is this one, RefusedError where several do.
    """
    if target.kind != "disk":
        return target.text
    machine = machine or Machine()
    with needed(target.text):
        number = machine.number(target.text)
        here = None if number is None else folder_of(machine, number)
        if here is not None and _is(target, _says(machine, here.rpartition("/")[2])):
            return target.text
        found = _only([each for each in machine.names("/sys/block") if _is(target, _says(machine, each))], target.model)
    if found is None:
        told = ", ".join(f"{key} {target.details[key]}" for key in ("serial", "wwn") if key in target.details)
        raise EnvironmentFailure(
            f"{target.text} is not there: no disk says that it is {target.model}, {told}",
            hint="attach it, under whatever name, and go on then; `lsblk -o NAME,MODEL,SERIAL` shows what is there",
        )
    return f"/dev/{found}"


def _is(target: Identity, name: Name | None) -> bool:
    """Whether a disk's name is that of a run's target, as the run's record has it."""
    if name is None or (name.serial is None and name.wwn is None):
        return False
    known = (target.details.get("serial"), target.details.get("wwn"), target.model, target.capacity_bytes)
    wwn = None if name.wwn is None else f"0x{name.wwn}"
    capacity_bytes = name.size_bytes // _BLOCK_BYTES * _BLOCK_BYTES
    return known == (name.serial, wwn, name.model or UNKNOWN_MODEL, capacity_bytes)


def _only(found: list[str], model: str) -> str | None:
    if len(found) > 1:
        raise RefusedError(
            f"{' and '.join(found)} both say that they are this {model}, by the same serial number",
            hint="two paths to one disk, or a copied serial number: detach one of them",
        )
    return found[0] if found else None


def _says(machine: Machine, kernel_name: str) -> Name | None:
    try:
        return name_of(machine, machine.real(f"/sys/block/{kernel_name}"))
    except Unread:
        return None


def answers(device: Path) -> bool:
    """Whether a read succeeds anywhere on it: one bad sector does not make a dead disk."""
    try:
        descriptor = os.open(device, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_DIRECT)
    except OSError:
        return False
    try:
        last = os.lseek(descriptor, 0, os.SEEK_END) // _BLOCK_BYTES - 1
        return any(_reads(descriptor, int(part * last) * _BLOCK_BYTES) for part in _PLACES)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _reads(descriptor: int, offset: int) -> bool:
    with mmap.mmap(-1, _BLOCK_BYTES) as block:
        try:
            return os.preadv(descriptor, [block], offset) > 0
        except OSError:
            return False
