"""One moment and one message in every form in which Linux writes them, and lines that nobody wrote."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.analysis.identify.models import parse_models
from shakedown.analysis.triage.diagnosis import diagnose, knows_shingled
from shakedown.analysis.triage.drive import MOST_DRIVES
from shakedown.analysis.triage.follow import MOST_EPISODES, Follower, follow
from shakedown.analysis.triage.line import LineReader
from shakedown.analysis.triage.sign import INTERESTING, signs_of
from shakedown.data import reference_path
from shakedown.report.triage import triage_document, triage_text

ZONE = timezone(timedelta(hours=1))
NOW = datetime(2023, 6, 1, tzinfo=ZONE)
WALL_S = datetime(2023, 3, 5, 12, 7, 38, tzinfo=ZONE).timestamp()
TEXT = "sd 2:0:0:0: [sdb] Attached SCSI disk"
MODELS = parse_models(reference_path("smr_models.csv").read_text(encoding="utf-8"))
LOGS = sorted((Path(__file__).parent / "logs").glob("*.log"))

BOOT = [
    f"[12345.500000] {TEXT}",
    f"[    0.5] {TEXT}".replace("    0.5", "12345.5"),
    f"<6>[12345.500000] {TEXT}",
    f"[12345.500000][  T123] {TEXT}",
    f"[12345.500000 <    0.000123>] {TEXT}",
    f"kern  :info  : [12345.500000] {TEXT}",
    f"6,339,12345500000,-;{TEXT}",
    f"[12345.500000] nas kernel: {TEXT}",
]
WALL = [
    f"[Sun Mar  5 12:07:38 2023] {TEXT}",
    f"2023-03-05T12:07:38,000000+01:00 {TEXT}",
    f"2023-03-05T12:07:38.000000+01:00 nas kernel: {TEXT}",
    f"2023-03-05T12:07:38.000000+01:00 nas kernel: [12345.500000] {TEXT}",
    f"2023-03-05T11:07:38Z nas kernel: {TEXT}",
    f"2023-03-05T12:07:38+0100 nas kernel: {TEXT}",
    f"2023-03-05 12:07:38 nas kernel: [12345.500000] {TEXT}",
    f"<6>1 2023-03-05T12:07:38+01:00 nas kernel - - - {TEXT}",
    f"Sun 2023-03-05 11:07:38 UTC nas kernel: {TEXT}",
    f"Mar  5 12:07:38 nas kernel: {TEXT}",
    f"Mar  5 12:07:38 nas kernel: [12345.500000] {TEXT}",
    f"{WALL_S:.6f} nas kernel: {TEXT}",
    f'{{"__REALTIME_TIMESTAMP": "{WALL_S * 1e6:.0f}", "_TRANSPORT": "kernel", "MESSAGE": "{TEXT}"}}',
    f'{{"__REALTIME_TIMESTAMP": "{WALL_S * 1e6:.0f}", "_TRANSPORT": "kernel", "MESSAGE": {list(TEXT.encode())}}}',
]


@pytest.mark.parametrize(
    ("text", "clock", "time_s"), [(each, "boot", 12345.5) for each in BOOT] + [(each, "wall", WALL_S) for each in WALL]
)
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_a_moment_in_every_form(text: str, clock: str, time_s: float, end: str) -> None:
    line = LineReader(NOW).read((text + end).encode())
    assert (line.clock, line.text) == (clock, TEXT)
    assert line.tag in ("", "kernel")
    assert line.time_s == pytest.approx(time_s, abs=1e-3)


def test_dmesg_for_people_counts_from_line_to_line() -> None:
    reader = LineReader(NOW)
    lines = [f"[Mar 5 12:07] {TEXT}", f"[  +0.500000] {TEXT}", f"[ +37.500000] {TEXT}"]
    times = [reader.read(line.encode()).time_s for line in lines]
    assert times == [pytest.approx(WALL_S - 38 + shift) for shift in (0, 0.5, 38)]


def test_a_line_without_a_year_is_of_the_last_one_that_it_can_be() -> None:
    december = LineReader(NOW).read(b"Dec 31 23:59:59 nas kernel: x").time_s
    leap = LineReader(NOW).read(b"Feb 29 00:00:00 nas kernel: x").time_s
    assert december == datetime(2022, 12, 31, 23, 59, 59, tzinfo=ZONE).timestamp()
    assert leap == datetime(2020, 2, 29, tzinfo=ZONE).timestamp()


def test_messages_that_look_like_a_host_and_a_program_are_messages() -> None:
    for text in ("scsi host6: uas", "ata3: SError: { BadCRC }", "usb 2-2: reset SuperSpeed USB device number 3"):
        line = LineReader(NOW).read(f"2023-03-05T12:07:38,000000+01:00 {text}".encode())
        assert (line.tag, line.text) == ("", text)


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("I/O error, dev sdb, sector 8 op 0x0:(READ) flags 0x0", ("io-error", "sdb", "8")),
        ("blk_update_request: critical target error, dev sdb, sector 8", ("io-error", "sdb", "8")),
        ("device offline error, dev sdb, sector 8 op 0x1:(WRITE) flags 0x803000", ("io-error", "sdb", "8")),
        ("reservation conflict error, dev nvme0n1, sector 8 op 0x1:(WRITE)", ("io-error", "nvme0n1", "8")),
        ("protection error, dev sdb, sector 8 op 0x0:(READ)", ("io-error", "sdb", "8")),
        (
            "nvme0n1: Read(0x2) @ LBA 4096, 8 blocks, Unrecovered Read Error (sct 0x2 / sc 0x81) DNR",
            ("media-error", "nvme0n1", "4096"),
        ),
        (
            "nvme1n1: Write(0x1) @ LBA 4096, 8 blocks, Write Fault (sct 0x2 / sc 0x80)",
            ("media-error", "nvme1n1", "4096"),
        ),
        ("timeout error, dev sdb, sector 8 op 0x0:(READ) flags 0x0", ("timeout-request", "sdb", "8")),
        ("Buffer I/O error on dev sdb1, logical block 0, async page read", ("io-error", "sdb", "")),
        ("Buffer I/O error on device sdb1, logical block 0", ("io-error", "sdb", "")),
        ("nvme nvme0: frozen state error detected, reset controller", ("bus-error", "nvme0", "")),
        ("nvme nvme0: failure state error detected, request disconnect", ("gave-up", "nvme0", "")),
        ("ata7.00: disabled", ("gave-up", "ata7", "disabled")),
        ("ata7: reset failed, giving up", ("gave-up", "ata7", "")),
        ("nvme nvme0: I/O 12 QID 3 timeout, aborting", ("timeout-abort", "nvme0", "")),
        ("nvme nvme0: I/O 12 QID 3 timeout, completion polled", ("timeout", "nvme0", "")),
        ("nvme nvme0: I/O tag 12 (100c) QID 0 timeout, completion polled", ("timeout", "nvme0", "")),
        (
            "nvme nvme0: I/O tag 12 (400c) opcode 0x9 (Admin Cmd) QID 0 timeout, reset controller",
            ("timeout", "nvme0", ""),
        ),
    ],
)
def test_kernels_put_it_in_other_words_than_earlier_ones(text: str, sign: tuple[str, str, str]) -> None:
    assert INTERESTING.search(text.encode())
    assert list(signs_of("", text)) == [sign]


@pytest.mark.parametrize(("disk", "part"), [("sdb", "sdb"), ("sdb", "sdb1"), ("nvme0n1", "nvme0n1p2")])
@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Buffer I/O error on dev PART, logical block 1, lost async page write", "write-lost"),
        ("EXT4-fs (PART): Remounting filesystem read-only", "read-only"),
        (
            "EXT4-fs error (device PART): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0",
            "fs-error",
        ),
        ('XFS (PART): metadata I/O error in "xfs_buf_ioend" at daddr 0x1', "fs-error"),
        ("BTRFS error (device PART): bdev /dev/PART errs: wr 1, rd 0, flush 0, corrupt 0, gen 0", "fs-error"),
    ],
)
def test_a_partition_is_of_its_disk(text: str, what: str, disk: str, part: str) -> None:
    line = text.replace("PART", part)
    assert INTERESTING.search(line.encode())
    assert list(signs_of("", line)) == [(what, disk, "")]


def show(content: bytes) -> None:
    """Everything that a log goes through; any exception is a failure."""
    history = follow(content.splitlines(keepends=True), NOW)
    diagnosis = diagnose(history, knows_shingled(MODELS, ()))
    triage_document(diagnosis, None)
    assert triage_text(diagnosis, UTC, None)


@given(st.binary(max_size=2000))
def test_garbage_is_no_traceback(content: bytes) -> None:
    show(content)


PIECES = [line for path in LOGS for line in path.read_text().splitlines()]


@given(st.lists(st.tuples(st.sampled_from(PIECES), st.integers(0, 200), st.binary(max_size=6)), max_size=30))
@settings(max_examples=300)
def test_damaged_logs_are_no_traceback(damaged: list[tuple[str, int, bytes]]) -> None:
    show(b"\n".join(line.encode()[:place] + junk + line.encode()[place:] for line, place, junk in damaged))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda each: st.lists(each, max_size=4),
)


@given(JSON, JSON, JSON)
def test_strange_journal_entries_are_no_traceback(message: object, time: object, tag: object) -> None:
    entry = {"MESSAGE": message, "__REALTIME_TIMESTAMP": time, "SYSLOG_IDENTIFIER": tag}
    LineReader(NOW).read(json.dumps(entry).encode())


@given(st.text(st.characters(codec="ascii"), min_size=1, max_size=30), st.floats(0, 1e12))
def test_times_never_leave_the_calendar(host: str, time: float) -> None:
    show(f"[{time:.6f}] ata3.00: exception Emask 0x0\n{time:.3f} {host} kernel: ata3: hard resetting link".encode())
    show(f"9999-12-31T23:59:59-14:00 {host} kernel: ata3.00: exception Emask 0x0".encode())


def test_a_log_that_names_more_drives_than_can_be_keeps_within_bounds() -> None:
    follower = Follower(NOW)
    for number in range(20_000):
        follower.feed(f"[{number}.0] sd {number}:0:0:0: [sd{letters(number)}] tag#1 Sense Key : Medium Error".encode())
    assert len(follower._open) <= MOST_DRIVES
    history = follower.finish()
    assert len(history.episodes) == MOST_EPISODES
    assert history.dropped == 20_000 - MOST_EPISODES


def letters(number: int) -> str:
    return "".join(chr(ord("a") + number // 26**place % 26) for place in range(4))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("2025-03-03T23:14:12.250000+01:00 nas kernel:", "2025-03-03 23:14:12+01:00"),
        ("2025-03-03T23:14:12,250000-0530", "2025-03-03 23:14:12-05:30"),
        ("2025-03-03T23:14:12Z nas kernel:", "2025-03-03 23:14:12+00:00"),
        ("2025-03-03T23:14:12 nas kernel:", "2025-03-03 23:14:12  "),
    ],
)
def test_a_time_is_shown_as_the_log_has_it(written: str, shown: str) -> None:
    line = f"{written} blk_update_request: I/O error, dev sdb, sector 1234 op 0x0:(READ)\n"
    here = NOW.astimezone(timezone(timedelta(hours=9)))
    diagnosis = diagnose(follow([line.encode()], here), knows_shingled(MODELS, ()))
    assert len(diagnosis.episodes) == 1
    assert f"\n{shown}" in triage_text(diagnosis, timezone(timedelta(hours=9)), None)
