"""What the system knows of a drive without asking it anything: sysfs and udev's records, and no device opened."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from shakedown.analysis.identify.ata import page_89_facts, page_b1_facts
from shakedown.analysis.identify.facts import Facts, KernelZones, Transport
from shakedown.errors import UsageError
from shakedown.units import SECTOR_BYTES

_MOST_BYTES: Final = 64 << 10
_PATHS: Final[tuple[tuple[str, Transport], ...]] = (
    (r"/usb\d", "usb"),
    (r"/nvme\d", "nvme"),
    (r"/virtio\d|/virtual/", "virtual"),
    (r"/ata\d", "ata"),
    (r"/host\d", "scsi"),
)
_VIRTUAL_MAKERS: Final = re.compile(r"^(?:QEMU|VMware|Msft|VBOX|Virtual|LIO-ORG|IET)\b", re.IGNORECASE)
_ZONES: Final[dict[str, KernelZones]] = {each: each for each in ("none", "host-aware", "host-managed")}


def describe(device: str, sys: Path = Path("/sys"), udev: Path = Path("/run/udev/data")) -> Facts:
    """Facts of ``/dev/sdb``, ``sdb``, a link to it or a partition of it. Raises UsageError if there is no such disk."""
    folder = find_disk(device, sys)
    name = folder.name
    facts = _sysfs(name, folder)
    for page, parse in (("vpd_pg89", page_89_facts), ("vpd_pgb1", page_b1_facts)):
        found = parse(name, _bytes(folder / "device" / page))
        if found:
            facts = found.completed_by(facts)
    number = _text(folder / "dev") or ""
    return facts.completed_by(_udev(name, udev / f"b{number}")) if re.fullmatch(r"\d+:\d+", number) else facts


def find_disk(device: str, sys: Path) -> Path:
    """The folder in sysfs of the whole disk that ``device`` is, or is a part of. Raises UsageError."""
    path = Path(device)
    name = path.resolve().name if path.is_absolute() and "\0" not in device else path.name
    folder = sys / "class" / "block" / name
    if not re.fullmatch(r"\w[\w.!-]*", name) or not folder.is_dir():
        _refuse_what_is_no_disk(device, sys)
        disks = sorted(each.name for each in (sys / "block").glob("*") if not each.name.startswith(("loop", "ram")))
        raise UsageError(
            f"there is no block device `{device}`", hint=f"there are {', '.join(disks)}" if disks else "see `lsblk`"
        )
    real = folder.resolve()
    return real.parent if (real / "partition").exists() else real


def _refuse_what_is_no_disk(device: str, sys: Path) -> None:
    """Raise UsageError for what can be tested and yet tells nothing of a drive, with what does."""
    by_load = f"only its behaviour under load tells: `shakedown run cliff {device}`"
    if re.match(r"nbds?(\+[a-z]+)?:", device):
        raise UsageError(
            f"`{device}` is served over NBD, which tells the size and nothing of a drive: no model, no zones",
            hint=f"ask where the drive itself is plugged in; here {by_load}",
        )
    path = Path(device)
    if not device or "\0" in device or not (path.is_file() or path.is_dir()):
        return
    number = path.stat().st_dev
    below = sys / "dev" / "block" / f"{os.major(number)}:{os.minor(number)}"
    lies_on = "on no disk that this machine can name (a network's, a memory's or a pool's file system)"
    ask = by_load
    if below.exists():
        disk = f"/dev/{find_disk(below.resolve().name, sys).name}"
        lies_on, ask = f"on `{disk}`", f"`shakedown identify {disk}` asks that disk; else {by_load}"
    raise UsageError(
        f"`{device}` is a {'file' if path.is_file() else 'folder'} and no drive; it lies {lies_on}", hint=ask
    )


def _sysfs(name: str, folder: Path) -> Facts:
    queue, device = folder / "queue", folder / "device"
    sectors, discards, rotational = (
        _number(path) for path in (folder / "size", queue / "discard_max_bytes", queue / "rotational")
    )
    model = _text(device / "model")
    virtual = not device.exists() or _VIRTUAL_MAKERS.match(_text(device / "vendor") or model or "")
    return Facts(
        name=name,
        model=model,
        firmware=_text(device / "rev") or _text(device / "firmware_rev"),
        capacity_bytes=None if sectors is None else sectors * SECTOR_BYTES,
        transport="virtual" if virtual else _transport(str(folder)),
        rotational=None if rotational is None else rotational == 1,
        kernel_zones=_ZONES.get(_text(queue / "zoned") or ""),
        discards=None if discards is None else discards > 0,
    )


def _transport(path: str) -> Transport:
    return next((transport for pattern, transport in _PATHS if re.search(pattern, path)), "other")


def _udev(name: str, record: Path) -> Facts:
    """udev's record of a disk: ``E:NAME=VALUE`` lines. It has the whole model number where sysfs cuts it off."""
    lines = _bytes(record).decode("utf-8", errors="replace").splitlines()
    fields = dict(line[2:].split("=", 1) for line in lines if line.startswith("E:") and "=" in line)
    encoded = fields.get("ID_MODEL_ENC", "")
    model = re.sub(r"\\x([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), encoded).strip()
    rpm = fields.get("ID_ATA_ROTATION_RATE_RPM", "")
    return Facts(
        name=name,
        model=model[:200] or None,
        rotation_rpm=int(rpm) if rpm.isascii() and rpm.isdecimal() and len(rpm) < 7 else None,
    )


def _number(path: Path) -> int | None:
    text = _text(path) or ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def _text(path: Path) -> str | None:
    return _bytes(path).decode("utf-8", errors="replace").strip("\0 \t\r\n")[:200] or None


def _bytes(path: Path) -> bytes:
    """What a small file holds; what is not there, or may not be read, holds nothing."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return b""
