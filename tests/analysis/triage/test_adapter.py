"""Lines that say little: of an adapter or of md, which name no drive, and of a cache that could not be written out."""

from __future__ import annotations

import pytest

from .test_triage import triage

LOG_INFO = "mpt2sas0: log_info(0x31120303): originator(PL), code(0x12), sub_code(0x0303)"


def told(*lines: str) -> list[tuple[str, str, str, str]]:
    content = "".join(f"[ {100 + number}.5] {line}\n" for number, line in enumerate(lines))
    episodes = triage(content.encode()).episodes
    return [
        (each.episode.drive.title, each.judgement.kind, each.judgement.grade, each.judgement.text) for each in episodes
    ]


@pytest.mark.parametrize("name", ["mpt2sas0", "mpt2sas_cm0", "mpt3sas_cm1"])
def test_what_an_adapter_logs_is_unclear_and_names_no_drive(name: str) -> None:
    reset = "log_info(0x31110d01): originator(PL), code(0x11), sub_code(0x0d01)"
    own = "log_info(0x30030109): originator(IOP), code(0x03), sub_code(0x0109)"
    ((title, kind, grade, text),) = told(
        *2 * [LOG_INFO.replace("mpt2sas0", name)], f"{name}: {reset}", f"{name}: {own}"
    )
    assert (title, kind, grade) == (name, "adapter-log", "unclear")
    assert "Its firmware logged: abort (2), reset (1), code 0x03 of its own processor (1)." in text
    assert "neither of which drive it speaks" in text
    (judged,) = triage(f"[ 1.5] {LOG_INFO}\n".encode()).episodes
    assert not any("sdX" in each.command or "lspci" in each.command for each in judged.advice)


def test_a_drive_that_fails_beside_it_is_an_episode_of_its_own() -> None:
    sense = "sd 6:0:6:0: [sdg] tag#1 Sense Key : Medium Error [current]"
    assert [each[:3] for each in told(LOG_INFO, sense)] == [
        ("mpt2sas0", "adapter-log", "unclear"),
        ("sdg", "unreadable-sectors", "dying"),
    ]


@pytest.mark.parametrize(
    ("result", "kind", "grade"),
    [
        ("hostbyte=DID_ERROR driverbyte=DRIVER_OK", "flush-failed", "unclear"),
        ("hostbyte=0x00 driverbyte=DRIVER_OK", "flush-failed", "unclear"),
        ("hostbyte=DID_TIME_OUT driverbyte=DRIVER_OK", "command-timeout", "unclear"),
        ("hostbyte=DID_OK driverbyte=DRIVER_TIMEOUT", "command-timeout", "unclear"),
        ("hostbyte=DID_NO_CONNECT driverbyte=DRIVER_OK", "drive-gone", "unsafe"),
    ],
)
@pytest.mark.parametrize("command", ["Synchronize Cache(10)", "Synchronize Cache(16)"])
def test_a_flush_that_fails_is_told(command: str, result: str, kind: str, grade: str) -> None:
    ((title, found, how_bad, text),) = told(f"sd 6:0:6:0: [sda] {command} failed: Result: {result}")
    assert (title, found, how_bad) == ("sda", kind, grade)
    assert ("may be lost. Why, this line does not say." in text) == (kind == "flush-failed")
    (judged,) = triage(f"sd 6:0:6:0: [sda] {command} failed: Result: {result}\n".encode()).episodes
    assert judged.judgement.consequences == ("flush-failed",)


def test_a_disk_that_is_pulled_fails_its_flush_and_that_alone_is_harmless() -> None:
    lines = (
        "usb 2-1: New USB device found, idVendor=0bc2, idProduct=ab24",
        "scsi host6: uas",
        "scsi 6:0:0:0: Direct-Access     Seagate  BUP Slim         0304 PQ: 0 ANSI: 6",
        "sd 6:0:0:0: [sdb] Attached SCSI disk",
        "usb 2-1: USB disconnect, device number 3",
        "sd 6:0:0:0: [sdb] Synchronizing SCSI cache",
        "sd 6:0:0:0: [sdb] Synchronize Cache(10) failed: Result: hostbyte=DID_ERROR driverbyte=DRIVER_OK",
    )
    assert [each[:3] for each in told(*lines)] == [("sdb", "unplugged", "harmless")]


@pytest.mark.parametrize("result", ["hostbyte=DID_OK driverbyte=DRIVER_TIMEOUT", "hostbyte=0x00 driverbyte=0x06"])
def test_a_timeout_that_an_older_kernel_reports_is_one_of_that_disk(result: str) -> None:
    line = f"sd 0:0:0:0: [sda] tag#5 FAILED Result: {result} cmd_age=32s"
    (judged,) = triage(f"[ 4101.123456] {line}\n".encode()).episodes
    assert (judged.episode.drive.letter, judged.judgement.kind) == ("sda", "command-timeout")
    assert judged.episode.timeouts == 1
    assert not told(line.replace("DRIVER_TIMEOUT", "DRIVER_OK").replace("0x06", "0x00"))


@pytest.mark.parametrize("error", ["10", "-5"])
def test_a_superblock_that_md_could_not_write_is_told_of_no_drive(error: str) -> None:
    sense = "sd 6:0:6:0: [sdg] tag#1 Sense Key : Medium Error [current]"
    drive, array = told(sense, f"md: super_written gets error={error}")
    assert drive[:3] == ("sdg", "unreadable-sectors", "dying")
    assert array[:3] == ("md", "array", "unsafe")


@pytest.mark.parametrize(
    "line",
    [
        "md/raid1:md0: redirecting sector 123 to other mirror: sdb1",
        "md/raid10:md0: sdb1: redirecting sector 123 to another mirror",
    ],
)
def test_a_read_that_another_mirror_answers_is_told_and_not_of_that_mirror(line: str) -> None:
    (judged,) = triage(f"[ 4101.123456] {line}\n".encode()).episodes
    assert judged.episode.drive.names == ["md0"]
    assert (judged.judgement.kind, judged.judgement.grade) == ("array", "unclear")
    assert judged.judgement.consequences == ("md-redirected",)


@pytest.mark.parametrize("level", ["raid1", "raid10"])
def test_a_read_that_is_asked_for_again_is_told_of_the_mirror_that_failed(level: str) -> None:
    line = f"md/{level}:md0: sdc1: rescheduling sector 123"
    (judged,) = triage(f"[ 4101.123456] {line}\n".encode()).episodes
    assert judged.episode.drive.names == ["sdc"]
    assert judged.judgement.consequences == ("md-redirected",)
