import json
import shutil
import subprocess
from pathlib import Path

import pytest

from shakedown.device.load_options import admit_job
from shakedown.errors import UsageError

GIB = 1 << 30


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("filename=/etc/passwd", "belongs to the target"),
        ("directory=/", "belongs to the target"),
        ("ioengine=exec", "belongs to the target"),
        ("direct=0", "belongs to the target"),
        ("buffered=1", "belongs to the target"),
        ("unlink=1", "belongs to the target"),
        ("filesize=9t", "belongs to the target"),
        ("uri=nbd://elsewhere", "belongs to the target"),
        ("write_lat_log=x", "belongs to the measurement"),
        ("ramp_time=10s", "belongs to the measurement"),
        ("unified_rw_reporting=1", "belongs to the measurement"),
        ("exec_prerun=reboot", "not part of a load"),
        ("exec_postrun=reboot", "not part of a load"),
        ("read_iolog=/etc/passwd", "not part of a load"),
        ("verify_dump=1", "not part of a load"),
        ("mem=mmap:/etc/passwd", "not part of a load"),
        ("cgroup=x", "not part of a load"),
        ("include /etc/fio.conf", "not part of a load"),
        ("${OPTION}", "not part of a load"),
        ("iodeepth=4", "not part of a load"),
        ("size=`reboot`", "reaches out"),
        ("runtime=$ncpus", "reaches out"),
        ("buffer_pattern='/etc/passwd'", "reaches out"),
        ("description=a\x07b", "reaches out"),
        ("thread=0", "threads of one fio"),
        ("randseed=2\nrandrepeat=1", "does away with randseed"),
        ("randseed=2\nallrandrepeat", "does away with randseed"),
    ],
)
def test_what_reaches_past_the_load_is_refused_by_name(line: str, reason: str) -> None:
    for job in (f"rw=read\n{line}\n", f"[global]\n{line}\n[a]\nrw=read\n", f"[a]\nrw=read\n[b]\n  {line.upper()}\n"):
        name = line.partition("=")[0]
        with pytest.raises(UsageError, match=reason) as caught:
            admit_job(job if "`" not in line else job.lower(), "step", GIB)
        assert name.lower() in str(caught.value)


def test_a_slip_of_the_pen_is_put_right() -> None:
    with pytest.raises(UsageError) as caught:
        admit_job("rw=read\niodeepth=4\n", "step", GIB)
    assert caught.value.hint == "did you mean `iodepth`?"


@pytest.mark.parametrize(
    ("lines", "size_bytes", "offset_bytes"),
    [
        ("", GIB, 0),
        ("size=25%", GIB // 4, 0),
        ("size=100%\noffset=75%", GIB // 4, GIB * 3 // 4),
        ("offset=512m", GIB // 2, GIB // 2),
        ("size=1m\noffset=1g\noffset=0", 1 << 20, 0),
        ("size=256m\nnumjobs=4\noffset_increment=256m", GIB // 4, 0),
        ("numjobs=4\noffset_increment=25%", GIB // 4, 0),
    ],
)
def test_sizes_are_those_of_the_target(lines: str, size_bytes: int, offset_bytes: int) -> None:
    (section,) = admit_job(f"rw=read\n{lines}\n", "step", GIB)
    assert (section.last("size"), section.last("offset")) == (str(size_bytes), str(offset_bytes))


@pytest.mark.parametrize(
    "lines",
    ["size=2g", "size=1g\noffset=4k", "offset=1g", "size=0", "size=512m\nnumjobs=4\noffset_increment=256m", "size=x"],
)
def test_nothing_past_the_end_of_the_target(lines: str) -> None:
    with pytest.raises(UsageError, match=r"past the end|not a whole number"):
        admit_job(f"rw=read\n{lines}\n", "step", GIB)


@pytest.mark.parametrize(
    ("lines", "told"), [("bs=1m", "1.0 MiB"), ("bs=1m,64k", "64.0 KiB"), ("bs=56k,60k", "56.0 KiB")]
)
def test_a_request_that_does_not_fit_where_it_goes_is_refused(lines: str, told: str) -> None:
    with pytest.raises(UsageError, match=f"bs=.* a request of {told} does not fit into the 48.0 KiB") as caught:
        admit_job(f"rw=randwrite\n{lines}\n", "step", 48 << 10)
    assert "`--size`" in caught.value.hint


@pytest.mark.parametrize("lines", ["bs=48k", "bs=1m,4k", "bs=1m,", "bs=1m\nbs=4k", "bs=1m\nbsrange=4k-1m", ""])
def test_a_request_that_fits_is_not_refused(lines: str) -> None:
    assert admit_job(f"rw=randwrite\n{lines}\n", "step", 48 << 10)


def drawn(job: str, folder: Path) -> list[str]:
    """Where the real fio goes in such a job, of which nothing reaches a disk."""
    (folder / "log").unlink(missing_ok=True)
    (section,) = admit_job(f"rw=randread\nnorandommap\nnumber_ios=9\n{job}\n", "step", GIB)
    lines = [f"[{section.name}]", *map(str, section.options), "ioengine=null", "filename=x", "write_iolog=log"]
    (folder / "job.fio").write_text("\n".join(lines))
    subprocess.run(["fio", "job.fio"], cwd=folder, check=True, capture_output=True)
    return [line.split()[3] for line in (folder / "log").read_text().splitlines() if " read " in line]


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_a_seed_counts_in_the_real_fio(tmp_path: Path) -> None:
    first, again = drawn("randseed=1", tmp_path), drawn("randseed=1\nrandrepeat=0", tmp_path)
    assert len(first) == 9
    assert first == again != drawn("randseed=2", tmp_path)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("rw=randread\nbssplit=4k/50:64k/50\nrate_iops=100", "rate=409600"),
        ("rw=randread\nbssplit=4k/0:64k/100\nrate_iops=100", "rate=409600"),
        ("rw=randwrite\nbsrange=8k-64k\nrate_iops=,7", "rate=57344"),
        ("rw=randrw\nbssplit=8k/100,4k/50:8k/50\nrate_iops=1k", "rate=4194304"),
    ],
)
def test_a_rate_in_requests_of_several_sizes_is_refused(lines: str, told: str) -> None:
    with pytest.raises(UsageError, match="times the shortest request's") as caught:
        admit_job(lines, "step", GIB)
    assert told in caught.value.hint


@pytest.mark.parametrize(
    "lines",
    [
        "rw=randread\nbssplit=64k/100\nrate_iops=100",
        "rw=randrw\nbs=4k,64k\nrate_iops=100",
        "rw=randread\nbssplit=8k/100,4k/50:8k/50\nrate_iops=7",
        "rw=randrw\nbssplit=8k/100,4k/50:8k/50\nrate_iops=7,0",
        "rw=randread\nbsrange=4k-64k\nrate=400k",
    ],
)
def test_a_rate_in_requests_of_one_size_is_not(lines: str) -> None:
    assert admit_job(lines, "step", GIB)


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_what_is_said_of_such_a_rate_is_what_the_real_fio_makes_of_it(tmp_path: Path) -> None:
    """Of 4000 requests a second that are ordered there are some 470, as many as of the bytes a second that are told."""
    counts = []
    for rate in ("rate_iops=4000", f"rate={4000 * 4096}"):
        job = f"[a]\nioengine=null\nsize=1g\nrw=randread\nbssplit=4k/50:64k/50\n{rate}\ntime_based\nruntime=1\n"
        (tmp_path / "job.fio").write_text(job)
        done = subprocess.run(["fio", "--output-format=json", "job.fio"], cwd=tmp_path, check=True, capture_output=True)
        counts.append(json.loads(done.stdout)["jobs"][0]["read"]["total_ios"])
    assert counts[0] < 1000
    assert counts[0] == pytest.approx(counts[1], rel=0.1)
