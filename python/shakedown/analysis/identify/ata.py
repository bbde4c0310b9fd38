"""Facts in the bytes of ATA's IDENTIFY DEVICE data and of SCSI's vital product data pages.

Linux keeps the pages in sysfs (``device/vpd_pg89``, ``vpd_pgb1``), so that nothing needs to be opened or asked.
"""

from __future__ import annotations

import struct
from typing import Final

from shakedown.analysis.identify.facts import ZONES, Facts

IDENTIFY_BYTES: Final = 512
_PAGE_89_IDENTIFY_AT: Final = 60
_SLOWEST_RPM: Final = 0x0401
_FASTEST_RPM: Final = 0xFFFE


def identify_facts(name: str, data: bytes) -> Facts | None:
    """Facts of IDENTIFY DEVICE data (ACS-4, 7.13), None if it is not that of an ATA disk."""
    if len(data) < IDENTIFY_BYTES:
        return None
    words = struct.unpack(f"<{IDENTIFY_BYTES // 2}H", data[:IDENTIFY_BYTES])
    if words[0] & 0x8000 or not any(words):
        return None
    return Facts(
        name=name,
        model=_text(words, 27, 47),
        firmware=_text(words, 23, 27),
        rotation_rpm=_rpm(words[217]),
        ata_zones=ZONES[words[69] & 3],
        trim=bool(words[169] & 1),
        has_identify=True,
    )


def page_89_facts(name: str, page: bytes) -> Facts | None:
    """Facts of the ATA information page, which a SATA disk's IDENTIFY data is wrapped in (SAT-4, 12.4.2)."""
    return identify_facts(name, page[_PAGE_89_IDENTIFY_AT:]) if page[1:2] == b"\x89" else None


def page_b1_facts(name: str, page: bytes) -> Facts | None:
    """Facts of the block device characteristics page (SBC-4, 6.6.2)."""
    if len(page) < 9 or page[1] != 0xB1:
        return None
    return Facts(name=name, rotation_rpm=_rpm(int.from_bytes(page[4:6], "big")), scsi_zones=ZONES[page[8] >> 4 & 3])


def _rpm(value: int) -> int | None:
    """Both standards count alike: 1 is no spindle, 401h and up are turns a minute, all else says nothing."""
    if value == 1:
        return 0
    return value if _SLOWEST_RPM <= value <= _FASTEST_RPM else None


def _text(words: tuple[int, ...], begin: int, end: int) -> str | None:
    raw = struct.pack(f">{end - begin}H", *words[begin:end])
    return raw.decode("ascii", errors="replace").strip("\0 ") or None
