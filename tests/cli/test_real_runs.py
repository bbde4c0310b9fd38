"""Runs by the real fio through the command line, and everything that may happen to them."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from serving import begin, children, living, served, shakedown, wait_until
from shakedown.result.folder import Run, read_run

FIO = shutil.which("fio")
pytestmark = pytest.mark.skipif(FIO is None, reason="fio is not installed")

PROTOCOL = """
format_version = 1
name = "mine"
title = "Mine"
question = "Is it?"
uses = ["mdraid"]
[parameters]
long = "1s"
[[steps]]
name = "short"
interval = "100ms"
job = "rw=write\\nbs=64k\\nsize=100%\\nrate_iops=100\\ntime_based\\nruntime=500ms"
[[steps]]
name = "long"
interval = "100ms"
job = "rw=randwrite\\nbs=4k\\nsize=100%\\nrate_iops=100\\ntime_based\\nruntime=${long}"
[[findings]]
kind = "throughput"
step = "long"
"""
ARGUMENTS = ("run", "./mine.toml", "target", "--size", "16MiB", "--out", "out", "--quiet")
FOREVER = ("--set", "long=1h")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "mine.toml").write_text(PROTOCOL)
    return tmp_path


def measuring(run: Path, step: str) -> bool:
    """Whether a step has begun and something of it has been kept."""
    spool = run / "samples.spool"
    return spool.exists() and f'"{step}"' in spool.read_text()


def fio_of(process: subprocess.Popen[str]) -> int:
    """The process id of the fio that a run has started."""
    return next(child for child, name in children(process.pid).items() if name == "fio")


def ended(run: Run) -> dict[str, str]:
    return {step.name: step.ended_because for step in run.record.steps}


def shorten(run: Path) -> None:
    """Let the rest of a run that would last an hour last a second."""
    record = (run / "run.json").read_text()
    (run / "run.json").write_text(record.replace('"long": "1h"', '"long": "1s"'))


def resumed(here: Path) -> Run:
    """Resume the run in ``out``; whatever is left of it must be there once and complete."""
    shorten(here / "out")
    kept = read_run(here / "out").samples.filter(step="short").rows()
    done = shakedown("run", "--resume", "out", "--json", "--quiet", cwd=here)
    assert done.returncode == 3, done.stderr
    assert json.loads(done.stdout)["exit_status"] == 3
    run = read_run(here / "out")
    assert run.record.status == "complete"
    assert set(ended(run).values()) == {"job-ended"}
    assert run.samples.filter(step="short").rows() == kept
    # Of the step that was begun anew nothing of the first attempt counts, and of the second everything.
    assert run.samples.filter(step="long")["count"].sum() == writes_of(run, "long") > 0
    return run


def writes_of(run: Run, step: str) -> int:
    """How many writes fio itself says that it made in the last attempt at a step."""
    (*_, last) = sorted(run.path.glob(f"raw/{step}*/final.json"), key=lambda path: path.stat().st_mtime_ns)
    total: int = json.loads(last.read_text())["jobs"][0]["write"]["total_ios"]
    return total


def fail(process: subprocess.Popen[str], status: int) -> dict[str, str]:
    """Wait for the end; the error of the one document on standard output."""
    out, errors = process.communicate(timeout=60)
    assert process.returncode == status, errors
    document = json.loads(out)
    assert document["exit_status"] == status
    assert document["error"]["message"] in errors
    error: dict[str, str] = document["error"]
    return error


def test_a_killed_fio_fails_the_step_and_the_run_goes_on_later(here: Path) -> None:
    process = begin(*ARGUMENTS, *FOREVER, "--json", cwd=here)
    wait_until(lambda: measuring(here / "out", "long"), "samples")
    os.kill(fio_of(process), signal.SIGKILL)
    error = fail(process, 5)
    assert "step long on target failed: fio was killed by SIGKILL" in error["message"]
    assert "shakedown run --resume out" in error["hint"]
    kept = read_run(here / "out")
    assert (kept.record.status, ended(kept)) == ("failed", {"short": "job-ended", "long": "failed"})
    assert kept.samples.filter(step="long").height > 0
    resumed(here)


def test_ctrl_c_interrupts_and_the_run_goes_on_later(here: Path) -> None:
    process = begin(*ARGUMENTS, *FOREVER, "--json", cwd=here)
    wait_until(lambda: measuring(here / "out", "long"), "samples")
    process.send_signal(signal.SIGINT)
    assert "--resume out" in fail(process, 130)["hint"]
    assert ended(read_run(here / "out")) == {"short": "job-ended", "long": "interrupted"}
    resumed(here)


def test_a_freeze_of_all_is_in_no_row_and_told(here: Path) -> None:
    process = begin(*ARGUMENTS, "--set", "long=8s", cwd=here)
    wait_until(lambda: measuring(here / "out", "long"), "samples")
    fio = fio_of(process)
    time.sleep(1.5)  # in the first second documents wait for each other, and who stands still then may be in no read
    for number, pause_s in ((signal.SIGSTOP, 6), (signal.SIGCONT, 0)):
        # Nobody goes on while another still stands.
        for each in (process.pid, fio):
            os.kill(each, number)
        time.sleep(pause_s)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 3, errors
    run = read_run(here / "out")
    assert run.record.status == "complete"
    assert re.search(r"stood still for [56][. ]", run.record.notes[-1])
    long = run.samples.filter(step="long")
    assert not long.is_empty()
    assert all(each < 3e9 for name in ("duration_ns", "latency_max_ns") for each in long[name].drop_nulls())


def test_a_killed_shakedown_takes_fio_along_and_loses_nothing(here: Path) -> None:
    process = begin(*ARGUMENTS, *FOREVER, cwd=here)
    wait_until(lambda: measuring(here / "out", "long"), "samples")
    fio = fio_of(process)
    process.kill()
    process.communicate()
    wait_until(lambda: not living(fio), "fio's end", 5)
    kept = read_run(here / "out")
    assert (kept.record.status, ended(kept)) == ("running", {"short": "job-ended"})
    assert kept.samples.filter(step="long").height > 0
    assert [json.loads(line)["event"] for line in (here / "out" / "journal").read_text().splitlines()][
        -1
    ] == "step-began"
    run = resumed(here)
    assert (run.path / "raw" / "long-2").is_dir()


def test_a_folder_keeps_its_file_until_the_run_is_complete(here: Path) -> None:
    (here / "target").mkdir()
    process = begin(*ARGUMENTS, *FOREVER, cwd=here)
    wait_until(lambda: measuring(here / "out", "long"), "samples")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert (here / "target" / "shakedown.dat").stat().st_blocks > 0
    resumed(here)
    assert list((here / "target").iterdir()) == []


def test_a_folder_whose_file_is_gone_begins_anew(here: Path) -> None:
    (here / "target").mkdir()
    process = begin(*ARGUMENTS, *FOREVER, cwd=here)
    wait_until(lambda: measuring(here / "out", "long"), "samples")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    (here / "target" / "shakedown.dat").unlink()
    shorten(here / "out")
    done = shakedown("run", "--resume", "out", "--quiet", cwd=here)
    assert done.returncode == 3, done.stderr
    assert (here / "out" / "raw" / "short-2").is_dir()
    assert list((here / "target").iterdir()) == []


def test_ctrl_c_during_the_baseline(here: Path) -> None:
    process = begin(*ARGUMENTS, *FOREVER, "--baseline", "other", "--json", cwd=here)
    wait_until(lambda: measuring(here / "out" / "baseline", "long"), "samples of the baseline")
    process.send_signal(signal.SIGINT)
    fail(process, 130)
    assert read_run(here / "out").record.steps == ()
    shorten(here / "out")
    shorten(here / "out" / "baseline")
    done = shakedown("run", "--resume", "out", "--json", "--quiet", cwd=here)
    document = json.loads(done.stdout)
    assert document["baseline"]["status"] == document["run"]["status"] == "complete"
    kinds = [finding["kind"] for finding in document["run"]["findings"]]
    assert kinds[:2] == ["throughput", "throughput-ratio"]
    assert set(kinds[2:]) == {"worst-latency", "worst-latency-ratio"}
    assert done.returncode == document["exit_status"]


BAD_FIO = """#!/bin/sh
case "$*" in *--version*|*--enghelp*|*--parse-only*) exec {fio} "$@";; esac
{deed}
"""


@pytest.mark.parametrize(
    ("deed", "complaint"),
    [
        ("echo some garbage; exit 0", "without a result: some garbage"),
        ("printf '{\\n  \"jobs\": [\\n'", "its output broken off or garbage"),
        ("kill -SEGV $$", "was killed by SIGSEGV"),
        ("echo 'no such engine' >&2; exit 7", "exit status 7 without a result: no such engine"),
    ],
)
def test_a_fio_that_is_none_fails_the_step(here: Path, deed: str, complaint: str) -> None:
    (here / "bin").mkdir()
    fio = here / "bin" / "fio"
    fio.write_text(BAD_FIO.format(fio=FIO, deed=deed))
    fio.chmod(0o755)
    path = f"{fio.parent}:{os.environ['PATH']}"
    done = shakedown(*ARGUMENTS, "--json", cwd=here, PATH=path)
    assert done.returncode == 5
    assert complaint in json.loads(done.stdout)["error"]["message"]
    assert ended(read_run(here / "out")) == {"short": "failed", "long": "skipped"}
    resumed_from_the_start = shakedown("run", "--resume", "out", "--quiet", cwd=here)
    assert resumed_from_the_start.returncode == 3, resumed_from_the_start.stderr


def test_without_fio_nothing_begins(here: Path) -> None:
    done = shakedown(*ARGUMENTS, "--json", cwd=here, PATH=str(here))
    assert done.returncode == 5
    assert "`fio` is not installed" in json.loads(done.stdout)["error"]["message"]
    assert [path.name for path in here.iterdir()] == ["mine.toml"]


def test_a_server_that_dies_fails_the_step(here: Path) -> None:
    with served("model:wd40efrx", here, scale="1/10000") as server:
        arguments = ("run", "./mine.toml", server.uri, *FOREVER, "--out", "out", "--quiet", "--json")
        process = begin(*arguments, cwd=here)
        wait_until(lambda: measuring(here / "out", "long"), "samples")
        server.process.kill()
        error = fail(process, 5)
    assert "no NBD server answers" in error["message"]
    kept = read_run(here / "out")
    assert (kept.record.status, kept.record.verdict, ended(kept)["long"]) == ("failed", None, "failed")
    assert kept.samples.filter(step="long").height > 0


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "none", place], capture_output=True, check=False
    ).returncode:
        pytest.skip("nothing can be mounted here")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_full_disk_under_the_run_is_told(here: Path, small: Path) -> None:
    arguments = ("run", "./mine.toml", "target", "--size", "16MiB", *FOREVER, "--quiet", "--json")
    process = begin(*arguments, "--out", small / "out", cwd=here)
    wait_until(lambda: measuring(small / "out", "long"), "samples")
    with (small / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError, match="No space"):
        while True:
            filler.write(bytes(4096))
    assert "No space left on device" in fail(process, 5)["message"]
    assert read_run(small / "out").samples.filter(step="short").height > 0


def test_every_verdict_is_an_exit_status(here: Path) -> None:
    judged = ("run", "sequential-32k", "--baseline", "model:wd40efrx", "--quiet", "--set")
    assert shakedown(*judged, "amount=38g", "model:wd40efrx", cwd=here).returncode == 0
    assert shakedown(*judged, "amount=4g", "model:wd40efrx", cwd=here).returncode == 3
    assert shakedown(*judged, "amount=4g", "model:wd40efax", cwd=here).returncode == 1
    assert shakedown(*judged, "amount=4g", "model:wd40efax", "--scale", "1/10", cwd=here).returncode == 3
    # 25 GiB, again and again to the same place: that tells no more than one.
    over_again = ("run", "random-1m", "--baseline", "model:wd40efrx", "--quiet", "--set", "span=1g", "model:wd40efrx")
    assert shakedown(*over_again, cwd=here).returncode == 3
