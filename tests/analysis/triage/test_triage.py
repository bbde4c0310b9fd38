"""Logs that are harmless and logs that are not: what each episode is, of which drive, and how bad."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shakedown.analysis.identify.models import parse_models
from shakedown.analysis.triage.diagnosis import Diagnosis, diagnose, knows_shingled, not_met
from shakedown.analysis.triage.follow import follow
from shakedown.data import reference_path
from shakedown.report.triage import triage_document, triage_text
from shakedown.result.timeline import Moment, Timeline

LOGS = Path(__file__).parent / "logs"
NOW = datetime(2026, 1, 15, tzinfo=UTC)
MODELS = parse_models(reference_path("smr_models.csv").read_text(encoding="utf-8"))

EXPECTED = {
    "archive-write-timeout": (0, [("shingled-stall", "harmless", "sdc ata3")]),
    "archive-invisible": (0, [("gone-and-back", "harmless", "sdd ata3")]),
    "plain-boot": (0, []),
    "hotplug": (0, []),
    "usb-unplugged": (0, [("unplugged", "harmless", "sdf")]),
    "quoted-by-others": (0, []),
    "one-crc-error": (3, [("link", "unclear", "ata4")]),
    "conventional-timeout": (3, [("command-timeout", "unclear", "sdc ata3")]),
    "usb-bridge-resets": (3, [("command-timeout", "unclear", "sda")]),
    "sas-returns-renamed": (3, [("gone-and-back", "unclear", "sdh")]),
    "worn-cable": (1, [("link", "unsafe", "ata4")]),
    "red-address-not-found": (1, [("shingled-refusal", "unsafe", "sdm")]),
    "red-kicked-by-md": (1, [("shingled-stall", "unsafe", "sdc ata3")]),
    "bus-error-and-gone": (1, [("drive-gone", "unsafe", "sdf ata6")]),
    "usb-offlined": (1, [("drive-gone", "unsafe", "sda")]),
    "zfs-suspended": (1, [("stall", "unsafe", "")]),
    "zfs-faulted": (1, [("array", "unsafe", "ata3")]),
    "raid5-unreadable": (1, [("unreadable-sectors", "dying", "sde ata6")]),
    "smartd-pending": (1, [("unreadable-sectors", "dying", "sdb")]),
    "nvme-slow": (3, [("command-timeout", "unclear", "nvme0")]),
    "nvme-timeout": (1, [("drive-gone", "unsafe", "nvme0")]),
}


def triage(content: bytes, *told: str) -> Diagnosis:
    return diagnose(follow(content.splitlines(keepends=True), NOW), knows_shingled(MODELS, told))


def log(name: str) -> bytes:
    return (LOGS / f"{name}.log").read_bytes()


SMARTCTL = b"""smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0-13-amd64] (local build)
=== START OF INFORMATION SECTION ===
Device Model:     WDC WD40EFAX-68JH4N0
=== START OF READ SMART DATA SECTION ===
SMART overall-health self-assessment test result: PASSED
"""


@pytest.mark.parametrize("printed", [SMARTCTL, b'{\n  "json_format_version": [\n', b'{"smartctl":{"version":[7,3]}}\n'])
def test_what_smartctl_printed_is_told_not_to_be_read(printed: bytes) -> None:
    alone, behind = triage(printed), triage(log("worn-cable") + printed)
    assert (alone.exit_status, behind.exit_status) == (3, 1)
    for diagnosis in (alone, behind):
        assert "Not read: what smartctl printed." in triage_text(diagnosis, UTC, None)
    assert "does not look like a log" in triage_text(alone, UTC, None)


@pytest.mark.parametrize("name", EXPECTED)
def test_what_smartd_says_in_a_log_is_read(name: str) -> None:
    assert not triage(log(name)).holds_smartctl


def test_what_has_no_effect_is_told() -> None:
    """A run whose time is another clock's, and a drive that is in no episode."""
    timeline = Timeline((0.0,), (Moment(0, "fill"),), 1.0)
    boot = log("worn-cable")
    wall = re.sub(rb"(?m)^\[[^]]*\]", b"2026-01-14T10:00:00,000000+00:00", boot)
    for content, is_off in ((boot, True), (wall, False)):
        diagnosis = triage(content)
        assert diagnosis.episodes
        assert ("Not put on the run's time" in triage_text(diagnosis, UTC, timeline)) == is_off
        assert "Not put on" not in triage_text(diagnosis, UTC, None)
    assert not_met(diagnosis, ["sdz", "ata4"]) == ["sdz"]
    assert "no episode is of sdz, which `--shingled` names" in triage_text(diagnosis, UTC, None, ["sdz"])
    assert triage_document(diagnosis, None, ["sdz"])["shingled_not_met"] == ["sdz"]


def test_every_log_is_expected_to_be_something() -> None:
    assert {path.stem for path in LOGS.glob("*.log")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_log_is_what_it_is(name: str) -> None:
    status, episodes = EXPECTED[name]
    diagnosis = triage(log(name))
    found = [(each.judgement.kind, each.judgement.grade, each.episode.drive.title) for each in diagnosis.episodes]
    assert found == episodes
    assert diagnosis.exit_status == status


@pytest.mark.parametrize("name", EXPECTED)
def test_every_advice_has_a_command_and_an_undo(name: str) -> None:
    for judged in triage(log(name)).episodes:
        assert all(each.text and each.command and each.undo for each in judged.advice)
        assert judged.advice or judged.judgement.kind in ("unplugged", "stall", "array")


def test_what_was_done_to_those_above_is_told() -> None:
    kicked = triage(log("red-kicked-by-md")).episodes[0]
    assert kicked.judgement.consequences == ("io-error", "md-kicked")
    assert [each.command.split()[0] for each in kicked.advice][-2:] == ["smartctl", "mdadm"]
    assert "/sys/block/sdc/device/timeout" in " ".join(each.command for each in kicked.advice)
    faulted = triage(log("zfs-faulted")).episodes[0]
    assert faulted.judgement.consequences == ("zfs-faulted", "zfs-deadman")
    assert "zfs_deadman_ziotime_ms" in " ".join(each.command for each in faulted.advice)


def test_a_drive_that_somebody_knows_to_be_shingled_is_judged_so() -> None:
    assert triage(log("usb-bridge-resets"), "sda").exit_status == 0
    assert triage(log("usb-bridge-resets"), "sdb").exit_status == 3


@pytest.mark.parametrize(
    ("said", "who"),
    [
        ("sd 2:0:0:0: rejecting I/O to offline device", "2:0:0:0"),
        ("nvme nvme0: Removing after probe failure status: -19", "nvme0"),
        ("ata3.00: disabled", "ata3"),
    ],
)
def test_a_disk_that_is_given_up_needs_no_line_before(said: str, who: str) -> None:
    (judged,) = triage(f"[ 42.0] {said}\n".encode()).episodes
    assert (judged.judgement.kind, judged.episode.drive.title) == ("drive-gone", who)
    assert not triage(b"[ 42.0] ata3: reset failed, giving up\n").episodes, "an empty port"


def test_what_a_disk_of_flash_does_not_have_is_not_advised() -> None:
    kicked = b"[ 42.0] md/raid1:md0: Disk failure on nvme0, disabling device.\n"
    (judged,) = triage(log("nvme-slow") + kicked).episodes
    assert judged.shingled is False
    assert "shingles" in judged.judgement.text
    commands = " ".join(each.command for each in judged.advice)
    assert "nvme_core.default_ps_max_latency_us=0" in commands
    assert not re.search(r"/sys/block/\S+/device|max_sectors_kb|libata|scterc", commands)


FROZEN = b"""[ 10.0] ata3.00: exception Emask 0x0 SAct 0x7fff SErr 0x0 action 0x6 frozen
[ 10.1] ata3.00: failed command: WRITE FPDMA QUEUED
[ 10.2] ata3.00: status: { DRDY }
[ 10.3] ata3: hard resetting link
[ 10.9] ata3: EH complete
"""


@pytest.mark.parametrize(
    ("model", "kind", "grade"),
    [(b"WDC WD40EFAX-68JH4N0", "shingled-stall", "harmless"), (b"WDC WD40EFRX-68N32N0", "command-timeout", "unclear")],
)
def test_a_port_that_is_frozen_without_an_error_waited_too_long_also_if_the_result_is_missing(
    model: bytes, kind: str, grade: str
) -> None:
    (judgement,) = (
        each.judgement
        for each in triage(b"[ 1.0] ata3.00: ATA-9: " + model + b", 82.00A82, max UDMA/133\n" + FROZEN).episodes
    )
    assert (judgement.kind, judgement.grade) == (kind, grade)
    assert "1 command without an answer" in judgement.text
    refused = FROZEN.replace(b"status: { DRDY }", b"error: { ABRT }")
    (judgement,) = (
        each.judgement
        for each in triage(b"[ 1.0] ata3.00: ATA-9: " + model + b", 82.00A82, max UDMA/133\n" + refused).episodes
    )
    assert judgement.kind == "device-error"


def test_btrfs_counts_of_errors_are_errors_and_those_of_none_are_not() -> None:
    line = b"[ 5.0] BTRFS error (device sdd1): bdev /dev/sdd1 errs: wr 0, rd 0, flush 0, corrupt %d, gen 0\n"
    (judgement,) = (each.judgement for each in triage(line % 5).episodes)
    assert (judgement.kind, judgement.grade) == ("array", "unsafe")
    assert not triage(line % 0).episodes


def test_an_absence_of_more_than_an_hour_is_not_excused() -> None:
    late = log("archive-invisible").replace(b"[ 7400.", b"[ 8700.")
    assert [each.judgement.grade for each in triage(late).episodes] == ["unclear"]


def test_a_drive_that_comes_back_under_another_letter_is_the_same_drive() -> None:
    episode = triage(log("archive-invisible")).episodes[0].episode
    assert episode.longest_absence_s == pytest.approx(2340, abs=1)
    assert {"ata3", "2:0:0:0", "sdc", "sdd"} == set(episode.drive.names)


def test_quiet_hours_part_episodes_and_a_reboot_does() -> None:
    stall = log("archive-write-timeout")
    later = stall.replace(b"[86", b"[96")
    assert len(triage(stall + b"\n".join(later.splitlines()[4:])).episodes) == 2
    boot = b"[    0.000] Linux version 6.1.0 (builder@example) #1\n"
    assert [each.episode.boot for each in triage(stall + boot + stall).episodes] == [0, 1]


def test_two_drives_that_stall_at_once_are_two_episodes() -> None:
    one = log("archive-write-timeout")
    other = one.replace(b"ata3", b"ata4").replace(b" 2:0", b" 3:0").replace(b"sdc", b"sdd")
    mixed = b"\n".join(line for pair in zip(one.splitlines(), other.splitlines(), strict=True) for line in pair)
    assert [each.episode.drive.title for each in triage(mixed).episodes] == ["sdc ata3", "sdd ata4"]


def test_another_drive_in_the_same_place_is_another_drive() -> None:
    stall = log("archive-write-timeout")
    swapped = stall.replace(b"ST8000AS0002-1NA17Z", b"WDC WD40EFRX-68N32N0").replace(
        b"ST8000AS0002-1NA AR13", b"WDC WD40EFRX-68N 0A82"
    )
    later = b"\n".join(line.replace(b"[    2.", b"[90002.").replace(b"[86", b"[96") for line in swapped.splitlines())
    found = [(each.judgement.kind, each.episode.drive.model) for each in triage(stall + later).episodes]
    assert found == [
        ("shingled-stall", "ST8000AS0002-1NA17Z"),
        ("command-timeout", "WDC WD40EFRX-68N32N0"),
    ]


@pytest.mark.parametrize("name", ["red-kicked-by-md", "nvme-slow", "nvme-timeout"])
def test_one_command_is_one_whoever_tells_of_it(name: str) -> None:
    """The driver's line and SCSI's, or the abort and the reset that follows."""
    (judged,) = triage(log(name)).episodes
    assert judged.episode.timeouts == 1


def test_a_controller_and_its_disk_are_one_where_a_line_ties_them() -> None:
    stalled = "[ 42.0] nvme nvme1: I/O tag 1 (1001) opcode 0x1 (I/O Cmd) QID 8 timeout, reset controller\n"
    tied = triage(f"{stalled}[ 43.0] I/O error, dev nvme0c1n1, sector 8 op 0x1:(WRITE)\n".encode()).episodes
    assert [each.episode.drive.title for each in tied] == ["nvme0n1"]
    apart = triage(f"{stalled}[ 43.0] I/O error, dev nvme1n1, sector 8 op 0x1:(WRITE)\n".encode()).episodes
    assert [each.episode.drive.title for each in apart] == ["nvme1", "nvme1n1"]
    assert "nvme1n1 is told of apart: most likely its disk" in apart[0].judgement.text
    assert "told of apart" not in apart[1].judgement.text


def test_pci_express_that_stops_the_link_is_a_sign_of_the_link() -> None:
    (judged,) = triage(b"[ 42.0] nvme nvme0: frozen state error detected, reset controller\n").episodes
    assert (judged.judgement.kind, judged.judgement.grade) == ("link", "unclear")
    assert not any("libata" in each.command or "smartctl" in each.command for each in judged.advice)


@pytest.mark.parametrize(("gbps", "is_forced"), [("1.5", False), ("3.0", False), ("6.0", True)])
def test_a_link_is_not_made_faster_than_the_kernel_has_made_it(gbps: str, is_forced: bool) -> None:
    worn = "[ 42.0] ata3.00: irq_stat 0x08000000, interface fatal error\n[ 43.0] ata3: SError: { Handshk }\n"
    (judged,) = triage(f"{worn}[ 44.0] ata3: limiting SATA link speed to {gbps} Gbps\n".encode()).episodes
    assert judged.judgement.kind == "link"
    assert any("libata.force=3:3.0Gbps" in each.command for each in judged.advice) == is_forced
    assert any(f"slower by itself, {float(gbps):g} Gb/s" in each.text for each in judged.advice) != is_forced


CRC_ERROR = """\
[ {0}.10] ata3.00: exception Emask 0x10 SAct 0x3 SErr 0x400100 action 0x6 frozen
[ {0}.10] ata3.00: irq_stat 0x08000000, interface fatal error
[ {0}.10] ata3: SError: {{ UnrecovData Handshk }}
[ {0}.10] ata3.00: failed command: READ FPDMA QUEUED
[ {0}.10] ata3.00: cmd 60/08:00:00:08:00/00:00:00:00:00/40 tag 0 ncq dma 4096 in
[ {0}.10]          res 40/00:00:00:08:00/00:00:00:00:00/40 Emask 0x10 (ATA bus error)
[ {0}.10] ata3.00: status: {{ DRDY }}
[ {0}.10] ata3.00: error: {{ ICRC ABRT }}
[ {0}.10] ata3: hard resetting link
[ {0}.90] ata3: EH complete
"""


@pytest.mark.parametrize(("count", "grade", "times"), [(1, "unclear", "once"), (2, "unclear", "2"), (3, "unsafe", "3")])
def test_an_error_of_the_link_counts_once_in_however_many_lines_it_is_told(count: int, grade: str, times: str) -> None:
    (judged,) = triage("".join(CRC_ERROR.format(10 * (1 + number)) for number in range(count)).encode()).episodes
    assert (judged.judgement.kind, judged.judgement.grade) == ("link", grade)
    assert f"({times}" in judged.judgement.text


def test_a_command_that_virtio_aborts_was_not_answered() -> None:
    (judged,) = triage(b"[ 63.1] sd 0:0:0:0: [sda] tag#109 abort\n").episodes
    assert (judged.judgement.kind, judged.judgement.grade) == ("command-timeout", "unclear")


AER: dict[str, tuple[str, str, str]] = {
    # Linux 4.x, 5.x, 6.x, and from 6.16 on.
    "corrected": (
        "nvme 0000:03:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, id=0300(Receiver ID)",
        "harmless",
        "sent it again by itself (once)",
    ),
    "corrected-5": (
        "nvme 0000:03:00.0: AER: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
        "harmless",
        "sent it again by itself (once)",
    ),
    "correctable": (
        "ahci 0000:01:00.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Transmitter ID)",
        "harmless",
        "sent it again by itself (once)",
    ),
    "non-fatal": (
        "hpsa 0000:01:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Receiver ID)",
        "unclear",
        "of the adapter, and with it of all drives behind it, and could not correct that (once)",
    ),
    "fatal": (
        "nvme 0000:03:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Receiver ID)",
        "unsafe",
        "of the drive, and could not correct that (once)",
    ),
    "not-recovered": (
        "ahci 0000:01:00.0: AER: can't recover (no error_detected callback)",
        "unsafe",
        "of the adapter, and with it of all drives behind it",
    ),
}


@pytest.mark.parametrize("name", AER)
def test_what_pci_express_reports_of_drives_and_adapters_is_a_sign(name: str) -> None:
    said, grade, told = AER[name]
    device = said.partition(": ")[0]
    around = f"[ 41.9] pcieport 0000:00:1d.0: AER: Corrected error received: 0000:03:00.0\n[ 42.0] {said}\n"
    around += (
        f"[ 42.1] {device}:   device [144d:a808] error status/mask=00000001/0000e000\n[ 42.2] {device}:    [ 0] RxErr\n"
    )
    (judged,) = triage(around.encode()).episodes
    assert (judged.judgement.kind, judged.judgement.grade) == ("link", grade)
    assert told in judged.judgement.text
    assert not judged.judgement.is_sign_of_c
    assert judged.episode.drive.title == device
    assert not re.search("sdX|libata|smartctl", " ".join(each.command for each in judged.advice))


def test_what_is_corrected_now_and_then_is_one_episode_and_what_else_happens_another() -> None:
    line = "[ {}.0] nvme 0000:03:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)\n"
    often = "".join(line.format(3600 * hour) for hour in range(1, 60, 7))
    (judged,) = triage(often.encode()).episodes
    assert judged.episode.counts == {"pcie-corrected": 9}
    gone = "[ 300000.0] nvme 0000:03:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Physical Layer\n"
    assert [each.judgement.grade for each in triage((often + gone).encode()).episodes] == ["harmless", "unsafe"]


def test_an_error_of_a_port_or_of_another_card_is_no_drives() -> None:
    severe = "PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Requester ID)"
    for device in ("pcieport 0000:00:03.0", "nvidia 0000:03:00.0", "xhci_hcd 0000:97:00.0"):
        assert not triage(f"[ 42.0] {device}: AER: {severe}\n".encode()).episodes


def test_an_address_on_pci_express_is_the_controller_that_was_found_there() -> None:
    found = "[ 1.0] nvme nvme2: pci function 0000:03:00.0\n"
    error = "nvme 0000:03:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)"
    stalled = "nvme nvme2: I/O tag 1 (1001) opcode 0x1 (I/O Cmd) QID 8 timeout, reset controller"
    (judged,) = triage(f"{found}[ 42.0] {error}\n[ 43.0] {stalled}\n".encode()).episodes
    assert judged.episode.drive.title == "nvme2"
    assert judged.judgement.kind == "command-timeout", "what was corrected explains no silence"
    assert not judged.judgement.is_sign_of_c, "field notes C speak of shingled disks"


FOUND = """\
[ {0}.1] usb 2-2: New USB device found, idVendor=1058, idProduct=25e2, bcdDevice=40.04
[ {0}.2] scsi host{1}: uas
[ {0}.3] scsi {1}:0:0:0: Direct-Access     {2}  4004 PQ: 0 ANSI: 6
[ {0}.4] sd {1}:0:0:0: [sdh] Attached SCSI disk
"""
BAD = "[ {0}.0] blk_update_request: critical medium error, dev sdh, sector {0} op 0x0:(READ) flags 0x0 phys_seg 1\n"
PULLED = "[ {0}.0] usb 2-2: USB disconnect, device number 3\n"


@pytest.mark.parametrize("begin", [FOUND.format(10, 6, "Seagate  Backup+ Hub BK "), ""], ids=["whole", "begins-late"])
def test_a_letter_that_another_disk_was_given_is_not_the_same_drive(begin: str) -> None:
    told = begin + BAD.format(300) + PULLED.format(900) + FOUND.format(950, 7, "WD       My Passport 25E2")
    first, second = triage((told + BAD.format(1300) + PULLED.format(1900)).encode()).episodes
    assert (first.episode.sectors, second.episode.sectors) == ({300}, {1300})
    assert first.episode.drive.title == "sdh (another drive by now)"
    assert first.episode.drive.model == ("Seagate Backup+ Hub BK" if begin else "")
    assert not any("/dev/sdh" in each.command for each in first.advice), "that is another's data by now"
    assert (second.episode.drive.title, second.episode.drive.model) == ("sdh", "WD My Passport 25E2")
    assert (first.episode.was_gone, second.episode.was_gone) == (bool(begin), True)


def test_two_drives_with_bad_sectors_are_not_each_the_one_sign() -> None:
    both = BAD.format(300) + BAD.format(300).replace("sdh", "sdi")
    said = [each.judgement.text.partition(".")[0] for each in triage(both.encode()).episodes]
    assert said == 2 * ["Sectors cannot be read: that is the sign of a drive that is broken rather than slow"]


def test_of_a_port_that_is_not_known_nothing_is_said_that_holds_for_some_disks_only() -> None:
    (judged,) = triage(b"[ 42.0] ata3: SError: { Handshk }\n").episodes
    [forced] = (each.text for each in judged.advice if "libata.force" in each.command)
    assert "more than a hard disk moves" in forced


@pytest.mark.parametrize(("content", "told"), [(b"a\n", "1 line, 0 episodes"), (b"a\nb\n", "2 lines, 0 episodes")])
def test_how_much_was_read_is_told_in_good_english(content: bytes, told: str) -> None:
    assert triage_text(triage(content), UTC, None).startswith(told)


USB_RESET = "[ {0}.0] usb 2-1: reset SuperSpeed USB device number 3 using xhci_hcd\n"
TIMED_OUT = "[ {0}.0] sd 6:0:0:0: [sdc] tag#0 FAILED Result: hostbyte=DID_TIME_OUT driverbyte=DRIVER_OK cmd_age=60s\n"


def test_resets_on_the_usb_are_told_where_the_log_begins_after_the_boot() -> None:
    (judged,) = triage("".join(USB_RESET.format(120 + 31 * each) for each in range(4)).encode()).episodes
    assert (judged.episode.drive.title, judged.judgement.kind) == ("usb 2-1", "link")
    assert "The kernel reset it on the USB 4 times" in judged.judgement.text
    assert "The log does not say which disk, if any, this is: `lsusb -t` does" in judged.judgement.text
    assert not any("libata" in each.command for each in judged.advice)
    assert any("usb-storage.quirks" in each.command for each in judged.advice)
    assert not triage(USB_RESET.format(120).encode()).episodes, "a machine that wakes up resets each device once"


def test_what_was_announced_on_the_usb_as_no_disk_is_none() -> None:
    mouse = "[ 1.0] usb 2-1: New USB device found, idVendor=046d, idProduct=c077, bcdDevice=72.00\n"
    assert not triage((mouse + USB_RESET.format(120) + USB_RESET.format(150)).encode()).episodes


def test_a_reset_on_the_usb_within_that_of_a_host_is_of_its_disk() -> None:
    told = TIMED_OUT.format(100) + "[ 101.0] scsi host6: uas_eh_device_reset_handler start\n" + USB_RESET.format(101)
    told += "[ 102.0] scsi host6: uas_eh_device_reset_handler success\n" + USB_RESET.format(140)
    (judged,) = triage(told.encode()).episodes
    assert (judged.episode.drive.title, judged.episode.drive.usb) == ("sdc", "2-1")
    assert judged.episode.counts["usb-reset"] == 2
    assert not any("libata" in each.command for each in judged.advice), "there is no SATA link that Linux could slow"
    assert any("usb-storage.quirks" in each.command for each in judged.advice)


def test_whose_disk_the_log_does_not_say_is_told_with_those_it_may_have_been() -> None:
    usb, disk = triage((USB_RESET.format(100) + USB_RESET.format(130) + TIMED_OUT.format(131)).encode()).episodes
    assert (usb.episode.drive.title, disk.episode.drive.title) == ("usb 2-1", "sdc")
    assert usb.judgement.text.endswith("At that time it tells of sdc, perhaps the same.")
    frozen = "[ 42.0] ata4.00: exception Emask 0x0 SAct 0x7fff SErr 0x0 action 0x6 frozen\n"
    (port,) = triage(frozen.encode()).episodes
    assert (
        "which disk this is: `ls -l /sys/block | grep /ata4/` does, or a log from the boot on." in port.judgement.text
    )


ADAPTER = """[ 1.1] scsi host4: ahci
[ 1.1] scsi host5: ahci
[ 1.1] ata1: SATA max UDMA/133 abar m2048@0xf7d10000 port 0xf7d10100 irq 27
[ 1.1] ata2: SATA max UDMA/133 abar m2048@0xf7d10000 port 0xf7d10180 irq 27
"""
FAILURE = """[ 9000.0] ata{0}.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x6 frozen
[ 9000.1] ata{0}.00: failed command: WRITE DMA EXT
[ 9005.0] ata{0}: EH complete
[ 9035.0] I/O error, dev {1}, sector 123456
"""


def of_ata(port: int, model: str) -> str:
    return f"[ 2.0] ata{port}.00: ATA-9: {model}, 82.00A82, max UDMA/133\n"


def at_address(address: str, letter: str, model: str) -> str:
    return (
        f"[ 2.1] scsi {address}: Direct-Access     ATA      {model[:16]:16} 0A82 PQ: 0 ANSI: 5\n"
        f"[ 2.2] sd {address}: [{letter}] Attached SCSI disk\n"
    )


def titles(said: str) -> list[str]:
    return [each.episode.drive.title for each in triage(said.encode()).episodes]


RED = "WDC WD40EFAX-68JH4N0"
RED_AT_4, RED_AT_5 = at_address("4:0:0:0", "sdb", RED), at_address("5:0:0:0", "sdc", RED)
SDC_AT_5 = "[ 2.2] sd 5:0:0:0: [sdc] Attached SCSI disk\n"
OLD_ADAPTER = ADAPTER.replace(" host", "").replace(":", " :", 2)
BEHIND_OTHER = "[ 1.0] scsi host0: Fusion MPT SAS Host\n" + at_address("0:0:0:0", "sda", RED)


@pytest.mark.parametrize(
    ("boot", "found"),
    [
        pytest.param(ADAPTER + SDC_AT_5, ["sdc ata2"], id="by hosts alone"),
        pytest.param(OLD_ADAPTER + SDC_AT_5, ["sdc ata2"], id="by hosts, as of old"),
        pytest.param(ADAPTER + SDC_AT_5.replace("5", "4"), ["ata2", "sdc ata1"], id="another port's"),
        pytest.param(ADAPTER[ADAPTER.index("\n") + 1 :] + SDC_AT_5, ["ata2", "sdc"], id="cut amid the hosts"),
        pytest.param(BEHIND_OTHER + ADAPTER + of_ata(2, RED) + RED_AT_5, ["sdc ata2"], id="beside another adapter"),
        pytest.param(of_ata(2, RED) + BEHIND_OTHER + RED_AT_5, ["ata2", "sdc"], id="beside one, without hosts"),
        pytest.param(of_ata(1, RED) + of_ata(2, RED) + RED_AT_4 + RED_AT_5, ["sdc ata2"], id="by models in order"),
        pytest.param(of_ata(2, RED) + RED_AT_4 + RED_AT_5, ["ata2", "sdc"], id="a model's line is missing"),
        pytest.param("", ["ata2", "sdc"], id="no boot"),
    ],
)
def test_a_port_and_a_letter_are_one_drive_where_the_log_tells_and_nowhere_else(boot: str, found: list[str]) -> None:
    assert titles(boot + FAILURE.format(2, "sdc")) == found


def test_a_device_behind_a_port_multiplier_is_told_by_its_channel() -> None:
    boot = ADAPTER + SDC_AT_5.replace("5:0", "5:1")
    assert titles(boot + FAILURE.replace("{0}.00", "{0}.01").format(2, "sdc")) == ["sdc ata2.01"]


def test_a_port_that_lets_go_of_an_address_names_it() -> None:
    """A log from later than the boot: libata itself says whose disk it takes away, and the episodes become one."""
    taken = "[ 9036.0] ata2.00: disabled\n[ 9036.0] ata2.00: detaching (SCSI 5:0:0:0)\n"
    said = "[ 8999.0] sd 5:0:0:0: [sdc] tag#3 CDB: Write(16) 8a 00\n" + FAILURE.format(2, "sdc")
    assert titles(said) == ["ata2", "sdc"]
    assert titles(said + taken) == ["sdc ata2"]


def test_a_drive_put_in_another_place_is_joined_to_its_port_too() -> None:
    boot = of_ata(2, RED) + RED_AT_5
    new = "ST8000VN004-2M2101"
    assert titles(boot + of_ata(2, new) + at_address("5:0:0:0", "sdc", new) + FAILURE.format(2, "sdc")) == ["sdc ata2"]


def test_the_last_line_names_the_drives_of_the_worst_episodes() -> None:
    told = {name: triage_text(triage(log(name)), UTC, None) for name in ("raid5-unreadable", "worn-cable", "hotplug")}
    assert told["raid5-unreadable"].endswith("\nA drive is dying. See sde ata6.\n")
    assert " ".join(told["worn-cable"].split()).endswith("though it need not be the drive. See ata4.")
    assert "See " not in told["hotplug"]
    assert "See " not in triage_text(triage(log("zfs-suspended")), UTC, None), "no drive is named"


KICKED = "Mar 12 03:15:1{0} nas {1}\n"
BY_KERNEL = "kernel: [8124{0}.5] md/raid:md2: Disk failure on sd{1}3, disabling device."
BY_MDADM = "mdadm[900]: Fail event detected on md device /dev/md2, component device /dev/sd{0}3"


def test_a_drive_that_kernel_and_mdadm_say_was_expelled_was_so_once() -> None:
    lines = [BY_KERNEL.format(11, "e"), BY_MDADM.format("e"), BY_KERNEL.format(13, "f"), BY_KERNEL.format(14, "f")]
    told = "".join(KICKED.format(second, line) for second, line in enumerate(lines, 1))
    counts = {each.episode.drive.letter: each.episode.counts["md-kicked"] for each in triage(told.encode()).episodes}
    assert counts == {"sde": 1, "sdf": 2}
    (judged,) = triage(KICKED.format(1, lines[1]).encode()).episodes
    assert judged.episode.counts["md-kicked"] == 1, "by mdadm alone"


ABORTED = "[ 100.0] sd {0}: [sdi] tag#4 CDB: Write(16) 8a\n[ 101.0] sd {0}: attempting task abort!scmd(0x0000000012)\n"


@pytest.mark.parametrize(("address", "is_forced"), [("8:0:3:0", False), ("8:0:0:0", True), ("8:2:1:0", True)])
def test_no_link_of_libata_is_slowed_for_a_drive_behind_a_sas_adapter(address: str, is_forced: bool) -> None:
    announced = f"[ 1.0] sd {address}: [sdi] Attached SCSI disk\n"
    (judged,) = triage((announced + ABORTED.format(address)).encode()).episodes
    assert judged.judgement.kind == "command-timeout"
    assert any("libata" in each.command for each in judged.advice) == is_forced


def test_a_port_of_libata_is_never_a_drive_behind_a_sas_adapter() -> None:
    """Both speak while the port recovers, which else joins a port and an address."""
    port = "[ 100.0] ata5.00: exception Emask 0x0 SAct 0x1 SErr 0x0 action 0x6 frozen\n"
    port += "[ 100.1] ata5.00: failed command: WRITE FPDMA QUEUED\n[ 100.2] ata5: hard resetting link\n"
    titles = {
        address: [each.episode.drive.title for each in triage((port + ABORTED.format(address)).encode()).episodes]
        for address in ("8:0:3:0", "8:0:0:0")
    }
    assert titles == {"8:0:3:0": ["ata5", "sdi"], "8:0:0:0": ["sdi ata5"]}
    (of_port, _) = triage((port + ABORTED.format("8:0:3:0")).encode()).episodes
    assert "perhaps the same" not in of_port.judgement.text
