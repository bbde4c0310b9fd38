"""What stands on what: partitions on disks, arrays and mappings on those, loop devices on files on those."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from shakedown.device.disk.facts import Use, UseKind
from shakedown.device.disk.machine import Machine
from shakedown.device.disk.naming import folder_of

_DM_KINDS: Final[dict[str, UseKind]] = {"LVM": "lvm", "CRYPT": "crypt", "mpath": "multipath", "DMRAID": "md"}


def family(machine: Machine, folder: str) -> dict[str, str]:
    """A disk and its partitions: number to kernel name. Raises Unread."""
    found = {}
    for place in (folder, *partitions(machine, folder)):
        number = (machine.text(f"{place}/dev") or "").strip()
        found[number] = place.rpartition("/")[2]
    return found


def partitions(machine: Machine, folder: str) -> list[str]:
    """The folders of a disk's partitions. Raises Unread."""
    places = (f"{folder}/{name}" for name in machine.names(folder))
    return [place for place in places if machine.text(f"{place}/partition") is not None]


def below(machine: Machine, number: str) -> set[str]:
    """The numbers of a device and of all that it stands on, to the bottom. Raises Unread."""
    found: set[str] = set()
    todo = [number]
    while todo:
        number = todo.pop()
        folder = folder_of(machine, number)
        if number in found or folder is None:
            continue
        found.add(number)
        todo.extend(_just_below(machine, folder))
    return found


def _just_below(machine: Machine, folder: str) -> Iterator[str]:
    for slave in machine.names(f"{folder}/slaves"):
        yield (machine.text(f"{folder}/slaves/{slave}/dev") or "").strip()
    if machine.text(f"{folder}/partition") is not None:
        yield (machine.text(f"{folder.rpartition('/')[0]}/dev") or "").strip()
    kernel_name = folder.rpartition("/")[2]
    if kernel_name.startswith("loop") and (behind := machine.behind_loop(kernel_name)) is not None:
        yield behind[0]


def uses_by_kernel(machine: Machine, folder: str) -> Iterator[Use]:
    """What the kernel has built on a disk or its partitions. Raises Unread."""
    numbers = family(machine, folder)
    for place in (folder, *partitions(machine, folder)):
        name = place.rpartition("/")[2]
        for holder in machine.names(f"{place}/holders"):
            kind, words = _holder(machine, holder)
            yield Use(kind, f"{name} is part of {words}")
        if machine.names(f"{place}/bcache"):
            yield Use("bcache", f"{name} is registered with bcache")
    for loop in machine.names("/sys/block"):
        if not loop.startswith("loop") or loop in numbers.values():
            continue
        behind = machine.behind_loop(loop)
        if behind is not None and behind[0] in numbers:
            yield Use("loop", f"loop device {loop} stands on {numbers[behind[0]]}")


def _holder(machine: Machine, holder: str) -> tuple[UseKind, str]:
    if holder.startswith("md"):
        return "md", f"the array {holder}"
    if holder.startswith("bcache"):
        return "bcache", holder
    if holder.startswith("dm-"):
        prefix = (machine.text(f"/sys/block/{holder}/dm/uuid") or "").partition("-")[0]
        name = (machine.text(f"/sys/block/{holder}/dm/name") or holder).strip()
        return _DM_KINDS.get(prefix, "multipath" if prefix.endswith("mpath") else "dm"), f"{name} ({holder})"
    return "held", holder
