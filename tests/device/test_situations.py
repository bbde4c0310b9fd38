"""Several hundred device situations, and exactly what must forbid writing: gathered from a machine, and decided.

Each change in ``situations/*.toml`` is made to each of the disks below, to which the user has agreed unless ``consent``
says otherwise:

    partitions      so many partitions                stack   devices that the kernel makes of others: name, number, of
    write, append   files of the machine              link    links, open descriptors among them
    signatures      what wipefs finds, by device      who     the serial number and the WWN that it tells
    twin            another disk, with these          run     where the run's folder lies
    consent, allow  the options                       only    the disks that this is about, where not all
    refused         [rule, words of the reason] each; none: it may be overwritten

{disk} {number} {serial} {wwn} {own} {p1} {p1number} {sys} are its names, numbers, first partition, folder in sysfs.
"""

from __future__ import annotations

import json
import tempfile
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from recorded import Builder, Disk, Recorded, filled, page_80

from shakedown.device.disk.facts import Consent
from shakedown.device.disk.rules import OVERRIDABLE, decide, options_to_type
from shakedown.device.disk.survey import survey

FILES = sorted((Path(__file__).parent / "situations").glob("*.toml"))
CHANGES: list[dict[str, Any]] = [change for file in FILES for change in tomllib.loads(file.read_text())["change"]]
PARTITIONS = 2
# A hundred small files each: they need no disk, and are not kept.
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
SERIAL, WWN = "WD-WX6RGLEB3O", "50014ee2b1a2c3d4"


def sata(name: str, number: str, serial: str, wwn: str) -> Disk:
    pages = {"device/model": "WDC WD40EFAX-68J", "device/type": "0"}
    pages |= {"device/vpd_pg80": page_80(serial)} if serial else {}
    pages |= {"device/wwid": f"naa.{wwn}"} if wwn else {}
    return Disk(name, number, pages, {"ID_MODEL_ENC": r"WDC\x20WD40EFAX-68JH4N0"}, (f"disk/by-id/ata-{name}",))


def sas(name: str, number: str, serial: str, wwn: str) -> Disk:
    """udev's short serial of a SAS disk is its WWN; the serial number is another field."""
    disk = sata(name, number, serial, wwn)
    return replace(disk, udev={"ID_SERIAL_SHORT": wwn, "ID_SCSI_SERIAL": serial}, place="pci0/host1/sas")


def nvme(name: str, number: str, serial: str, wwn: str) -> Disk:
    files = {"device/serial": f"{serial}      ", "wwid": f"eui.{wwn}" if wwn else f"nvme.8086-{serial}-1"}
    return Disk(name, number, files, {}, (f"disk/by-id/nvme-{name}",), "pci0/nvme/nvme1")


def usb(name: str, number: str, serial: str, wwn: str) -> Disk:
    """A bridge without VPD pages: only udev knows, from ATA pass-through."""
    told = {"ID_SERIAL_SHORT": serial, "ID_WWN": f"0x{wwn}"}
    udev = {key: value for key, value in told.items() if value not in ("", "0x")}
    return Disk(name, number, {"device/type": "0"}, udev, (f"disk/by-id/usb-{name}",), "pci0/usb2/host4")


def virtio(name: str, number: str, serial: str, wwn: str) -> Disk:
    return Disk(name, number, {"serial": serial} | ({"wwid": f"naa.{wwn}"} if wwn else {}), place="pci0/virtio3")


def mmc(name: str, number: str, serial: str, wwn: str) -> Disk:
    files = {"device/serial": serial} | ({"wwid": f"naa.{wwn}"} if wwn else {})
    return Disk(name, number, files, place="platform/mmc_host/mmc1")


def host_aware(name: str, number: str, serial: str, wwn: str) -> Disk:
    disk = sata(name, number, serial, wwn)
    return replace(disk, files=disk.files | {"queue/zoned": "host-aware"})


# What the disk is called, how it tells who it is, and by what the user gives it up.
DISKS = {
    "sata": ("sdb", "8:16", sata, SERIAL, WWN, SERIAL),
    "sas": ("sdab", "65:176", sas, "ZA1B2C3D0000C812", "5000c5009a8b7c6d", "ZA1B2C3D0000C812"),
    "nvme": ("nvme1n1", "259:32", nvme, "S3Z9NB0K123456X", "0025385b81b00001", "S3Z9NB0K123456X"),
    "usb": ("sdc", "8:32", usb, "DD56419883891", "50014ee2b1a2c3d5", "DD56419883891"),
    "virtio": ("vdb", "254:16", virtio, "shake-disk-7", "", "shake-disk-7"),
    "mmc": ("mmcblk1", "179:8", mmc, "0x1a2b3c4d", "", "0x1a2b3c4d"),
    "wwn-only": ("sdd", "8:48", sata, "", "5000c500dead0001", "0x5000c500dead0001"),
    "host-aware": ("sde", "8:64", host_aware, SERIAL, WWN, SERIAL),
}
CASES = [
    pytest.param(name, change, id=f"{change['name']} ({name})")
    for change in CHANGES
    for name in change.get("only", DISKS)
]


def test_there_are_several_hundred_and_each_is_named_once() -> None:
    names = [change["name"] for change in CHANGES]
    assert len(names) == len(set(names))
    assert len(CASES) > 800


@pytest.mark.parametrize(("which", "change"), CASES)
def test_is_refused_or_allowed_exactly(which: str, change: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        check(which, change, Path(folder))


def check(which: str, change: dict[str, Any], root: Path) -> None:
    name, number, make, serial, wwn, own = DISKS[which]
    who = change.get("who", {"serial": serial, "wwn": wwn})
    disk = make(name, number, who["serial"], who["wwn"])
    builder = Builder(root)
    builder.disk(disk)
    names = {"disk": name, "number": number, "serial": serial, "wwn": wwn, "own": own, "lower": own.lower()}
    names["sys"] = f"/sys/devices/{disk.place}/block/{name}"
    for index in range(1, PARTITIONS + 1):
        names[f"p{index}"] = disk.partition(index)
        names[f"p{index}number"] = f"{number.split(':')[0]}:{int(number.split(':')[1]) + index}"
    if own.lower() == own and "{lower}" in change.get("consent", []):
        names["lower"] = own.upper()
    told: Any = filled(change, names)
    make_change(builder, disk, told)
    consent = Consent(tuple(told.get("consent", [own])), tuple(told.get("allow", [])))

    situation = survey(f"/dev/{name}", Path(told.get("run", "/var/runs/x")), Recorded(root))
    refusals = decide(situation, consent)

    wanted = told.get("refused", [])
    assert [refusal.rule for refusal in refusals] == in_order([rule for rule, _ in wanted], refusals)
    for rule, words in wanted:
        assert any(refusal.rule == rule and words in refusal.words for refusal in refusals), (rule, words, refusals)
    assert all(refusal.hint for refusal in refusals)
    check_options(situation, consent, [rule for rule, _ in wanted])


def in_order(rules: list[str], refusals: Any) -> list[str]:
    """The rules as often as they are wanted, sorted as they came, so that the comparison is one of multisets."""
    came = [refusal.rule for refusal in refusals]
    return sorted(rules, key=lambda rule: came.index(rule) if rule in came else len(came))


def check_options(situation: Any, consent: Consent, rules: list[str]) -> None:
    """Options are offered where all that is missing can be given, and then they suffice."""
    options = options_to_type(situation, consent)
    assert bool(options) == (bool(rules) and set(rules) <= OVERRIDABLE)
    if options:
        words = [word for option in options for word in option.split("=", 1)] if "=" in options[0] else list(options)
        given = {"--destroy-data-on": list(consent.devices), "--allow-signature": list(consent.signatures)}
        for option, value in zip(words[::2], words[1::2], strict=True):
            given[option].append(value)
        assert decide(situation, Consent(*(tuple(each) for each in given.values()))) == ()


def make_change(builder: Builder, disk: Disk, told: dict[str, Any]) -> None:
    for index in range(1, told.get("partitions", 0) + 1):
        builder.partition(disk, index, 2048 * index)
    for stacked in told.get("stack", []):
        builder.stack(*stacked)
    if "twin" in told:
        files = {"device/vpd_pg80": page_80(told["twin"]["serial"])} if told["twin"]["serial"] else {}
        files |= {"device/wwid": f"naa.{told['twin']['wwn']}"} if told["twin"]["wwn"] else {}
        builder.disk(Disk("sdz", "65:144", files))
    for place, types in told.get("signatures", {}).items():
        rows = [{"offset": hex(index), "type": kind, "label": None} for index, kind in enumerate(types)]
        builder.write(f"/recorded/ask/wipefs-{place}", json.dumps({"signatures": rows}))
        starts = "".join(f"{2048 * index}\n" for index in range(1, told.get("partitions", 0) + 1))
        builder.write(f"/recorded/ask/partx-{disk.name}", starts)
    for path, text in told.get("write", {}).items():
        builder.write(path, text)
    for path, target in told.get("link", {}).items():
        builder.symlink(path, target)
    for path, text in told.get("append", {}).items():
        place = builder.root / path.lstrip("/")
        place.write_text(place.read_text() + text)
    for path in told.get("remove", []):
        (builder.root / path.lstrip("/")).unlink()
