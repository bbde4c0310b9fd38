"""ZFS calls a disk by its name under /dev/disk/by-id: no port, and nothing that /sys/block would have."""

from __future__ import annotations

import re

import pytest

from analysis.triage.test_triage import triage

BOOT = "2023-05-04T03:00:01+02:00 nas kernel: ata5.00: ATA-9: WDC WD40EFAX-68JH4N0, 82.00A82, max UDMA/133\n"
TIMEOUT = """\
2023-05-04T03:00:42+02:00 nas kernel: ata5.00: exception Emask 0x0 SAct 0x7 SErr 0x0 action 0x6 frozen
2023-05-04T03:00:42+02:00 nas kernel: ata5.00: failed command: WRITE FPDMA QUEUED
2023-05-04T03:00:42+02:00 nas kernel:          res 40/00:00:00:00:00/00:00:00:00:00/00 Emask 0x4 (timeout)
2023-05-04T03:00:42+02:00 nas kernel: ata5: hard resetting link
"""
ZED = (
    "2023-05-04T03:00:50+02:00 nas zed[4250]: eid=32 class=statechange pool='tank' vdev={0}-part1 vdev_state=FAULTED\n"
)
BY_ID = "ata-WDC_WD40EFAX-68JH4N0_WD-WX1"
READLINK = f"`readlink -f /dev/disk/by-id/{BY_ID}` does"
LS = "`ls -l /sys/block | grep /ata5/` does"


def told(log: str) -> list[tuple[str, str]]:
    return [(each.episode.drive.title, each.judgement.text) for each in triage(log.encode()).episodes]


def test_the_command_that_tells_the_disk_is_one_that_can() -> None:
    ((title, text),) = told(BOOT + TIMEOUT + ZED.format(BY_ID))
    assert title == "ata5"
    assert READLINK in text
    ((title, text),) = told(BOOT + TIMEOUT)
    assert title == "ata5"
    assert LS in text


def test_apart_each_is_told_in_its_own_way() -> None:
    (port, pool) = told(TIMEOUT + ZED.format(BY_ID))
    assert (port[0], pool[0]) == ("ata5", BY_ID)
    assert LS in port[1]
    assert READLINK in pool[1]


@pytest.mark.parametrize("name", ["ata-$(reboot)_X-1", "ata-`reboot`_X-1", "ata-X_1;reboot", "tank-1_x", "11ca-42_7"])
def test_no_command_is_made_of_what_is_no_name_of_a_disk(name: str) -> None:
    assert not any(re.search("readlink|sys/block", text) for _, text in told(ZED.format(name)))


def test_a_letter_needs_no_other_name() -> None:
    when = "2023-05-04T03:00:01+02:00 nas kernel:"
    boot = f"{when} ata5: detaching (SCSI 4:0:0:0)\n{when} sd 4:0:0:0: [sdf] Attached SCSI disk\n"
    ((title, text),) = told(BOOT + boot + TIMEOUT + ZED.format(BY_ID))
    assert title == "sdf ata5"
    assert "does not say which disk" not in text
