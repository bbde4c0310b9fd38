"""Comma-separated traces: our own names, and the layout of Microsoft Research Cambridge."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from shakedown.errors import UsageError
from shakedown.trace import TRACE_SCHEMA, read_blkparse, read_blktrace, read_csv, read_iolog, read_msr

Reader = Callable[[Path], pl.DataFrame]

HEADER = "submitted_ns,verb,offset_bytes,bytes\n"


def table(folder: Path, text: str) -> Path:
    path = folder / "table"
    path.write_text(text)
    return path


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    trace = read_blktrace(Path(__file__).with_name("data") / "loop")
    trace.with_columns(more=pl.lit("left out")).write_csv(tmp_path / "table")
    read = read_csv(tmp_path / "table")
    assert read.schema == TRACE_SCHEMA
    assert read.equals(trace)


def test_blanks_other_orders_and_blank_lines_do_not_matter(tmp_path: Path) -> None:
    path = table(tmp_path, "verb,bytes,submitted_ns,offset_bytes\nwrite, 512,20,0\n\nflush,0,10,0\n")
    assert read_csv(path).rows() == [(10, "flush", 0, 0), (20, "write", 0, 512)]


MSR = """128166372003061629,hm,0,Read,383496192,32768,413
128166372016382155,hm,0,Write,2822144000,4096,1327
128166372016382154,hm,0,Write,512,512,1
"""


@pytest.mark.parametrize("packed", [False, True])
def test_msr_cambridge(tmp_path: Path, packed: bool) -> None:
    path = table(tmp_path, MSR)
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    assert read_msr(path).rows() == [
        (0, "read", 383496192, 32768),
        (1332052500, "write", 512, 512),
        (1332052600, "write", 2822144000, 4096),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        (HEADER.replace("verb", "what"), "line 1: no column `verb`"),
        (HEADER + "1,read,0,512\n\n2,read,x,512\n", "line 4: offset_bytes `x` is not a whole number"),
        (HEADER + "1,read,0,512\n2,Read,0,512\n", "line 3: verb `Read` is not one of read, write, trim, flush"),
        (HEADER + "-1,read,0,512\n", "line 2: submitted_ns `-1`"),
        (HEADER + "9" * 5000 + ",read,0,512\n", "line 2: submitted_ns `999"),
        (HEADER + "1,read,0\n", "line 2: bytes `` is not a whole number"),
        (HEADER + "1,read,0,512\n1,read,0,512,9\n", "line 3: 5 fields where 4 are expected"),
        (HEADER + "9223372036854775808,read,0,512\n", "line 2: submitted_ns `9223372036854775808`"),
        (HEADER + f"1,read,0,512\n2,read,{2**63 - 512},512\n", "line 3: the request ends at byte 9223372036854775808"),
        (HEADER + "1,read,0,512\n\n2,write,0,0\n", "line 4: the length is 0: nothing is asked for"),
        (HEADER + "1,read,100,512\n", "line 2: offset 100 and length 512 are not both multiples of a sector's 512"),
        (HEADER + "1,read,0,100\n", "line 2: offset 0 and length 100 are not both multiples of a sector's 512"),
        (HEADER + "1,flush,0,512\n", "line 2: a flush has no place"),
        (HEADER + "1,flush,4096,0\n", "line 2: a flush has no place"),
    ],
)
def test_what_is_wrong_with_a_table_is_told(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(UsageError) as error:
        read_csv(table(tmp_path, text))
    assert error.value.hint
    assert reason in str(error.value)
    assert "table`" in str(error.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1,hm,0,Read,0,512\n", "line 1: 6 fields where 7 are expected"),
        ("1,hm,0,Read,0,512,1,1\n", "line 1: 8 fields where 7 are expected"),
        (MSR + "1,hm,0,Chew,0,512,1\n", "line 4: type `Chew`"),
        (MSR + "1,hm,0,Read,0,much,1\n", "line 4: size `much`"),
        (f"{2**63 - 1},hm,0,Read,0,512,1\n0,hm,0,Read,0,512,1\n", "line 1: the time `9223372036854775807` is more"),
        (f"1,hm,0,Read,{2**63 - 8},512,1\n", "line 1: the request ends at byte 9223372036854776312"),
        (MSR + "1,hm,0,Read,0,0,1\n", "line 4: the length is 0"),
        (MSR + "1,hm,0,Read,100,512,1\n", "line 4: offset 100 and length 512 are not both multiples"),
        (MSR + "1,hm,1,Read,0,512,1\n", "requests to 2 volumes"),
        ("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n" + MSR, "line 1: `Timestamp` is no time"),
        ("", "is empty"),
    ],
)
def test_what_is_wrong_with_msr_is_told(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(UsageError) as error:
        read_msr(table(tmp_path, text))
    assert error.value.hint
    assert reason in str(error.value)


PACKED = gzip.compress((HEADER + "1,read,0,512\n" * 2000).encode())


@pytest.mark.parametrize(
    ("packed", "reason"),
    [
        (PACKED[:-20], "it ends too soon"),
        (PACKED[:-3], "it ends too soon"),
        (PACKED + b"and so on", "behind what gzip packed there is something else"),
        (PACKED[:-8] + b"1234" + PACKED[-4:], "its checksum is another's"),
        (PACKED[:40] + b"\xff" * 9 + PACKED[49:], "it is damaged"),
    ],
    ids=["cut", "cut in its end", "longer", "another's end", "damaged"],
)
def test_what_is_wrong_with_a_packed_file_is_told(tmp_path: Path, packed: bytes, reason: str) -> None:
    path = tmp_path / "table.gz"
    path.write_bytes(packed)
    with pytest.raises(UsageError, match=rf"table\.gz` cannot be unpacked: {reason}") as error:
        read_csv(path)
    assert error.value.hint


def test_zeros_behind_a_packed_file_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "table.gz"
    path.write_bytes(PACKED + bytes(512))
    assert read_csv(path).height == 2000


@pytest.mark.parametrize("packed", [False, True])
def test_a_last_number_that_may_have_been_cut_off_is_warned_of(tmp_path: Path, packed: bool) -> None:
    text = (HEADER + "1,read,0,4096\n2,read,4096,512").encode()
    path = tmp_path / "table"
    path.write_bytes(gzip.compress(text) if packed else text)
    with pytest.warns(UserWarning, match="the last line of .*table has no line end"):
        assert read_csv(path).height == 2


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        (read_csv, HEADER.replace("\n", ",more\n") + "1,read,0,4096,8"),
        (read_msr, MSR.rstrip("\n")),
        (read_csv, HEADER + "1,read,0,4096\n"),
        (read_csv, (HEADER + "1,read,0,4096\n").replace("\n", "\r\n")),
    ],
)
@pytest.mark.filterwarnings("error")
def test_where_no_number_can_have_been_cut_off_there_is_no_warning(tmp_path: Path, reader: Reader, text: str) -> None:
    assert reader(table(tmp_path, text)).height


DATA = Path(__file__).with_name("data")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("fitting", "content"),
    [
        (read_csv, (HEADER + "1,read,0,512\n").encode()),
        (read_msr, MSR.encode()),
        (read_iolog, (DATA / "loop.iolog").read_bytes()),
        (read_blkparse, (DATA / "loop.blkparse.txt").read_bytes()),
        (read_blktrace, (DATA / "loop.blktrace.0").read_bytes()),
    ],
)
def test_the_reader_that_fits_is_named_by_all_others(
    tmp_path: Path, fitting: Reader, content: bytes, packed: bool
) -> None:
    path = tmp_path / "trace"
    path.write_bytes(gzip.compress(content) if packed else content)
    for reader in {read_csv, read_msr, read_iolog, read_blkparse, read_blktrace} - {fitting}:
        with pytest.raises(UsageError, match=f"`{path}` is of another format than `{reader.__name__}`") as error:
            reader(path)
        assert error.value.hint == f"`{fitting.__name__}` reads it"
    assert not fitting(path).is_empty()


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        (read_csv, HEADER),
        (read_iolog, "fio version 3 iolog\n"),
        (read_iolog, "fio version 3 iolog\n1 d add\n2 d close\n"),
        (read_blkparse, "  8,0  1  1  0.000000001  42  Q  R 8 + 8 [fio]\n"),
        *((reader, "") for reader in (read_csv, read_msr, read_iolog, read_blkparse, read_blktrace)),
    ],
)
def test_a_file_without_requests_is_refused_by_every_reader(tmp_path: Path, reader: Reader, text: str) -> None:
    with pytest.raises(UsageError, match=r"table` (is empty|holds no request)") as refusal:
        reader(table(tmp_path, text))
    assert refusal.value.hint


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="line 1: more than one column `bytes`"):
        read_csv(table(tmp_path, HEADER.replace("\n", ",bytes\n") + "0,write,4096,512,1024\n"))


@pytest.mark.parametrize("reader", [read_blkparse, read_blktrace, read_csv, read_iolog, read_msr])
def test_what_may_have_no_end_is_not_read(reader: Reader) -> None:
    # As /dev/zero is, of which a reader without this would take all the memory.
    with pytest.raises(UsageError, match="`/dev/null` is not a file"):
        reader(Path("/dev/null"))
