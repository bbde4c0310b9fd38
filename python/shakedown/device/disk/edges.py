"""Keeps what stands at the edges of a disk before its first write: partition table, signatures, SMART.

Once a run, into its folder: a resumed run finds there what stood before it all, and leaves that as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Final, NamedTuple

from shakedown.device.disk.facts import Situation
from shakedown.device.disk.machine import Machine, Unread, needed
from shakedown.device.disk.rules import own_names
from shakedown.errors import EnvironmentFailure, RefusedError
from shakedown.result.atomic import failed_write, replace_file, sync
from shakedown.result.version import refuse_newer
from shakedown.units import SECTOR_BYTES

FOLDER: Final = "before"
RECORD: Final = "before.json"
_FORMAT_VERSION: Final = 1
_DISK_EDGE_BYTES: Final = 4 << 20
_PARTITION_EDGE_BYTES: Final = 1 << 20
# smartctl's exit status is a set of bits; whatever it says of health, its answer is kept.
_ANY_HEALTH: Final = tuple(each for each in range(256) if not each & 0b11)


class Region(NamedTuple):
    """Bytes that are kept."""

    offset: int
    length: int


def save_edges(descriptor: int, situation: Situation, run: Path, machine: Machine | None = None) -> None:
    """Read the edges of the opened disk into ``run/before``, unless they are there. Raises EnvironmentFailure.

    Raises RefusedError if those of another device are there, UsageError if a newer Shakedown has kept them.
    """
    folder = run / FOLDER
    if (folder / RECORD).exists():
        _refuse_others(folder / RECORD, situation)
        return
    machine = machine or Machine()
    try:
        folder.mkdir(exist_ok=True)
        with needed(f"/dev/{situation.kernel_name}"):
            regions = edge_regions(machine, situation)
        kept = [_keep(descriptor, region, folder) for region in regions]
        record = {
            "format_version": _FORMAT_VERSION,
            "device": _identity(situation),
            "by_id": list(situation.by_id),
            "signatures": [vars(each) for each in situation.signatures],
            "regions": kept,
            "smart": _keep_smart(machine, situation, folder),
            "put_back": [_command(situation, region) for region in regions],
        }
        sync(folder)
        replace_file(folder / RECORD, (json.dumps(record, indent=1, ensure_ascii=True) + "\n").encode())
    except OSError as error:
        raise failed_write(folder, error) from error


def edge_regions(machine: Machine, situation: Situation) -> list[Region]:
    """Both ends of the disk and of each of its partitions, in order and without overlap."""
    disk = situation.name.size_bytes
    places = [(0, disk, _DISK_EDGE_BYTES)]
    folder = f"/sys/dev/block/{situation.number}"
    for name in situation.partitions:
        start, length = (int(machine.text(f"{folder}/{name}/{each}") or 0) for each in ("start", "size"))
        places.append((start * SECTOR_BYTES, length * SECTOR_BYTES, _PARTITION_EDGE_BYTES))
    ends = []
    for start, length, edge in places:
        ends.append((start, min(start + edge, start + length, disk)))
        ends.append((max(start, start + length - edge), min(start + length, disk)))
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(each for each in ends if each[0] < each[1]):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return [Region(begin, end - begin) for begin, end in merged]


def _keep(descriptor: int, region: Region, folder: Path) -> dict[str, Any]:
    """Read a region into a file of its own. What cannot be read there is told, and does not stop the run."""
    name = f"{region.offset}.bin"
    content = bytearray()
    problem = None
    try:
        while len(content) < region.length:
            chunk = os.pread(descriptor, region.length - len(content), region.offset + len(content))
            if not chunk:
                break
            content += chunk
    except OSError as error:
        problem = f"read up to byte {region.offset + len(content)}: {error.strerror}"
    replace_file(folder / name, bytes(content))
    kept = {"file": name, "offset": region.offset, "length": len(content)}
    return kept | {"sha256": hashlib.sha256(content).hexdigest(), "error": problem}


def _keep_smart(machine: Machine, situation: Situation, folder: Path) -> dict[str, str | None]:
    """SMART's whole answer, or why there is none: a drive without is a drive all the same."""
    try:
        answer = machine.ask("smartctl", "--json=c", "--xall", f"/dev/{situation.kernel_name}", good=_ANY_HEALTH)
    except Unread as failure:
        return {"file": None, "error": str(failure)}
    replace_file(folder / "smart.json", answer.encode())
    return {"file": "smart.json", "error": None}


def _identity(situation: Situation) -> dict[str, Any]:
    return vars(situation.name) | {"backing_file": situation.backing_file}


def _command(situation: Situation, region: Region) -> str:
    device = situation.by_id[0] if situation.by_id else f"/dev/{situation.kernel_name}"
    return f"dd if={region.offset}.bin of={device} bs=1M oflag=seek_bytes seek={region.offset} conv=notrunc,fsync"


def _refuse_others(record: Path, situation: Situation) -> None:
    try:
        told = json.loads(record.read_bytes())
        device = told["device"]
        refuse_newer(told["format_version"], _FORMAT_VERSION, record)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EnvironmentFailure(
            f"`{record}`, which keeps what stood on the disk, is damaged", hint="start a new run in another folder"
        ) from error
    if device != _identity(situation):
        who = ", ".join(name.text for name in own_names(situation))
        raise RefusedError(f"`{record}` keeps the edges of another device than {who}", hint="start a new run")
