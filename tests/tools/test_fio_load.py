import errno
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from shakedown.errors import EnvironmentFailure
from shakedown.sample import Sample
from shakedown.tools.fio.command import render_job, run_command
from shakedown.tools.fio.job import Option, parse_job
from shakedown.tools.fio.load import FioLoad, Patience, Plan
from shakedown.tools.fio.locate import Fio, locate_fio
from shakedown.tools.fio.process import Child
from shakedown.tools.fio.raw import Raw, new_folder
from shakedown.units import NS_PER_S

MakeFio = Callable[[str], Fio]
NULL_JOB = "rw=randread\nbs=4k\nsize=1g\nrate_iops=1000\ntime_based\nruntime=60s\n"
SHORT = Patience(silence_ns=NS_PER_S, asked_ns=NS_PER_S // 2, told_ns=NS_PER_S // 2)


def begin(fio: Fio, folder: Path, job: str = NULL_JOB, patience: Patience = SHORT) -> FioLoad:
    extra = (Option("ioengine", "null"), Option("thread", "1"))
    with ExitStack() as belongings:
        folder = new_folder(folder, "step")
        command = run_command(fio, folder / "job.fio", NS_PER_S // 5, read_only=True)
        raw = belongings.enter_context(Raw(folder, render_job(parse_job(job, "step"), extra), command))
        plan = Plan(command, (), "step", ("read",), NS_PER_S // 5, patience)
        return FioLoad(plan, raw, time.monotonic_ns, belongings)


def outcome(load: FioLoad) -> tuple[list[Sample], str]:
    """All that was measured, and how it failed (empty: it did not)."""
    samples: list[Sample] = []
    with load:
        try:
            for batch in load:
                samples += batch
        except EnvironmentFailure as error:
            return samples, str(error)
    return samples, ""


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def kept(folder: Path) -> list[Any]:
    text = gzip.decompress((folder / "step" / "status.jsonl.gz").read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(
    ("scene", "measured", "problem"),
    [
        ("say('what?\\n' * 5)", 0, "without a result"),
        ("say(document(7)); sys.exit(0)", 7, ""),
        ("say('{\\n nonsense\\n}\\n'); say(document(7))", 7, ""),
        ("say(document(7)); say('{\\n \"jobs\": [\\n')", 7, "broken off"),
        ("say(document(7)); say('\\x00\\xff{{{\\n}\\n')", 7, ""),
        ("say(document(7)); os.kill(os.getpid(), signal.SIGKILL)", 7, "SIGKILL"),
        ("say(document(7)); say(document(9)[:50]); os.kill(os.getpid(), signal.SIGSEGV)", 7, "SIGSEGV"),
        ("say(document(7)); sys.stderr.write('out of memory'); sys.exit(1)", 7, "out of memory"),
        ("sys.exit(3)", 0, "exit status 3"),
        ("say(document(7)); time.sleep(60)", 7, "printed nothing for 1 s"),
        ("say(document(7))\nwhile True: say('more noise\\n'); time.sleep(0.01)", 7, "printed nothing for 1 s"),
    ],
)
def test_a_failing_fio_keeps_what_was_measured(
    fake_fio: MakeFio, tmp_path: Path, scene: str, measured: int, problem: str
) -> None:
    samples, message = outcome(begin(fake_fio(scene), tmp_path / "raw"))
    assert sum(sample.count for sample in samples) == measured
    assert (problem in message) if problem else (message == "")


def test_favours_that_the_system_refuses_are_done_without(
    fake_fio: MakeFio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("shakedown.tools.fio.process.fcntl.fcntl", refuse)
    monkeypatch.setattr("shakedown.tools.fio.process.os.sched_setscheduler", refuse)
    samples, message = outcome(begin(fake_fio("say(document(7))"), tmp_path))
    assert (sum(sample.count for sample in samples), message) == (7, "")


def test_an_io_error_is_a_result_of_the_step(fake_fio: MakeFio, tmp_path: Path) -> None:
    load = begin(fake_fio("say(document(7)); say(document(8, error=5, eta=0)); sys.exit(1)"), tmp_path)
    samples, message = outcome(load)
    assert message == ""
    assert load.error is not None
    assert "Input/output error (errno 5)" in load.error
    assert sum(sample.count for sample in samples) == 8


def test_a_fio_that_ignores_a_request_to_end_is_killed(fake_fio: MakeFio, tmp_path: Path) -> None:
    scene = (
        "for s in (signal.SIGINT, signal.SIGTERM): signal.signal(s, signal.SIG_IGN)\n"
        "say(document(7))\nwhile True: time.sleep(0.1); say(document(7))"
    )
    load = begin(fake_fio(scene), tmp_path)
    with load, pytest.raises(EnvironmentFailure, match="did not end within"):
        for batch in load:
            if batch:
                load.stop()
    assert not alive(load._child.pid)


def test_leaving_in_the_middle_leaves_nothing_running(fake_fio: MakeFio, tmp_path: Path) -> None:
    scene = "import subprocess\nsubprocess.Popen(['sleep', '1000'])\nsay(document(7))\ntime.sleep(1000)"
    with begin(fake_fio(scene), tmp_path) as load:
        next(iter(load))
        group = load._child.pid
    deadline = time.monotonic() + 5
    while (left := _members(group)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


def _members(group: int) -> list[str]:
    """Processes of a group that are not just waiting to be reaped."""
    stats = [_stat(each) for each in Path("/proc").glob("[0-9]*/stat")]
    return [stat for stat in stats if stat and stat.split(")")[-1].split()[2] == str(group) and ") Z" not in stat]


def _stat(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def test_fio_dies_with_us(tmp_path: Path) -> None:
    """A killed Shakedown cannot clean up: the kernel does."""
    code = (
        "import time; from pathlib import Path; from shakedown.tools.fio.process import Child\n"
        f"print(Child(['sleep', '1000'], Path({str(tmp_path)!r})).pid, flush=True); time.sleep(1000)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.kill()
    deadline = time.monotonic() + 5
    while alive(pid) and ") Z" not in _stat(Path(f"/proc/{pid}/stat")) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(pid) or ") Z" in _stat(Path(f"/proc/{pid}/stat"))


def test_real_fio_is_followed_and_stopped(tmp_path: Path) -> None:
    load = begin(locate_fio(), tmp_path, patience=Patience())
    samples: list[Sample] = []
    with load:
        for batch in load:
            samples += batch
            if len(samples) >= 5:
                load.stop()
    assert load.error is None
    whole = [sample for sample in samples if 100_000_000 < sample.duration_ns < 400_000_000]
    assert len(whole) >= 3
    assert all(sample.iops == pytest.approx(1000, rel=0.25) for sample in whole[1:])
    assert all(earlier.start_ns + earlier.duration_ns == later.start_ns for earlier, later in pairwise(samples))
    for sample in filter(lambda each: each.count, samples):
        told = (sample.latency_p50_ns, sample.latency_p99_ns, sample.latency_p999_ns, sample.latency_max_ns)
        latencies = [each for each in told if each is not None]
        assert len(latencies) == 4
        assert latencies == sorted(latencies)
    # A document that brings nothing new, as the last one may, is no row: each request is in one.
    documents = kept(tmp_path)
    assert len(documents) >= len(samples)
    assert sum(sample.count for sample in samples) == documents[-1]["jobs"][0]["read"]["total_ios"]
    assert {each.name for each in (tmp_path / "step").iterdir()} == {
        "job.fio",
        "command.txt",
        "stderr.txt",
        "status.jsonl.gz",
        "final.json",
    }


def test_real_fio_killed_in_mid_run(tmp_path: Path) -> None:
    load = begin(locate_fio(), tmp_path, patience=Patience())
    measured = 0
    with load, pytest.raises(EnvironmentFailure, match="SIGKILL"):
        for batch in load:
            measured += sum(sample.count for sample in batch)
            if measured:
                os.kill(load._child.pid, signal.SIGKILL)
    assert measured > 0


def test_sections_behind_stonewalls_and_several_jobs_are_one_row_a_direction(tmp_path: Path) -> None:
    job = (
        "[global]\nbs=4k\nsize=1g\nrate_iops=500\ntime_based\nruntime=700ms\n"
        "[a]\nrw=randread\nnumjobs=2\n[b]\nstonewall\nrw=read\n"
    )
    load = begin(locate_fio(), tmp_path, job, Patience())
    samples, message = outcome(load)
    assert message == ""
    assert {sample.direction for sample in samples} == {"read"}
    assert sum(sample.count for sample in samples) == pytest.approx(2 * 350 + 350, rel=0.1)


def test_a_step_that_is_run_again_gets_a_folder_of_its_own(tmp_path: Path) -> None:
    assert [new_folder(tmp_path, "a").name for _ in range(3)] == ["a", "a-2", "a-3"]


def test_a_missing_fio_is_told_how_to_get(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="not installed") as caught:
        locate_fio(tmp_path / "fio")
    assert "apt install fio" in caught.value.hint


def test_another_program_is_not_taken_for_fio(fake_fio: MakeFio) -> None:
    with pytest.raises(EnvironmentFailure, match="does not answer like fio"):
        locate_fio(fake_fio("say('GNU coreutils 9')").path)
    with pytest.raises(EnvironmentFailure, match="too old"):
        locate_fio(fake_fio("say('fio-2.99')").path)


def test_fio_is_asked_about_itself_once_and_again_if_it_is_replaced(fake_fio: MakeFio, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    scene = f"open({str(asked)!r}, 'a').write('?'); say('fio-3.{{}}')"
    path = fake_fio(scene.format(33)).path
    assert [locate_fio(path).version for _ in range(3)] == ["3.33"] * 3
    assert asked.read_text() == "??", "its version and its engines"
    os.utime(fake_fio(scene.format(34)).path, ns=(0, path.stat().st_mtime_ns + 1))
    assert locate_fio(path).version == "3.34"


def contiguous(samples: list[Sample]) -> bool:
    """Whether each row begins where the one before ended."""
    return all(one.start_ns + one.duration_ns == next_.start_ns for one, next_ in pairwise(samples))


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_a_pause_is_in_no_row_and_in_no_latency(tmp_path: Path) -> None:
    samples: list[Sample] = []
    job = "rw=randread\nbs=4k\nsize=1g\nrate_iops=100\nnumber_ios=200\n"
    with begin(locate_fio("fio"), tmp_path / "raw", job, Patience()) as load:
        paused_s: float | None = None
        for batch in load:
            samples += batch
            if len(samples) >= 3 and paused_s is None:
                load.pause()
                paused_s = time.monotonic()
            if paused_s is not None and time.monotonic() - paused_s > 1.5:
                load.go_on()
    assert load.frozen_ns == 0
    assert contiguous(samples)
    # What was asked for has been done, to the last request.
    assert sum(sample.count for sample in samples) == 200
    assert sum(sample.duration_ns for sample in samples) < time.monotonic_ns()
    timed = [sample for sample in samples if sample.latency_max_ns is not None]
    untimed = [sample for sample in samples if sample.count and sample.latency_mean_ns is None]
    assert len(timed) >= 3
    assert len(untimed) in (1, 2)
    assert max(sample.latency_max_ns or 0 for sample in timed) < 1.5 * NS_PER_S


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
@pytest.mark.parametrize("step_s", [3600, -3600])
def test_a_clock_that_is_set_moves_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step_s: int) -> None:
    true_ns = time.time_ns
    samples: list[Sample] = []
    job = "rw=randread\nbs=4k\nsize=1g\nrate_iops=100\ntime_based\nruntime=2s\n"
    with begin(locate_fio("fio"), tmp_path / "raw", job, Patience()) as load:
        for batch in load:
            samples += batch
            if len(samples) == 3:
                monkeypatch.setattr(time, "time_ns", lambda: true_ns() + step_s * NS_PER_S)
    assert contiguous(samples)
    assert len(samples) >= 8
    assert max(sample.duration_ns for sample in samples) < 1.5 * NS_PER_S
    assert min(sample.duration_ns for sample in samples[:-1]) > 0


@pytest.mark.skipif(not hasattr(os, "sched_setscheduler"), reason="a system with other rules for its processor")
def test_who_reads_lets_fio_go_first_and_only_as_long_as_it_reads(tmp_path: Path) -> None:
    def rules(*pids: int) -> list[int]:
        return [os.sched_getscheduler(pid) for pid in pids]

    before = rules(0)
    for _ in range(2):
        child = Child(["sleep", "1000"], tmp_path)
        assert rules(0, child.pid) == [os.SCHED_BATCH, os.SCHED_OTHER]
        child.close()
        assert rules(0) == before == [os.SCHED_OTHER]


@pytest.mark.skipif(not hasattr(os, "sched_setscheduler"), reason="a system with other rules for its processor")
def test_a_fio_that_cannot_be_ended_takes_none_of_our_rules_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = Child(["sleep", "1000"], tmp_path)
    with monkeypatch.context() as stuck:
        stuck.setattr(Child, "signal", lambda *_: None)
        stuck.setattr("shakedown.tools.fio.process._REAP_LIMIT_S", 0.01)
        with pytest.raises(EnvironmentFailure, match="stuck in the kernel"):
            child.close()
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
    child.close()


def test_a_folder_that_may_not_be_written_to_is_not_told_as_full(tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(b"")
    with pytest.raises(EnvironmentFailure, match="could not be written: Not a directory") as failed:
        new_folder(tmp_path / "raw", "cliff")
    assert "space" not in failed.value.hint
