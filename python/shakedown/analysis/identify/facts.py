"""What was read of a drive: no serial number, nothing that is not needed for the question."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

Zones = Literal["not-reported", "host-aware", "device-managed"]
KernelZones = Literal["none", "host-aware", "host-managed"]
Transport = Literal["ata", "scsi", "usb", "nvme", "virtual", "other"]

ZONES: Final[tuple[Zones | None, ...]] = ("not-reported", "host-aware", "device-managed", None)
"""The two bits of ATA IDENTIFY word 69 (ACS-4, 7.13.6.34) and of SCSI's VPD page B1h (SBC-4, 6.6.2); 3 is reserved."""


class Facts(BaseModel):
    """Facts of one drive. None is what nothing was learned about; ``unread`` says what could not be asked, and why.

    ``rotation_rpm`` is 0 for a drive without a spindle, ``rotational`` the kernel's own belief. ``trim`` is the drive's
    word, ``discards`` whether the kernel would send any. ``stalls`` counts what a kernel log shows of shingled stalls.
    ``random_read_iops`` and ``durable_write_iops`` are what the probe measured (``target/probe.py``).
    ``has_identify`` tells that the drive's own IDENTIFY data was seen, which a USB bridge may hide.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)

    name: str
    model: str | None = None
    firmware: str | None = None
    family: str | None = None
    capacity_bytes: int | None = None
    transport: Transport | None = None
    rotation_rpm: int | None = None
    rotational: bool | None = None
    kernel_zones: KernelZones | None = None
    ata_zones: Zones | None = None
    scsi_zones: Zones | None = None
    trim: bool | None = None
    discards: bool | None = None
    has_identify: bool = False
    stalls: int | None = None
    random_read_iops: float | None = None
    durable_write_iops: float | None = None
    unread: tuple[str, ...] = ()

    def completed_by(self, other: Facts) -> Facts:
        """These facts, and of another source what these lack. A longer model number is the same one less cut off."""
        mine = self.model_dump(exclude_none=True)
        theirs = other.model_dump(exclude_none=True, exclude={"name", "unread", "has_identify"})
        model = max(self.model or "", other.model or "", key=len) or None
        return Facts.model_validate(
            theirs
            | mine
            | {
                "model": model,
                "unread": self.unread + other.unread,
                "has_identify": self.has_identify or other.has_identify,
            }
        )

    @property
    def spins(self) -> bool | None:
        """Whether it is a rotating disk: its own word before the kernel's."""
        if self.rotation_rpm is not None:
            return self.rotation_rpm > 1
        return self.rotational
