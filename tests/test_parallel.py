"""Work over all cores ends with whoever ordered it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import as_completed
from pathlib import Path

import pytest

from shakedown.parallel import on_every_core

KILLED = """
import os, sys, time
from pathlib import Path
from shakedown.parallel import on_every_core

def work(folder):
    Path(folder, str(os.getpid())).touch()
    time.sleep(600)

if __name__ == "__main__":
    with on_every_core(work, [(sys.argv[1],)] * 2) as pending:
        pending[0].result()
"""


def test_every_order_is_answered_in_its_place() -> None:
    with on_every_core(pow, [(base, 2) for base in range(8)]) as pending:
        assert {each.result() for each in as_completed(pending)} == {0, 1, 4, 9, 16, 25, 36, 49}
        assert [each.result() for each in pending] == [0, 1, 4, 9, 16, 25, 36, 49]


def test_what_a_worker_raises_comes_through() -> None:
    with pytest.raises(ZeroDivisionError), on_every_core(divmod, [(1, 0)]) as pending:
        pending[0].result()


def test_cores_that_we_may_not_use_are_left_alone() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        with on_every_core(worker, [(each,) for each in range(4)]) as pending:
            assert len({each.result() for each in pending}) == 1
    finally:
        os.sched_setaffinity(0, allowed)


def worker(_: int) -> int:
    time.sleep(0.05)
    return os.getpid()


def test_killed_it_leaves_nobody_behind(tmp_path: Path) -> None:
    script, workers = tmp_path / "killed.py", tmp_path / "workers"
    script.write_text(KILLED)
    workers.mkdir()
    parent = subprocess.Popen([sys.executable, str(script), str(workers)], stderr=subprocess.PIPE, text=True)
    _wait(lambda: any(workers.iterdir()))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    _wait(lambda: all(_has_ended(each.name) for each in workers.iterdir()))
    assert parent.stderr is not None
    assert parent.stderr.read() == ""  # until the last of them has closed it


STUBBORN = """
import os, signal, sys, time
from pathlib import Path
from shakedown.parallel import on_every_core

def work(folder):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path(folder, str(os.getpid())).touch()
    time.sleep(600)

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with on_every_core(work, [(sys.argv[1],)] * 2) as pending:
            pending[0].result()
    except KeyboardInterrupt:
        sys.exit(130)
"""


def test_who_would_rather_end_his_work_first_is_not_waited_for(tmp_path: Path) -> None:
    """As a run does, which ends its step when it is terminated."""
    script, workers = tmp_path / "stubborn.py", tmp_path / "workers"
    script.write_text(STUBBORN)
    workers.mkdir()
    parent = subprocess.Popen([sys.executable, str(script), str(workers)])
    try:
        _wait(lambda: any(workers.iterdir()))
        parent.send_signal(signal.SIGINT)
        assert parent.wait(timeout=60) == 130
    finally:
        parent.kill()


def test_a_second_ctrl_c_does_not_cut_short_how_the_first_ends_it() -> None:
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)
    went_on = False
    try:
        with pytest.raises(KeyboardInterrupt), on_every_core(time.sleep, [(600,)]):
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                os.kill(os.getpid(), signal.SIGINT)
                went_on = True
                raise
        assert went_on
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, kept)


def _has_ended(pid: str) -> bool:
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _wait(condition: object) -> None:
    assert callable(condition)
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)
