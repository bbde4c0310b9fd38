"""What udev would tell a guest of its disks: links by name, and what ``lsblk`` and others look up."""

from __future__ import annotations

import io
import string
import tarfile
from collections.abc import Sequence
from typing import Final

from shakedown import _core

_DISKS_OF_A_MAJOR: Final = 16
_SD_MAJORS: Final = (8, 65, 66, 67, 68, 69, 70, 71)
MOST_DISKS: Final = _DISKS_OF_A_MAJOR * len(_SD_MAJORS)


def udev_archive(drives: Sequence[_core.LabIdentity]) -> bytes:
    """A tar archive, relative to the root, for SCSI disks in the order in which the kernel finds them."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for number, drive in enumerate(drives):
            name = disk_name(number)
            serial = f"{drive['model']}_{drive['serial']}".replace(" ", "_")
            wwn = "0x" + drive["wwn"].removeprefix("naa.").removeprefix("0x")
            links = [f"disk/by-id/ata-{serial}", f"disk/by-id/wwn-{wwn}"]
            for link in links:
                entry = tarfile.TarInfo(f"dev/{link}")
                entry.type, entry.linkname = tarfile.SYMTYPE, f"../../{name}"
                archive.addfile(entry)
            facts = {
                "ID_BUS": "ata",
                "ID_TYPE": "disk",
                "ID_MODEL": drive["model"].replace(" ", "_"),
                "ID_SERIAL": serial,
                "ID_SERIAL_SHORT": drive["serial"],
                "ID_WWN": wwn,
            }
            lines = [*(f"S:{link}" for link in links), *(f"E:{key}={value}" for key, value in facts.items())]
            text = "".join(f"{line}\n" for line in lines).encode()
            major, minor = _SD_MAJORS[number // _DISKS_OF_A_MAJOR], number % _DISKS_OF_A_MAJOR * 16
            entry = tarfile.TarInfo(f"run/udev/data/b{major}:{minor}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    return buffer.getvalue()


def disk_name(number: int) -> str:
    """``sda`` ... ``sdz``, ``sdaa`` ..."""
    letters = ""
    number += 1
    while number:
        number, letter = divmod(number - 1, 26)
        letters = string.ascii_lowercase[letter] + letters
    return f"sd{letters}"
