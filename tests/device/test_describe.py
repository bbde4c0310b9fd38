"""Drives as sysfs and udev show them, in recorded trees."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from shakedown.device.describe import describe
from shakedown.errors import UsageError


def plant(root: Path, place: str, **files: str | bytes) -> None:
    """A disk in a tree as the kernel lays it out: the device's own folder, and links to it by name."""
    folder = root / "sys" / "devices" / place
    for name, content in ({"dev": "8:16\n", "size": "7814037168\n"} | files).items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for links in ("block", "class/block"):
        link = root / "sys" / links / folder.name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder)


ATA = "pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sdb"


def page_89() -> bytes:
    words = [0] * 256
    words[0], words[69], words[169], words[217] = 0x40, 2, 1, 5400
    for place in range(10):
        words[27 + place] = int.from_bytes(b"WDC WD40EFAX-68JH4N0"[2 * place : 2 * place + 2], "big")
    return bytes([0, 0x89, 2, 0x38]) + bytes(56) + struct.pack("<256H", *words)


def test_what_is_no_drive_is_told_as_what_it_is(tmp_path: Path) -> None:
    plant(tmp_path, ATA)
    sys, file = tmp_path / "sys", tmp_path / "test.img"
    file.write_bytes(b"")
    for device in ("nbd+unix:///tmp/drive.sock", "nbd://host/export"):
        with pytest.raises(
            UsageError, match="is served over NBD, which tells the size and nothing of a drive"
        ) as refused:
            describe(device, sys)
        assert f"shakedown run cliff {device}" in refused.value.hint
    with pytest.raises(UsageError, match=r"test.img` is a file and no drive; it lies on no disk that") as refused:
        describe(str(file), sys)
    assert "identify" not in refused.value.hint
    number = file.stat().st_dev
    link = sys / "dev" / "block" / f"{os.major(number)}:{os.minor(number)}"
    link.parent.mkdir(parents=True)
    link.symlink_to(sys / "devices" / ATA)
    for path, kind in ((file, "file"), (tmp_path, "folder")):
        with pytest.raises(UsageError, match=f"is a {kind} and no drive; it lies on `/dev/sdb`") as refused:
            describe(str(path), sys)
        assert "`shakedown identify /dev/sdb` asks that disk" in refused.value.hint


def test_an_ata_disk_without_a_word_from_smartctl(tmp_path: Path) -> None:
    plant(
        tmp_path,
        ATA,
        device__model="WDC WD40EFAX-68J\n",
        device__vendor="ATA     \n",
        device__rev="0A82\n",
        device__vpd_pg89=page_89(),
        queue__rotational="1\n",
        queue__zoned="none\n",
        queue__discard_max_bytes="2147450880\n",
    )
    facts = describe("/dev/sdb", tmp_path / "sys", tmp_path / "udev")
    assert (facts.model, facts.transport, facts.ata_zones) == ("WDC WD40EFAX-68JH4N0", "ata", "device-managed")
    assert (facts.rotation_rpm, facts.trim, facts.discards) == (5400, True, True)
    assert (facts.kernel_zones, facts.capacity_bytes) == ("none", 7814037168 * 512)
    assert facts.has_identify


def test_udev_has_the_model_that_sysfs_cuts_off(tmp_path: Path) -> None:
    plant(tmp_path, ATA, device__model="TOSHIBA MQ04ABF1\n", device__vendor="ATA\n")
    record = tmp_path / "udev" / "b8:16"
    record.parent.mkdir()
    record.write_text("E:ID_MODEL_ENC=TOSHIBA\\x20MQ04ABF100\\x20\\x20\nE:ID_ATA_ROTATION_RATE_RPM=5400\nE:broken\nX\n")
    facts = describe("sdb", tmp_path / "sys", tmp_path / "udev")
    assert (facts.model, facts.rotation_rpm) == ("TOSHIBA MQ04ABF100", 5400)


@pytest.mark.parametrize(
    ("place", "vendor", "transport"),
    [
        ("pci0000:00/usb2/2-2/2-2:1.0/host6/target6:0:0/6:0:0:0/block/sdb", "Seagate", "usb"),
        ("pci0000:00/0000:03:00.0/host0/target0:0:5/0:0:5:0/block/sdb", "SEAGATE", "scsi"),
        ("pci0000:00/0000:04:00.0/nvme/nvme0/nvme0n1", "", "nvme"),
        ("pci0000:00/0000:05:00.0/virtio2/block/vdb", "", "virtual"),
        ("pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sdb", "QEMU", "virtual"),
    ],
)
def test_how_it_is_attached(place: str, vendor: str, transport: str, tmp_path: Path) -> None:
    plant(tmp_path, place, device__vendor=vendor)
    assert describe(Path(place).name, tmp_path / "sys", tmp_path).transport == transport


def test_a_partition_is_its_disk(tmp_path: Path) -> None:
    plant(tmp_path, ATA, device__model="EXAMPLE\n")
    plant(tmp_path, f"{ATA}/sdb1", partition="1\n")
    assert describe("/dev/sdb1", tmp_path / "sys", tmp_path).model == "EXAMPLE"


def test_a_tree_of_garbage_says_nothing(tmp_path: Path) -> None:
    junk = b"\xff\xfe\x00 \x1b[31m\n" * 40
    names = "size queue__rotational queue__zoned queue__discard_max_bytes device__vpd_pg89 device__vpd_pgb1 dev"
    plant(tmp_path, ATA, **dict.fromkeys(names.split(), junk))
    facts = describe("sdb", tmp_path / "sys", tmp_path)
    assert (facts.capacity_bytes, facts.rotational, facts.kernel_zones, facts.trim) == (None, None, None, None)


@pytest.mark.parametrize("device", ["/dev/sdz", "", "sd\0b"])
def test_no_such_device(device: str, tmp_path: Path) -> None:
    plant(tmp_path, ATA)
    with pytest.raises(UsageError, match="there is no block device") as refused:
        describe(device, tmp_path / "sys", tmp_path)
    assert "sdb" in refused.value.hint
