"""The two forms of a block trace, against a job that was recorded in both and in fio's own log."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import polars as pl
import pytest

from shakedown.errors import UsageError
from shakedown.trace import TRACE_SCHEMA, read_blkparse, read_blktrace, read_iolog
from shakedown.trace.device import Action

DATA = Path(__file__).with_name("data")
RECORDED, PRINTED, LOGGED = DATA / "loop", DATA / "loop.blkparse.txt", DATA / "loop.iolog"

READ, WRITE, FLUSH, NOTIFY, DISCARD = (1 << (16 + bit) for bit in (0, 1, 2, 10, 13))
QUEUE, ISSUE, CGROUP = 1, 7, 1 << 8


def record(
    time_ns: int,
    action: int,
    sector: int = 8,
    size: int = 4096,
    *,
    device: int = 7 << 20,
    order: str = "<",
    pdu: bytes = b"",
) -> bytes:
    """One record, as linux/blktrace_api.h has it."""
    fields = 0x65617407, 1, time_ns, sector, size, action, 42, device, 0, 0, len(pdu)
    return struct.pack(order + "IIQQIIIIIHH", *fields) + pdu


def from_first(trace: pl.DataFrame) -> pl.DataFrame:
    return trace.with_columns(pl.col("submitted_ns") - pl.col("submitted_ns").first())


def requests(trace: pl.DataFrame) -> Counter[tuple[object, ...]]:
    return Counter(trace.select("verb", "offset_bytes", "bytes").rows())


@pytest.mark.parametrize("action", get_args(Action))
def test_both_forms_say_the_same(action: Action) -> None:
    recorded = read_blktrace(RECORDED, action=action)
    assert recorded.schema == TRACE_SCHEMA
    assert recorded.height == 30
    assert from_first(recorded).equals(from_first(read_blkparse(PRINTED, action=action)))


def test_the_drive_was_asked_what_fio_asked_for() -> None:
    trims = Counter({("trim", 3997696, 65536): 1, ("trim", 49676288, 65536): 1})
    assert requests(read_blktrace(RECORDED)) == requests(read_iolog(LOGGED)) + trims


@pytest.mark.skipif(shutil.which("blkparse") is None, reason="needs blkparse (hint: apt install blktrace)")
def test_blkparse_reads_the_same(tmp_path: Path) -> None:
    for file in DATA.glob("loop.blktrace.*"):
        shutil.copy(file, tmp_path)
    printed = subprocess.run(
        ["blkparse", "-i", "loop"], check=True, capture_output=True, text=True, cwd=tmp_path
    ).stdout
    (tmp_path / "printed").write_text(printed)
    assert from_first(read_blkparse(tmp_path / "printed")).equals(from_first(read_blktrace(tmp_path / "loop")))


def test_one_file_alone_holds_the_requests_of_one_cpu() -> None:
    parts = [read_blktrace(DATA / f"loop.blktrace.{cpu}") for cpu in (0, 1)]
    assert [part.height for part in parts] == [3, 27]
    assert pl.concat(parts).sort("submitted_ns").equals(read_blktrace(RECORDED))


@pytest.mark.parametrize("order", ["<", ">"])
def test_records_as_the_kernel_documents_them(tmp_path: Path, order: str) -> None:
    def make(*arguments: int, pdu: bytes = b"") -> bytes:
        return record(*arguments, order=order, pdu=pdu)

    file = tmp_path / "x.blktrace.0"
    file.write_bytes(
        make(9, NOTIFY, 0, 0, pdu=b"fio\0")
        + make(50, ISSUE | WRITE, 100, 8192, pdu=b"1234567")
        + make(40, ISSUE | READ | CGROUP, 7, 512, pdu=b"12345678")
        + make(60, ISSUE | WRITE | DISCARD, 0, 1 << 20)
        + make(70, ISSUE | FLUSH | WRITE, 0, 0)
        + make(80, ISSUE | READ, 0, 0)
        + make(30, QUEUE | READ, 7, 512)
    )
    assert read_blktrace(tmp_path / "x").rows() == [
        (40, "read", 7 * 512, 512),
        (50, "write", 100 * 512, 8192),
        (60, "trim", 0, 1 << 20),
        (70, "flush", 0, 0),
    ]
    assert read_blktrace(file, action="queue").rows() == [(30, "read", 7 * 512, 512)]


def test_several_devices_want_a_choice(tmp_path: Path) -> None:
    file = tmp_path / "x.blktrace.0"
    file.write_bytes(record(1, ISSUE | READ) + record(2, ISSUE | WRITE, device=(8 << 20) + 17))
    with pytest.raises(UsageError, match="several devices: `7,0`, `8,17`") as error:
        read_blktrace(file)
    assert "device=" in error.value.hint
    assert read_blktrace(file, device="8,17").rows() == [(2, "write", 4096, 4096)]
    with pytest.raises(UsageError, match="no request to `9,9`"):
        read_blktrace(file, device="9,9")


GOOD = record(1, ISSUE | READ)


@pytest.mark.parametrize(
    ("content", "place", "reason", "hint"),
    [
        (b"plainly text", 0, "no file of blktrace", "which reader"),
        (b"\x07", 0, "no file of blktrace", "which reader"),
        (GOOD + GOOD[:20], 48, "ends within a record", "cut off"),
        (GOOD[:46] + b"\x05\x00", 48, "ends within what is attached", "cut off"),
        (GOOD + b"\0" * 48, 48, "no record begins here", "damaged"),
        (GOOD + record(2**63, ISSUE | READ), 48, "time 9223372036854775808 is beyond", "damaged"),
        (GOOD + record(2, ISSUE | WRITE, 2**54), 48, "ends at byte 9223372036854779904", "damaged"),
        (GOOD + record(2, ISSUE | WRITE, 8, 100), 48, "offset 4096 and length 100 are not both multiples", "damaged"),
        (b"\x08" + GOOD[1:], 0, "version 8", "writes version 7"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    tmp_path: Path, content: bytes, place: int, reason: str, hint: str
) -> None:
    file = tmp_path / "x.blktrace.0"
    file.write_bytes(content)
    with pytest.raises(UsageError) as error:
        read_blktrace(tmp_path / "x")
    assert f"x.blktrace.0` byte {place}: " in str(error.value)
    assert reason in str(error.value)
    assert hint in error.value.hint


def test_nothing_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "other.blktrace.0").write_bytes(GOOD)
    with pytest.raises(UsageError, match=r"no `.*/x` and no `.*/x\.blktrace\.0`"):
        read_blktrace(tmp_path / "x")


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("  8,0  1  1  0.000000001  42  D  R 8 + 8 [fio]\n8,0 1 2 nonsense\n", 2, "no event"),
        ("  8,0  1  1  0.000000001  42  D  R 99999999999999999999 + 8 [fio]\n", 1, "sector `9999"),
        ("  8,0  1  1  0.000000001  42  D  R -8 + 8 [fio]\n", 1, "sector `-8`"),
        ("  8,0  1  1  0.000000001  42  D  R 8 + -8 [fio]\n", 1, "length `-8`"),
        ("  8,0  1  1  0.000000001  42  D  R 99999999999999999 + 8 [fio]\n", 1, "sector `9999"),
        (f"  8,0  1  1  0.000000001  42  D  R {2**54 - 1} + 1 [fio]\n", 1, "ends at byte 9223372036854775808"),
    ],
)
def test_a_line_that_is_no_event_is_told(tmp_path: Path, text: str, line: int, reason: str) -> None:
    path = tmp_path / "printed"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        read_blkparse(path)
    assert f"printed` line {line}: " in str(error.value)
    assert reason in str(error.value)


EVENT = "  8,0  1  1  0.000000001  42  D  R 8 + 16 [fio]"


@pytest.mark.parametrize("cut", [3, 5, 6, 7])
def test_a_last_event_that_was_cut_off_is_warned_of(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "printed"
    path.write_text(f"{EVENT}\n{EVENT[:-cut]}")
    with pytest.warns(UserWarning, match="the last line of .*printed has no line end"):
        assert read_blkparse(path).height == 2


@pytest.mark.filterwarnings("error")
def test_a_last_event_that_is_whole_is_not_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "printed"
    path.write_text(f"{EVENT}\n{EVENT}")
    assert read_blkparse(path).height == 2


def test_messages_and_commands_are_no_requests(tmp_path: Path) -> None:
    path = tmp_path / "printed"
    path.write_text(
        "  8,0  1  1  0.000000001  42  m   N cfq 42 slice expired\n"
        "  8,0  1  2  0.000000002  42  D   N [smartctl]\n"
        "  8,0  1  3  0.000000003  42  D  RM 8 + 8 [fio]\n"
    )
    assert read_blkparse(path).rows() == [(3, "read", 4096, 4096)]


@pytest.mark.parametrize("reader", [read_blktrace, read_blkparse])
def test_no_other_action_is_known(reader: Callable[..., pl.DataFrame]) -> None:
    with pytest.raises(UsageError, match="`complete` is no action"):
        reader(RECORDED, action="complete")


def test_a_flush_has_no_place(tmp_path: Path) -> None:
    path = tmp_path / "printed"
    path.write_text("  8,0  1  1  0.000000001  42  D FWS 8 + 0 [fio]\n")
    (tmp_path / "x.blktrace.0").write_bytes(record(1, ISSUE | FLUSH | WRITE, 2**64 - 1, 0))
    assert read_blkparse(path).rows() == read_blktrace(tmp_path / "x").rows() == [(1, "flush", 0, 0)]
