"""What to do about an episode: each advice with its reason, its command and its undo."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from shakedown.analysis.triage.episode import Episode
from shakedown.analysis.triage.judge import Judgement
from shakedown.analysis.triage.sign import What

NOTHING: Final = "nothing to undo: it only reads"
_FORCED_GBPS: Final = 3.0
_OLD: Final = "OLD is what the command printed first"


@dataclass(frozen=True)
class Advice:
    """``command`` is for a root shell; ``undo`` brings back what was before. Capitals are to be filled in."""

    text: str
    command: str
    undo: str


def advise(episode: Episode, judgement: Judgement) -> tuple[Advice, ...]:
    """All advice on an episode, the most important first."""
    disk = episode.drive.letter or ("nvmeX" if episode.drive.is_nvme else "sdX")
    port = (re.sub(r"\D.*", "", episode.drive.port[3:]) if episode.drive.port else "") or "PORT"
    kind, consequences, is_nvme = judgement.kind, set(judgement.consequences), episode.drive.is_nvme
    if kind == "adapter-log":
        return (_look_behind(),)
    if episode.drive.is_adapter:
        return (_seat(episode.drive.title), _without_aspm())
    advice: list[Advice] = []
    if episode.is_gone and kind not in ("drive-gone", "unplugged"):
        advice.append(_rescan(disk))  # before anything that asks the drive
    if kind in ("unreadable-sectors", "failing"):
        advice += _save(disk)
    if kind in ("shingled-stall", "shingled-refusal") or (judgement.is_sign_of_c and kind == "gone-and-back"):
        advice.append(_wait(disk))
    if is_nvme and kind in ("gone-and-back", "drive-gone", "command-timeout", "link"):
        advice.append(_awake())
    if not is_nvme and kind in ("shingled-stall", "shingled-refusal", "command-timeout"):
        advice += _gentle(disk)
    is_usb = bool(episode.drive.usb) or episode.drive.is_usb_device
    is_ata = not (is_nvme or is_usb or episode.drive.is_behind_other_adapter)
    if is_ata and kind in ("shingled-stall", "command-timeout", "link"):
        advice.append(_slow_link(port, episode.slowest_gbps))
    if kind in ("link", "gone-and-back", "drive-gone", "command-timeout"):
        advice.append(_cable(disk))
    if kind == "drive-gone":
        advice.append(_rescan(disk))
    if is_usb and kind not in ("unplugged", "unreadable-sectors"):
        advice.append(_without_uas())
    if not is_nvme and (kind == "unreadable-sectors" or "md-kicked" in consequences):
        advice.append(_give_up_sooner(disk))
    advice += _arrays(consequences, disk)
    return tuple(advice)


def _set(path: str, value: str) -> tuple[str, str]:
    return f"cat {path}; echo {value} > {path}", f"echo OLD > {path}  # {_OLD}"


def _wait(disk: str) -> Advice:
    return Advice(
        "Leave it powered and idle: up to an hour while it cannot be seen, up to half a day for a full cache (field"
        " notes B: 9 hours). It is done when its reads are quick again.",
        f"iostat -x {disk} 60",
        NOTHING,
    )


def _gentle(disk: str) -> Iterator[Advice]:
    """Field notes C's mitigations."""
    yield Advice(
        "Wait longer than the 30 s after which Linux aborts a command and resets the link; md waits as long, since it"
        " has no limit of its own.",
        *_set(f"/sys/block/{disk}/device/timeout", "180"),
    )
    yield Advice(
        "Make single requests shorter; 512 KiB are as fast.", *_set(f"/sys/block/{disk}/queue/max_sectors_kb", "512")
    )
    yield Advice(
        "Queue one request at a time (NCQ off), so that one slow write does not time out 31 others.",
        *_set(f"/sys/block/{disk}/device/queue_depth", "1"),
    )


def _awake() -> Advice:
    """What drivers/nvme/host/pci.c itself tells to try where a controller does not answer any more."""
    options = "nvme_core.default_ps_max_latency_us=0 pcie_aspm=off"
    return Advice(
        "Keep drive and link out of power saving, from which some do not come back.",
        f"add {options} to the kernel's command line and reboot",
        "remove them from the kernel's command line and reboot",
    )


def _seat(adapter: str) -> Advice:
    address = adapter.rpartition(" ")[2]
    return Advice(
        "Reseat the adapter, try another slot, or do without the riser; the errors of its link then do not come again.",
        f"lspci -vv -s {address}  # DevSta, UESta, CESta: what its link has met",
        NOTHING,
    )


def _look_behind() -> Advice:
    return Advice(
        "See which of the drives behind the adapter has errors: attribute 199 counts those of cable and backplane, a"
        " drive's own log its others.",
        "for disk in /dev/sd?; do echo $disk; smartctl -x $disk | grep -iE 'crc|^Error|pending'; done",
        NOTHING,
    )


def _without_aspm() -> Advice:
    return Advice(
        "Keep the links of PCI Express out of power saving (ASPM), from which some do not come back cleanly.",
        "add pcie_aspm=off to the kernel's command line and reboot",
        "remove it from the kernel's command line and reboot",
    )


def _slow_link(port: str, slowest_gbps: float | None) -> Advice:
    """Slower on purpose, unless the kernel has made it as slow or slower."""
    if slowest_gbps is not None and slowest_gbps <= _FORCED_GBPS:
        return Advice(
            f"The kernel has made the link slower by itself, {slowest_gbps:g} Gb/s: {slowest_gbps * 100:.0f} MB/s at"
            " most. Once the cause is mended the next boot brings it back to its full speed.",
            f"cat /sys/class/ata_link/link{port}/sata_spd",
            NOTHING,
        )
    return Advice(
        "Force the link to 3 Gb/s: more margin for cable and controller, and 300 MB/s, more than a hard disk moves.",
        f"add libata.force={port}:3.0Gbps to the kernel's command line and reboot",
        "remove it from the kernel's command line and reboot",
    )


def _cable(disk: str) -> Advice:
    if disk.startswith("nvme"):
        return Advice(
            "Reseat the drive and try another slot; the count of errors in its log then stays where it is.",
            f"nvme smart-log /dev/{disk}; nvme error-log /dev/{disk}",
            NOTHING,
        )
    return Advice(
        "Reseat or replace cable and plug, try another port and another power cable; attribute 199 (CRC errors) then"
        " stays where it is.",
        f"smartctl -A /dev/{disk}",
        NOTHING,
    )


def _save(disk: str) -> Iterator[Advice]:
    yield Advice(
        "Copy what matters now, the readable parts first; then replace the drive.",
        f"ddrescue -n /dev/{disk} IMAGE MAP",
        NOTHING,
    )
    yield Advice(
        "See whether more sectors are bad, once the data is safe.",
        f"smartctl -t long /dev/{disk}; smartctl -x /dev/{disk}",
        f"smartctl -X /dev/{disk}  # aborts the test",
    )


def _rescan(disk: str) -> Advice:
    if disk.startswith("nvme"):
        return Advice("Look for it again without a reboot.", "echo 1 > /sys/bus/pci/rescan", NOTHING)
    return Advice(
        "Look for it again without a reboot.",
        'for host in /sys/class/scsi_host/host*; do echo "- - -" > $host/scan; done',
        f"echo 1 > /sys/block/{disk}/device/delete  # lets go of a disk that appeared",
    )


def _without_uas() -> Advice:
    return Advice(
        "Use the older USB storage protocol, if the bridge fails under UAS (VENDOR:PRODUCT from lsusb).",
        "add usb-storage.quirks=VENDOR:PRODUCT:u to the kernel's command line and reboot",
        "remove it from the kernel's command line and reboot",
    )


def _give_up_sooner(disk: str) -> Advice:
    return Advice(
        "In an array, let the drive give up on a sector after 7 s, before Linux gives up on the drive; if it refuses,"
        f" raise /sys/block/{disk}/device/timeout to 180 instead. Lost when the drive is switched off.",
        f"smartctl -l scterc /dev/{disk}; smartctl -l scterc,70,70 /dev/{disk}",
        f"smartctl -l scterc,OLD,OLD /dev/{disk}  # {_OLD}; 0 is disabled",
    )


def _arrays(consequences: set[What], disk: str) -> Iterator[Advice]:
    if "md-kicked" in consequences:
        yield Advice(
            "Once the cause is mended, take it back into the array; with a write-intent bitmap only what changed is"
            " written.",
            f"mdadm /dev/mdN --re-add /dev/{disk}PART",
            f"mdadm /dev/mdN --fail /dev/{disk}PART --remove /dev/{disk}PART",
        )
    if consequences & {"zfs-deadman", "zfs-slow"}:
        path = "/sys/module/zfs/parameters/zfs_deadman_ziotime_ms"
        yield Advice("Let ZFS wait half an hour for a single request, not five minutes.", *_set(path, "1800000"))
    if consequences & {"zfs-faulted", "zfs-suspended", "zfs-io"}:
        yield Advice(
            "Once the cause is mended, clear the errors; ZFS then resilvers what is missing.",
            "zpool status -v POOL; zpool clear POOL",
            "zpool offline POOL DEVICE  # takes a device out again",
        )
