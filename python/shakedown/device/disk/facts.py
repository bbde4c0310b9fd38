"""What the guard knows of a block device when it decides: plain values, whatever they were read from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["disk", "loop", "partition", "optical", "stacked", "network", "memory", "boot area", "other"]
UseKind = Literal[
    "mounted",
    "swap",
    "root",
    "run",
    "md",
    "lvm",
    "crypt",
    "multipath",
    "dm",
    "bcache",
    "held",
    "loop",
    "open",
    "exclusive",
]


@dataclass(frozen=True)
class Name:
    """Who a device says it is. ``wwn`` is lower-case hex without a prefix; None is what it does not say."""

    model: str | None = None
    serial: str | None = None
    wwn: str | None = None
    size_bytes: int = 0


@dataclass(frozen=True)
class Use:
    """Somebody who uses the device, or a part of it."""

    kind: UseKind
    words: str


@dataclass(frozen=True)
class Signature:
    """A magic number that libblkid knows, on the device or on one of its partitions."""

    place: str
    type: str
    label: str = ""


@dataclass(frozen=True)
class Twin:
    """Another block device that shares a serial number or WWN with this one, or the file behind it."""

    kernel_name: str
    name: Name


@dataclass(frozen=True)
class Situation:
    """A device as it stands. ``number`` is the kernel's ``major:minor``; ``unread`` is what could not be learned.

    ``backing_file`` is the regular file behind a loop device, which has no other identity.
    """

    text: str
    kernel_name: str
    number: str
    kind: Kind
    name: Name
    read_only: bool = False
    zones: str = "none"
    by_id: tuple[str, ...] = ()
    backing_file: str | None = None
    partitions: tuple[str, ...] = ()
    twins: tuple[Twin, ...] = ()
    uses: tuple[Use, ...] = ()
    signatures: tuple[Signature, ...] = ()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class Consent:
    """What the user gave up: devices by serial number, WWN or backing file, and types of signatures."""

    devices: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()


NO_CONSENT: Final = Consent()
