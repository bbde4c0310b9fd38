"""fio's iolog: as the real fio writes it, and as nobody should."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shakedown.errors import UsageError
from shakedown.trace import TRACE_SCHEMA, read_blkparse, read_blktrace, read_csv, read_iolog, read_msr

needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio (hint: apt install fio)")


def fio(folder: Path, *options: str) -> Any:
    """What fio counted in its only job."""
    command = ["fio", "--name=a", f"--filename={folder / 'disk'}", "--ioengine=psync", "--size=1m", *options]
    printed = subprocess.run(
        [*command, "--output-format=json"], check=True, capture_output=True, text=True, cwd=folder
    ).stdout
    return json.loads(printed[printed.index("{") :])["jobs"][0]


def log(folder: Path, text: str) -> Path:
    path = folder / "log"
    path.write_text(text)
    return path


@needs_fio
def test_version_3_as_fio_writes_it(tmp_path: Path) -> None:
    options = ("--rw=randrw", "--bsrange=4k-16k", "--number_ios=60", "--fsync=10", "--thinktime=2ms")
    counted = fio(tmp_path, *options, "--write_iolog=log")
    trace = read_iolog(tmp_path / "log")
    assert trace.schema == TRACE_SCHEMA
    for verb in ("read", "write"):
        requests = trace.filter(verb=verb)
        assert (requests.height, requests["bytes"].sum()) == (counted[verb]["total_ios"], counted[verb]["io_bytes"])
    assert trace.filter(verb="flush").height == counted["sync"]["total_ios"] > 0
    assert trace["submitted_ns"].is_sorted()
    # Sixty pauses of two milliseconds lie between them, and no machine stalls for minutes.
    assert 59 * 2_000_000 <= trace["submitted_ns"][-1] - trace["submitted_ns"][0] < 100_000_000_000


VERSION_2 = """fio version 2 iolog
disk add
disk open
disk read 0 4096
disk wait 400 0
disk write 8192 12288
disk sync 0 0
disk wait 600 0
disk read 4096 4096
disk close
"""


def test_version_2_waits_until_a_time_since_the_start(tmp_path: Path) -> None:
    assert read_iolog(log(tmp_path, VERSION_2)).rows() == [
        (0, "read", 0, 4096),
        (400_000_000, "write", 8192, 12288),
        (400_000_000, "flush", 0, 0),
        (600_000_000, "read", 4096, 4096),
    ]


@needs_fio
def test_version_2_means_to_fio_what_it_means_here(tmp_path: Path) -> None:
    (tmp_path / "disk").write_bytes(bytes(1 << 20))
    path = log(tmp_path, VERSION_2.replace("disk ", f"{tmp_path / 'disk'} "))
    begun = time.monotonic()
    counted = fio(tmp_path, f"--read_iolog={path}")
    elapsed_ns = (time.monotonic() - begun) * 1e9
    trace = read_iolog(path)
    for verb in ("read", "write"):
        requests = trace.filter(verb=verb)
        assert (requests.height, requests["bytes"].sum()) == (counted[verb]["total_ios"], counted[verb]["io_bytes"])
    # The manual's microseconds would be over before fio has started.
    assert elapsed_ns >= trace["submitted_ns"][-1]


def begun(*names: str) -> str:
    """The first lines of a log of version 3."""
    return "fio version 3 iolog\n" + "".join(f"0 {name} add\n0 {name} open\n" for name in names)


def test_several_files_want_a_choice(tmp_path: Path) -> None:
    path = log(tmp_path, begun("a", "b") + "1 a read 0 512\n2 b write 512 512\n3 a trim 1024 512\n")
    with pytest.raises(UsageError, match="several files: `a`, `b`") as error:
        read_iolog(path)
    assert "file=" in error.value.hint
    assert read_iolog(path, file="b").rows() == [(2000, "write", 512, 512)]
    with pytest.raises(UsageError, match="no request to `c`"):
        read_iolog(path, file="c")


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("fio version 1 iolog\n", 1, "first line"),
        ("fio version 3 iolog\n\nx disk read 0 512\n", 3, "time `x`"),
        ("fio version 3 iolog\n1 disk read 0\n", 2, "no line of an iolog of version 3"),
        (begun("disk") + "1 disk read -5 512\n", 4, "offset `-5`"),
        (begun("disk") + "1 disk read 0 99999999999999999999\n", 4, "length `9999"),
        (f"fio version 3 iolog\n{2**63 - 1} disk read 0 512\n", 2, "time `9223372036854775807`"),
        (f"fio version 2 iolog\ndisk wait {2**63 - 1}\ndisk read 0 512\n", 2, "wait `9223372036854775807`"),
        (begun("disk") + f"1 disk read {2**63 - 512} 512\n", 4, "ends at byte 9223372036854775808"),
        (begun("disk") + "1 disk read 0 0\n", 4, "the length is 0"),
        (begun("disk") + "1 disk write 0 100\n", 4, "offset 0 and length 100 are not both multiples"),
        (begun("disk") + "1 disk trim 100 512\n", 4, "offset 100 and length 512 are not both multiples"),
        (begun("a") + "1 b read 0 512\n", 4, "no line before says `b add`"),
        (begun("a") + "0 b add\n1 b sync 0 0\n", 5, "no line before says `b open`"),
        ("fio version 2 iolog\ndisk open\ndisk read 0 512\ndisk add\n", 3, "no line before says `disk add`"),
        ("fio version 3 iolog\n1 disk chew 0 512\n", 2, "no line"),
        ("fio version 3 iolog\n1 disk wait 10 0\n", 2, "no line"),
        ("fio version 2 iolog\n1 disk read 0 512\n", 2, "no line of an iolog of version 2"),
        ("fio version 3 iolog\n1 d add\nfio version 3 iolog\n", 3, "fio appends"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, line: int, reason: str) -> None:
    with pytest.raises(UsageError) as error:
        read_iolog(log(tmp_path, text))
    assert error.value.hint
    assert f"log` line {line}: " in str(error.value)
    assert reason in str(error.value)


def test_what_is_no_text_or_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for place, message in (
        (tmp_path / "binary", "is not text"),
        (tmp_path / "nowhere", "cannot be read: No such file"),
    ):
        with pytest.raises(UsageError, match=message) as error:
            read_iolog(place)
        assert error.value.hint


@pytest.mark.parametrize("reader", [read_blkparse, read_blktrace, read_csv, read_iolog, read_msr])
def test_what_is_no_path_is_told(reader: Callable[[object], object]) -> None:
    with pytest.raises(UsageError, match="a trace is given by its path, not by None") as error:
        reader(None)
    assert error.value.hint


@pytest.mark.parametrize("packed", [False, True])
def test_a_last_number_that_may_have_been_cut_off_is_warned_of(tmp_path: Path, packed: bool) -> None:
    text = begun("d").encode() + b"10 d write 0 4096\n20 d write 4096 512"
    (tmp_path / "log").write_bytes(gzip.compress(text) if packed else text)
    with pytest.warns(UserWarning, match="the last line of .*log has no line end") as warned:
        assert read_iolog(tmp_path / "log").height == 2
    assert warned[0].filename == __file__


@pytest.mark.parametrize("last", ["20 d write 4096 512\n", "20 d write 4096 512\r\n", "20 d close"])
@pytest.mark.filterwarnings("error")
def test_where_no_number_can_have_been_cut_off_there_is_no_warning(tmp_path: Path, last: str) -> None:
    assert not read_iolog(log(tmp_path, begun("d") + "10 d write 0 4096\n" + last)).is_empty()


def test_a_packed_log_that_was_cut_off_is_told(tmp_path: Path) -> None:
    packed = gzip.compress(begun("d").encode() + b"10 d write 0 4096\n" * 9999)
    (tmp_path / "log").write_bytes(packed[:-20])
    with pytest.raises(UsageError, match=r"log` cannot be unpacked: it ends too soon"):
        read_iolog(tmp_path / "log")
    (tmp_path / "log").write_bytes(b"\x28\xb5\x2f\xfd and so on")
    with pytest.raises(UsageError, match="is packed by zstd") as refusal:
        read_iolog(tmp_path / "log")
    assert "zstd -d" in refusal.value.hint
