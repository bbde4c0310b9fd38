"""What single lines of the kernel, md, ZFS and smartd say about a drive: the only place that knows their words.

Sources of the wording: Linux drivers/ata/libata-eh.c and libata-core.c, drivers/scsi/scsi_logging.c, sd.c and
virtio_scsi.c, drivers/scsi/mpt3sas/mpt3sas_base.c (`_base_sas_log_info`),
drivers/usb/storage/uas.c, drivers/pci/pcie/aer.c and err.c, block/blk-core.c, drivers/md/md.c, raid5.c,
raid1.c and raid10.c, drivers/nvme/host/pci.c;
OpenZFS module/os/linux/zfs/vdev_disk.c and cmd/zed/zed.d/all-syslog.sh; smartmontools smartd.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

What = Literal[
    # who is who
    "is-model", "same-as", "attached", "ata-host", "ata-port", "boot",
    # how a drive behaves
    "exception", "frozen", "timeout", "timeout-abort", "timeout-result", "timeout-request", "command", "bus-error",
    "link-dropped", "speed-limited", "speed", "reset", "usb-reset", "pcie-corrected", "pcie-error", "pcie-fatal",
    "no-answer", "adapter-log",
    "media-error", "hardware-error", "address-not-found", "device-error", "gave-up", "link-down", "unplugged",
    "recovered", "queueing-off", "smart-pending", "smart-failing",
    # what it did to those above it
    "io-error", "write-lost", "flush-failed", "fs-error", "read-only", "hung-task", "md-kicked", "md-corrected",
    "md-redirected", "md-uncorrectable", "zfs-faulted", "zfs-suspended", "zfs-deadman", "zfs-slow", "zfs-io",
]  # fmt: skip


class Sign(NamedTuple):
    """One thing one line says. ``who`` is as the line calls it (``ata3``, ``2:0:0:0``, ``sdc``), empty if it does not.

    ``note`` is a model, another name, a command, originator and code of an adapter's log (``112``),
    a sector, a speed, how a device was given up, or who says so, by ``what``.
    """

    what: What
    who: str = ""
    note: str = ""


INTERESTING: Final = re.compile(
    rb"ata\d|\bsd \d|scsi|I/O error|error, dev |usb|uas|nvme|md/|md: |mdadm|zed|zio |Pool '|smartd|blocked for"
    rb'|PCIe Bus Error|AER: |mpt\dsas|EXT4|XFS|BTRFS|lost |Linux version|-- |^\[[A-Z +]|"MESSAGE" ?: ?\[|Direct-Access'
)
"""Only lines with one of these, as bytes, need to be read: most of a long log has none."""

_SPEAKERS: Final = frozenset({"", "kernel", "zed", "smartd", "mdadm"})
"""Programs whose words count; others, which may quote a log, do not. Empty is the kernel's own log."""

_BUS_WORDS: Final = frozenset("BadCRC Handshk 10B8B Dispar UnrecovData RecovData LinkSeq TrStaTrns Proto".split())  # noqa: SIM905
_DROP_WORDS: Final = frozenset("PHYRdyChg PHYInt CommWake DevExch".split())  # noqa: SIM905

_DISK: Final = r"(sd[a-z]{1,4}|nvme\d+(?:c\d+)?n\d+|vd[a-z]{1,3}|mmcblk\d+|hd[a-z])"
_PART: Final = _DISK + r"(?:p?\d+)?"
_MEMBER: Final = re.compile(r"^(?:/dev/)?" + _PART + "$")
_ATA: Final = re.compile(r"^(ata\d{1,4})(\.\d\d)?: (.*)$", re.DOTALL)
_SCSI: Final = re.compile(r"^(?:sd|scsi) (\d{1,5}:\d{1,5}:\d{1,5}:\d{1,20}): (?:\[" + _DISK + r"\] ?)?(.*)$", re.DOTALL)


def signs_of(tag: str, text: str) -> Iterator[Sign]:
    """All that a message says; nothing for one that is about something else."""
    program = tag.rpartition("/")[2]
    if program not in _SPEAKERS:
        return
    if program in ("zed", "smartd", "mdadm"):
        yield from _daemon(program, text)
        return
    ata = _ATA.match(text)
    scsi = _SCSI.match(text)
    if ata:
        # Only behind a port multiplier are there several devices on a port: 00 is the port's own.
        yield from _ata(ata[1] if ata[2] in (None, ".00") else ata[1] + ata[2], ata[3])
    elif scsi:
        if scsi[2]:
            yield Sign("same-as", scsi[1], scsi[2])
        yield from _scsi(scsi[1], scsi[3])
    else:
        yield from _others(text)


def disk_of(name: str) -> str:
    """The whole disk of ``/dev/sdc1``, ``nvme0n1p2`` or ``ata-MODEL_SERIAL-part1``."""
    member = _MEMBER.match(name)
    return member[1] if member else re.sub(r"-part\d+$", "", name.rpartition("/")[2])


def _compiled(*table: tuple[What, str]) -> tuple[tuple[What, re.Pattern[str]], ...]:
    return tuple((what, re.compile(pattern)) for what, pattern in table)


# The port was stopped and neither device nor link had said anything wrong: a command was waited for too long.
_FROZEN: Final = re.compile(r"exception Emask 0x0 .*\bSErr 0x0\b.*\bfrozen$")
_ATA_SIGNS: Final = _compiled(
    ("exception", r"exception Emask "),
    ("command", r"failed command: (.{1,40})"),
    ("bus-error", r"irq_stat .*interface fatal error"),
    ("bus-error", r"error: \{ [^}]*\bICRC\b"),
    ("media-error", r"error: \{ [^}]*\bUNC\b"),
    ("address-not-found", r"error: \{ [^}]*\bIDNF\b"),
    ("device-error", r"error: \{ [^}]*\bABRT\b"),
    ("reset", r"(?:hard|soft) resetting (?:link|port)|resetting link"),
    ("speed-limited", r"limiting SATA link speed to ([\d.]+) Gbps"),
    ("speed", r"SATA link up ([\d.]+) Gbps"),
    ("link-down", r"SATA link down"),
    ("no-answer", r"(?:link|port) is slow to respond|COMRESET failed|softreset failed|reset failed \("),
    ("no-answer", r"qc timeout |failed to IDENTIFY|revalidation failed"),
    ("gave-up", r"(disabled$|disable device)"),
    ("gave-up", r"reset failed, giving up"),
    ("queueing-off", r"NCQ disabled due to excessive errors"),
    ("recovered", r"EH complete"),
    ("is-model", r"ATA-\d{1,2}: ([^,]{1,60}),"),
    ("ata-port", r"(?:[SP]ATA max |DUMMY$)"),
    ("same-as", r"detaching \(SCSI (\d+:\d+:\d+:\d+)\)"),
)


def _ata(who: str, text: str) -> Iterator[Sign]:
    """What libata says of a port or device."""
    link_error = re.match(r"SError: \{ ([^}]*)\}", text)
    if link_error:
        words = set(link_error[1].split())
        if words & _BUS_WORDS:
            yield Sign("bus-error", who, " ".join(sorted(words & _BUS_WORDS)))
        elif words & _DROP_WORDS:
            yield Sign("link-dropped", who)
        return
    for what, pattern in _ATA_SIGNS:
        found = pattern.match(text)
        if found:
            yield Sign(what, who, found[1].strip() if found.re.groups else "")
            if _FROZEN.match(text):
                yield Sign("frozen", who)
            return
    yield from _ata_result(who, text)


def _ata_result(who: str, text: str) -> Iterator[Sign]:
    """The taskfile of a failed command: before 2.6.30 and in other log layouts it has the port in front."""
    found = re.search(r"Emask 0x[0-9a-f]+ \((timeout|ATA bus error|media error)\)", text)
    if found:
        meanings: dict[str, What] = {"timeout": "timeout", "ATA bus error": "bus-error", "media error": "media-error"}
        yield Sign(meanings[found[1]], who)


_SCSI_SIGNS: Final = _compiled(
    ("is-model", r"Direct-Access(?:-ZBC)? +(.{1,60}?) +\S+ +PQ: "),
    ("attached", r"Attached SCSI (?:removable )?disk"),
    ("timeout-result", r"hostbyte=(?:DID_TIME_OUT|DID_ABORT|0x03|0x05)\b"),
    # Until Linux 5.13 a command that timed out with no other result.
    ("timeout-result", r"hostbyte=(?:DID_OK|0x00) driverbyte=(?:DRIVER_TIMEOUT|0x06)\b"),
    ("gave-up", r"hostbyte=(?:DID_NO_CONNECT|DID_BAD_TARGET|0x01|0x04)\b"),
    ("timeout-abort", r"attempting task abort|timing out command|uas_eh_abort_handler|^tag#\d+ abort$"),
    ("reset", r"Power-on or device reset occurred|attempting (?:device|target|host) reset|^tag#\d+ device reset$"),
    ("gave-up", r"Device offlined - not ready after error recovery|rejecting I/O to (?:offline|dead) device"),
    ("media-error", r"Sense Key : (?:Medium Error|0x3)\b"),
    ("hardware-error", r"Sense Key : (?:Hardware Error|0x4)\b"),
    ("address-not-found", r"Add\. Sense: Logical block address out of range"),
    ("bus-error", r"Add\. Sense: (?:Scsi parity error|Information unit iuCRC error|.*\bCRC error)"),
    ("command", r"CDB: (?:opcode=\S+ )?((?:Write|Read|Synchronize)[^ (]*)"),
)


# `sd_sync_cache`: at a shutdown, before sleep, and when the disk is taken away.
_FLUSH_FAILED: Final = re.compile(r"Synchronize Cache\(1[06]\) failed: ")


def _scsi(who: str, text: str) -> Iterator[Sign]:
    """What the SCSI disk driver and the host adapters say of an address."""
    if _FLUSH_FAILED.match(text):
        yield Sign("flush-failed", who)
    for what, pattern in _SCSI_SIGNS:
        found = pattern.search(text)
        if found:
            yield Sign(what, who, " ".join(found[1].split()) if found.re.groups else "")
            return


# What PCI Express says of a drive or of an adapter, not of a port or another card: their drivers, and the address.
# Between "AER: " or nothing, `Corrected` or `Correctable`, it is a matter of the kernel's age.
_PCIE: Final = (
    r"((?:nvme|ahci|sata_\w+|ata_piix|mpt3sas|mpt2sas|mptsas|mpi3mr|megaraid_sas|aacraid|arcmsr|hpsa|smartpqi|mvsas|isci"
    r"|pm80xx|3w-\w+) [0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.\d): (?:AER: +)?"
)
_PCIE_ERROR: Final = _PCIE + r"PCIe Bus Error: severity="

# What fails of the block layer, behind what it was: of a drive that is gone I/O errors until Linux 5.17.
_ERROR_AT: Final = r" error, dev " + _DISK + r", sector (\d+)"
_OTHER_SIGNS: Final = _compiled(
    ("timeout", r"res [0-9a-f/:]+ Emask 0x[0-9a-f]+ \(timeout\)"),
    ("bus-error", r"res [0-9a-f/:]+ Emask 0x[0-9a-f]+ \(ATA bus error\)"),
    ("media-error", r"res [0-9a-f/:]+ Emask 0x[0-9a-f]+ \(media error\)"),
    ("media-error", r"critical medium" + _ERROR_AT),
    ("timeout-request", r"timeout" + _ERROR_AT),
    ("io-error", r"(?:I/O|critical (?:target|nexus|space allocation))" + _ERROR_AT),
    ("io-error", r"(?:device offline|recoverable transport|reservation conflict|protection)" + _ERROR_AT),
    ("media-error", _DISK + r": .* @ LBA (\d+), .*\(sct 0x2 / sc 0x8[01]\)"),
    ("write-lost", r"Buffer I/O error on dev(?:ice)? " + _PART + r",? .*lost (?:async |sync )?page write"),
    ("write-lost", r"lost page write due to I/O error on " + _DISK),
    ("io-error", r"Buffer I/O error on dev(?:ice)? " + _PART + r"(?=,|$)"),
    ("read-only", r"EXT4-fs \(" + _PART + r"\): [Rr]emounting filesystem read-only"),
    ("fs-error", r"BTRFS \w+ \(device \S+\): bdev /dev/" + _PART + r" errs: (?=.*\b[1-9])"),
    ("fs-error", r"EXT4-fs error \(device " + _DISK),
    ("fs-error", r"XFS \(" + _PART + r"\): (?:metadata I/O error|log I/O error|.*[Ss]hutting down)"),
    ("fs-error", r"BTRFS(?:: error| error| critical) \(device " + _DISK + r".*(?:IO failure|readonly|corrupt leaf)"),
    ("md-kicked", r"md/raid[^:]*:\S+: Disk failure on (\S+?),? disabling device"),
    ("md-kicked", r"md: kicking non-fresh (\S+) from array"),
    ("md-corrected", r"md/raid[^:]*:\S+: read error corrected \(.* on ([^)\s]+)\)"),
    # This one names the mirror that could not be read.
    ("md-redirected", r"md/raid10?:\S+: (\S+): rescheduling sector \d+"),
    # The mirror that these name is the one that is read instead; which could not be read they do not say.
    ("md-redirected", r"md/raid10?:(\S+): (?:\S+: )?redirecting sector \d+ to (?:other|another) mirror"),
    # Of which member, or even which array, it does not say. The number is an errno or a status of the block layer.
    ("io-error", r"(md): super_written gets error=-?[1-9]"),
    ("md-uncorrectable", r"md/raid[^:]*:\S+: read error not correctable \(.* on ([^)\s]+)\)"),
    ("md-uncorrectable", r"md/raid[^:]*:\S+: Too many read errors, failing device (\S+?)\.?$"),
    ("zfs-io", r"zio pool=\S+ vdev=(\S+) error=\d+"),
    ("zfs-suspended", r".*Pool '([^']{1,255})' has encountered an uncorrectable I/O failure"),
    ("hung-task", r"INFO: task (\S{1,40}?):\d+ blocked for more than"),
    ("adapter-log", r"(mpt[23]sas(?:_cm)?\d+): log_info\(0x3([0-9a-f]{3})[0-9a-f]{4}\): +originator\("),
    ("timeout-abort", r"nvme (nvme\d+): .*timeout, aborting"),
    ("timeout", r"nvme (nvme\d+): I/O (?:tag )?\d+.* timeout"),
    ("pcie-corrected", _PCIE_ERROR + r"Correct(?:ed|able),"),
    ("pcie-error", _PCIE_ERROR + r"Uncorrect(?:ed|able) \(Non-Fatal\)"),
    ("pcie-fatal", _PCIE_ERROR + r"Uncorrect(?:ed|able) \(Fatal\)"),
    ("pcie-fatal", _PCIE + r"can't recover \(no error_detected callback\)"),
    ("bus-error", r"nvme (nvme\d+): frozen state error detected"),
    ("gave-up", r"nvme (nvme\d+): failure state error detected"),
    ("reset", r"nvme (nvme\d+): (?:controller is down|.*reset controller|resetting controller)"),
    ("gave-up", r"nvme (nvme\d+): (?:Device not ready|Disabling device after reset|Removing after probe failure)"),
    ("unplugged", r"usb (\d+-[\d.]+): USB disconnect"),
    ("usb-reset", r"usb (\d+-[\d.]+): reset (?:\S+ )*USB device"),
    ("boot", r"Linux version \d"),
)  # fmt: skip

TIMEOUTS: Final[tuple[What, ...]] = ("timeout", "timeout-abort", "timeout-result", "timeout-request")
"""One command without an answer may be told by its driver, by who aborts it, by SCSI, and by the block layer."""

NAMELESS: Final = frozenset({"hung-task", "zfs-suspended"})
"""Signs of which no drive is known."""

# Until Linux 3.10 `scsi4 : ahci`. Drivers of libata only: other hosts are announced with more words, or have no ports.
_ATA_HOST: Final = re.compile(r"scsi(?: host)?(\d{1,5}) ?: ((?:acard-)?ahci[\w-]*|(?:ata|sata|pata)_\w+|pdc_adma)$")

# A path of native multipath: which controller leads to which disk.
_NVME_PATH: Final = re.compile(r"nvme(\d+)c(\d+)n(\d+)$")

_PREFIXES: Final = re.compile(r"^(?:\s+|(?:blk_update_request|print_req_error|end_request|Aborting journal): )+")


def _others(text: str) -> Iterator[Sign]:
    """What the block layer, file systems, md, ZFS, NVMe and USB say."""
    bridge = re.match(r"(?:scsi (host\d+): usb-storage|usb-storage) (\d+-[\d.]+):1\.\d", text)
    if bridge and bridge[1]:
        yield Sign("same-as", bridge[2], bridge[1])
        return
    host = _ATA_HOST.match(text)
    if host:
        yield Sign("ata-host", host[1], host[2])
        return
    controller = re.match(r"nvme (nvme\d+): pci function (\S+)$", text)
    if controller:
        yield Sign("same-as", f"nvme {controller[2]}", controller[1])
        return
    text = _PREFIXES.sub("", text)
    for what, pattern in _OTHER_SIGNS:
        found = pattern.match(text)
        if found:
            groups = found.groups()
            if what in NAMELESS:
                yield Sign(what, "", groups[0] if groups else "")
            else:
                who = disk_of(groups[0]) if groups else ""
                yield from _paths(who)
                yield Sign(what, who, groups[1] if len(groups) > 1 else "")
            return


def _paths(who: str) -> Iterator[Sign]:
    """``nvme0c1n1`` is what the controller ``nvme1`` has of the disk ``nvme0n1``: nothing else ties their numbers."""
    if path := _NVME_PATH.match(who):
        subsystem, controller, namespace = path.groups()
        yield Sign("same-as", f"nvme{controller}", who)
        yield Sign("same-as", f"nvme{controller}", f"nvme{subsystem}n{namespace}")


_ZED_CLASSES: Final[dict[str, What]] = {
    "deadman": "zfs-deadman",
    "delay": "zfs-slow",
    "io": "zfs-io",
    "io_failure": "zfs-suspended",
}
_SMARTD_SIGNS: Final = _compiled(
    ("smart-pending", r"Device: (\S+?),? .*\b[1-9]\d* Currently unreadable \(pending\) sectors"),
    ("smart-pending", r"Device: (\S+?),? .*\b[1-9]\d* Offline uncorrectable sectors"),
    ("smart-failing", r"Device: (\S+?),? .*FAILED SMART self-check"),
    ("smart-failing", r"Device: (\S+?),? .*Failed SMART usage Attribute"),
    ("bus-error", r"Device: (\S+?),? .*UDMA_CRC_Error_Count changed"),
)  # fmt: skip


def _daemon(program: str, text: str) -> Iterator[Sign]:
    """What ZFS's event daemon, smartd and mdadm's monitor say."""
    if program == "mdadm":
        failed = re.search(r"\bFail(?:Spare)? event detected on md device \S+, component device (?:\S+ )?(\S+)$", text)
        if failed:
            yield Sign("md-kicked", disk_of(failed[1]), "mdadm")
    elif program == "smartd":
        for what, pattern in _SMARTD_SIGNS:
            found = pattern.match(text)
            if found:
                yield Sign(what, disk_of(found[1]))
                return
    else:
        fields = dict(re.findall(r"\b(class|pool|vdev|vdev_state)='?([^\s']{1,255})", text))
        is_faulted = fields.get("vdev_state") in ("FAULTED", "REMOVED", "UNAVAIL")
        event: What | None = "zfs-faulted" if is_faulted else _ZED_CLASSES.get(fields.get("class", ""))
        if event:
            yield Sign(event, disk_of(fields.get("vdev", "")), fields.get("pool", ""))
