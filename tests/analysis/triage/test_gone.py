"""A drive that left: whatever it complained of before, that it is gone is told, and how to look for it."""

from __future__ import annotations

import pytest

from analysis.triage.test_triage import log, triage

GONE = log("bus-error-and-gone").decode()
EXCEPTION = "exception Emask 0x10 SAct 0x7000000 SErr 0x4010000 action 0xe frozen"
BUS_ERROR = "Emask 0x10 (ATA bus error)"
SPEED = "limiting SATA link speed to 3.0 Gbps"
NOT_SEEN = "The kernel gave the drive up, and the log does not see it again."
SCAN = "/sys/class/scsi_host"


def test_a_bus_error_does_not_hide_that_the_drive_is_gone() -> None:
    (judged,) = triage(GONE.encode()).episodes
    assert (judged.judgement.kind, judged.judgement.grade) == ("drive-gone", "unsafe")
    assert judged.judgement.text.startswith(NOT_SEEN)
    assert "Before that: Data was damaged on its way (once; the link was slowed down)" in judged.judgement.text
    assert "sent again" not in judged.judgement.text
    commands = [each.command for each in judged.advice]
    assert any(SCAN in each for each in commands)
    assert not any("sata_spd" in each or "libata.force" in each for each in commands)
    assert judged.episode.counts["gave-up"] == 4
    assert not judged.episode.counts["recovered"], "the port's error handling ended, and no drive recovered"


@pytest.mark.parametrize(
    ("change", "before"),
    [
        ((BUS_ERROR, "Emask 0x4 (timeout)"), ""),
        ((f"{EXCEPTION}\n", f"{EXCEPTION}\n[ 5001.0] ata6: SError: {{ PHYRdyChg DevExch }}\n"), "The link dropped"),
        ((f"{EXCEPTION}\n", f"{EXCEPTION}\n[ 5001.0] ata6: SError: {{ PHYRdyChg 10B8B }}\n"), "Data was damaged"),
    ],
)
def test_however_the_link_complained_it_is_gone(change: tuple[str, str], before: str) -> None:
    (judged,) = triage(GONE.replace(SPEED, "hard resetting link").replace(*change).encode()).episodes
    assert judged.judgement.kind == "drive-gone"
    assert NOT_SEEN in judged.judgement.text
    assert ("Before that" in judged.judgement.text) == bool(before)
    assert before in judged.judgement.text
    assert any(SCAN in each.command for each in judged.advice)


@pytest.mark.parametrize(
    ("before", "kind", "grade"),
    [
        ("ata6.00: error: { UNC }", "unreadable-sectors", "dying"),
        ("sd 5:0:0:0: [sdf] tag#0 Sense Key : Hardware Error [current]", "failing", "dying"),
        ("ata6.00: error: { IDNF }", "device-error", "unsafe"),
    ],
)
def test_what_is_worse_keeps_its_name_and_tells_that_it_is_gone(before: str, kind: str, grade: str) -> None:
    (judged,) = triage(GONE.replace(BUS_ERROR, f"Emask 0x4 (timeout)\n[ 5001.1] {before}").encode()).episodes
    assert (judged.judgement.kind, judged.judgement.grade) == (kind, grade)
    assert judged.judgement.text.endswith(NOT_SEEN)
    assert SCAN in judged.advice[0].command, "nothing can be copied from a drive that is not there"


def test_one_that_came_back_from_a_damaged_link_is_told_to_have_been_away() -> None:
    back = """\
[ 5300.0] ata6: SATA link up 3.0 Gbps (SStatus 123 SControl 320)
[ 5300.1] ata6.00: ATA-9: WDC WD40EFRX-68N32N0, 82.00A82, max UDMA/133
[ 5300.2] ata6: EH complete
"""
    (judged,) = triage((GONE + back).encode()).episodes
    assert (judged.judgement.kind, judged.judgement.grade) == ("link", "unsafe")
    assert judged.judgement.text.startswith("Data was damaged on its way (once;")
    assert "It was invisible for 3 min 59 s" in judged.judgement.text
    assert not any(SCAN in each.command for each in judged.advice)
    assert judged.episode.counts["recovered"] == 1


def test_a_disk_of_flash_that_does_not_come_back_is_gone_too() -> None:
    stopped = "[ 42.0] nvme nvme0: frozen state error detected, reset controller\n"
    (judged,) = triage(f"{stopped}[ 44.0] nvme nvme0: Removing after probe failure status: -19\n".encode()).episodes
    assert judged.judgement.kind == "drive-gone"
    assert f"{NOT_SEEN} Before that: PCI Express stopped the link" in judged.judgement.text
    assert any("pci/rescan" in each.command for each in judged.advice)


def test_a_link_that_was_only_slowed_down_erred_no_times() -> None:
    """The exception is one of a command that was not answered."""
    slowed = "[ 42.0] ata6.00: exception Emask 0x0 SAct 0x1 SErr 0x0 action 0x6\n[ 43.0] ata6: limiting SATA link speed"
    (judged,) = triage(f"{slowed} to 1.5 Gbps\n".encode()).episodes
    assert judged.judgement.text.startswith("The link was slowed down: plug, cable, power")
