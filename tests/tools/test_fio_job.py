import json
import shutil
import subprocess

import pytest

from shakedown.errors import UsageError
from shakedown.tools.fio.job import parse_fio_bytes, parse_fio_time_ns, parse_job
from shakedown.tools.fio.owned import owner


def test_a_job_without_a_header_is_one_job_named_after_the_step() -> None:
    (section,) = parse_job("rw=randwrite\nbs=4k ; small\n# talk\ntime_based\n", "collapse")
    assert section.name == "collapse"
    assert [str(option) for option in section.options] == ["rw=randwrite", "bs=4k", "time_based"]


def test_globals_count_for_the_sections_below_them() -> None:
    first, second = parse_job("[global]\nbs=4k\n[a]\nrw=read\n[global]\nbs=8k\n[b]\nstonewall\nREADWRITE=write\n", "x")
    assert (first.last("bs"), first.directions) == ("4k", ("read",))
    assert (second.last("bs"), second.directions) == ("8k", ("write",))


@pytest.mark.parametrize(
    ("lines", "directions"),
    [
        ("bs=4k", ("read",)),
        ("rw=randrw:8", ("read", "write")),
        ("rw=write\nverify=crc32c", ("read", "write")),
        ("rw=write\nverify=crc32c\ndo_verify=0", ("write",)),
        ("rw=trimwrite", ("write", "trim")),
    ],
)
def test_directions(lines: str, directions: tuple[str, ...]) -> None:
    assert parse_job(lines, "x")[0].directions == directions


@pytest.mark.parametrize("text", ["", "\n# nothing\n", "[a]\n[b]\n", "[a/../b]\nrw=read", "[a\nrw=read", "[]\nrw=read"])
def test_what_is_no_job_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_job(text, "x")


def test_a_pattern_that_fio_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="rw=sideways"):
        _ = parse_job("rw=sideways", "x")[0].directions


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        *(("4096", 4096), ("4k", 4096), ("4K", 4096), ("4kb", 4096), ("4KiB", 4000)),
        *(("1g", 1 << 30), ("50%", 500), ("0x20", 32), ("0X1000", 4096)),
    ],
)
def test_sizes_follow_fio(text: str, size_bytes: int) -> None:
    assert parse_fio_bytes(text, 1000) == size_bytes


@pytest.mark.parametrize("text", ["", "k", "-4k", "4x", "4 k", "0xzz", "½", "10ki", "50.5%", "9" * 5000])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_fio_bytes(text, 1000)


@pytest.mark.parametrize(
    ("text", "time_ns"), [("2", 2_000), ("90s", 90 * 10**9), ("15m", 900 * 10**9), ("500msec", 500 * 10**6)]
)
def test_times_follow_fio(text: str, time_ns: int) -> None:
    assert parse_fio_time_ns(text, 1_000) == time_ns


@pytest.mark.parametrize("text", ["", "15min", "1sec", "0x10", "1.5s", "9" * 5000])
def test_what_fio_would_take_for_another_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_fio_time_ns(text, 1_000)


def test_counts_follow_fio() -> None:
    (section,) = parse_job("numjobs=0x2\niodepth=1k\nrate_iops=7,0x10\nloops=2.5", "x")
    assert (section.count("numjobs", 1), section.count("iodepth", 1), section.count("number_ios", 9)) == (2, 1024, 9)
    assert (section.count("rate_iops", 0, "read"), section.count("rate_iops", 0, "trim")) == (7, 16)
    with pytest.raises(UsageError, match=r"\[x\] loops=2.5: `2.5` is not a whole number"):
        section.count("loops", 1)


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
@pytest.mark.parametrize(
    ("options", "size_bytes"),
    [
        (("--size=0x1000",), 4096),
        (("--size=4kib",), 3584),
        (("--size=1m", "--number_ios=0x2"), 1024),
        # What fio takes for something else than it says: ki for k, 50.5% for 50 bytes, a second for a microsecond.
        (("--size=4ki",), 4096),
        (("--size=1m", "--io_size=1024.5%"), 1024),
        (("--size=1g", "--time_based", "--runtime=1sec"), 0),
        (("--size=1g", "--time_based", "--runtime=0x1"), 0),
    ],
)
def test_the_real_fio_decides_who_is_right(options: tuple[str, ...], size_bytes: int) -> None:
    command = ["fio", "--name=a", "--ioengine=null", "--bs=512", "--output-format=json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["jobs"][0]["read"]["io_bytes"] == size_bytes


def test_a_target_and_a_measurement_are_not_a_loads() -> None:
    assert (owner("filename"), owner("write_bw_log"), owner("group_reporting")) == ("target", "measurement", None)
