"""What libblkid finds on a device and its partitions. The programs open it for reading only."""

from __future__ import annotations

import json
from typing import Any, Final

from shakedown.device.disk.facts import Signature
from shakedown.device.disk.machine import Machine, Unread
from shakedown.device.disk.stack import partitions

_COLUMNS: Final = "OFFSET,TYPE,LABEL"
_TABLES: Final = frozenset(
    {"gpt", "dos", "sgi", "sun", "bsd", "mac", "minix", "solaris_x86", "unixware", "ultrix", "aix"}
)
_LABEL_LETTERS: Final = 60
# In btrfs's superblock, 64 KiB from the start, the number of devices that the file system has.
_BTRFS_DEVICES_AT: Final = (64 << 10) + 0x88


def signatures_of(machine: Machine, folder: str) -> tuple[Signature, ...]:
    """Signatures of a disk, then of its partitions. Raises Unread, also if partitions lie hidden."""
    found: list[Signature] = []
    for place in (folder, *partitions(machine, folder)):
        found.extend(_probe(machine, place.rpartition("/")[2]))
    name = folder.rpartition("/")[2]
    if any(each.place == name and each.type in _TABLES for each in found):
        _refuse_hidden_partitions(machine, folder)
    return tuple(found)


def _probe(machine: Machine, name: str) -> list[Signature]:
    text = machine.ask("wipefs", "--json", "--output", _COLUMNS, f"/dev/{name}")
    try:
        rows = json.loads(text)["signatures"]
        types = {_signature(machine, name, row): None for row in rows}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Unread(f"which signatures {name} has: wipefs printed nonsense") from error
    # The protective MBR is a part of GPT.
    tabled = any(each.type == "gpt" for each in types)
    return [each for each in types if not (tabled and each.type == "PMBR")]


def _signature(machine: Machine, name: str, row: dict[str, Any]) -> Signature:
    kind, label = row["type"], row.get("label") or ""
    if not (isinstance(kind, str) and kind and isinstance(label, str)):
        raise TypeError
    if kind == "btrfs" and _btrfs_devices(machine, name) != 1:
        kind = "btrfs_member"
    return Signature(name, kind, label[:_LABEL_LETTERS])


def _btrfs_devices(machine: Machine, name: str) -> int:
    return int.from_bytes(machine.bytes_at(f"/dev/{name}", _BTRFS_DEVICES_AT, 8), "little")


def _refuse_hidden_partitions(machine: Machine, folder: str) -> None:
    """What the kernel does not show of a partition table could not be looked into. Raises Unread."""
    name = folder.rpartition("/")[2]
    listed = machine.ask("partx", "--raw", "--noheadings", "--output", "START", f"/dev/{name}")
    shown = {(machine.text(f"{place}/start") or "").strip() for place in partitions(machine, folder)}
    if {line.strip() for line in listed.splitlines() if line.strip()} != shown:
        raise Unread(
            f"what is in the partitions of {name}: the kernel shows others than its table lists"
            f" (`partprobe /dev/{name}` lets it look again)"
        )
