"""The lab's core, asked directly: nonsense is an exception that says what is wrong, never a panic and never a hang."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from shakedown import _core
from shakedown.data import profile_path


def drive(**changed: object) -> _core.LabDrive:
    order = {
        "profile_toml": profile_path("wd40efrx").read_text(encoding="utf-8"),
        "seed": 1,
        "scale_divisor": 1000,
        "front": "scsi",
        "serial": "",
        "store_path": None,
        "faults_toml": "",
    }
    return order | changed  # type: ignore[return-value]


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """One that is no guest and lives until it is ended."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


@pytest.mark.parametrize(
    ("changed", "kind", "says"),
    [
        ({"profile_toml": ""}, _core.ProfileError, "missing"),
        ({"profile_toml": "nonsense"}, _core.ProfileError, None),
        ({"scale_divisor": 0}, _core.ProfileError, "divided by 1 or more"),
        ({"scale_divisor": 4_000_000_000}, _core.ProfileError, None),
        ({"front": "ide"}, ValueError, 'front is "ide": "scsi" or "blk" is expected'),
        ({"faults_toml": "[[fault]]"}, ValueError, "`fault` is not a known key"),
        ({"store_path": "/dev/null"}, OSError, "not a regular file"),
        ({"store_path": "/nowhere/store"}, OSError, "/nowhere/store"),
        ({"seed": -1}, (OverflowError, TypeError), None),
        ({"serial": 7}, TypeError, "serial"),
    ],
)
def test_a_drive_that_cannot_be(
    tmp_path: Path, changed: dict[str, object], kind: type[Exception], says: str | None
) -> None:
    with pytest.raises(kind, match=says):
        _core.Lab(str(tmp_path), [drive(**changed)])
    assert list(tmp_path.iterdir()) == [], "no socket is left"


def test_a_place_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="cannot listen"):
        _core.Lab(str(tmp_path / "nowhere"), [])
    with pytest.raises(OSError, match="cannot listen"):
        _core.Lab(f"{tmp_path}/{'long' * 40}", [])
    with pytest.raises(OSError, match="list of requests"):
        _core.Lab(str(tmp_path), [], trace_path="/nowhere/trace")
    theirs, link = tmp_path / "theirs", tmp_path / "link"
    theirs.write_text("kept")
    link.symlink_to(theirs)
    for place in (theirs, link, Path("/dev/null")):
        with pytest.raises(OSError, match="list of requests"):
            _core.Lab(str(tmp_path), [], trace_path=str(place))
    assert theirs.read_text() == "kept"
    twice = drive(store_path=str(tmp_path / "store"))
    with pytest.raises(OSError, match="served already"):
        _core.Lab(str(tmp_path), [twice, twice])


def test_times_that_cannot_be(tmp_path: Path, process: subprocess.Popen[bytes]) -> None:
    lab = _core.Lab(str(tmp_path), [drive()])
    for limit in (-1.0, float("nan"), float("inf"), 1e300):
        with pytest.raises(ValueError, match="positive time"):
            lab.run(process.pid, wall_limit_s=limit)
    lab.power_cycle(off_ns=10**9)
    for off_ns in (2**63, 2**64 - 1):
        with pytest.raises(ValueError, match="hundred years"):
            lab.power_cycle(off_ns=off_ns)
    assert lab.now_ns == 10**9, "what was refused has not happened"


def test_a_guest_that_cannot_be(tmp_path: Path, process: subprocess.Popen[bytes]) -> None:
    lab = _core.Lab(str(tmp_path), [drive()])
    for pid in (0, -1, -process.pid, 2**31 - 1):
        with pytest.raises(OSError):
            lab.run(pid)
    with pytest.raises(OSError, match="stay on one processor"):
        lab.run(process.pid, pin_cpu=10**6)
    silent = lab.run(process.pid, stall_limit_s=0.2)
    assert (silent["outcome"], silent["virtual_ns"], silent["boot_wall_ns"]) == ("hangs", 0, None)
    process.kill()
    assert lab.run(process.pid)["outcome"] == "ended"


@contextmanager
def silent_guest(script: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["bash", "-c", script], start_new_session=True) as guest:
        try:
            yield guest
        finally:
            with suppress(ProcessLookupError):
                os.killpg(guest.pid, signal.SIGKILL)


def test_a_guest_that_loops_is_told_from_one_that_hangs(tmp_path: Path) -> None:
    lab = _core.Lab(str(tmp_path), [drive()])
    with silent_guest("while :; do :; done & wait") as looping:
        assert lab.run(looping.pid, stall_limit_s=0.5)["outcome"] == "loops"
    with silent_guest("sleep 1000 & wait") as hanging:
        assert lab.run(hanging.pid, stall_limit_s=0.5)["outcome"] == "hangs"


def test_a_guest_that_does_not_get_its_turn_is_waited_for(tmp_path: Path) -> None:
    lab = _core.Lab(str(tmp_path), [drive()])
    # One that is stopped is as one that never gets a processor, but for sure.
    with silent_guest("kill -STOP $$; kill -KILL $$") as starved:
        go_on = threading.Timer(3.0, os.kill, (starved.pid, signal.SIGCONT))
        go_on.start()
        began_s = time.monotonic()
        assert lab.run(starved.pid, stall_limit_s=0.5)["outcome"] == "ended"
        assert time.monotonic() - began_s > 2.5


def test_who_asks_while_it_runs_is_told_so(tmp_path: Path, process: subprocess.Popen[bytes]) -> None:
    lab = _core.Lab(str(tmp_path), [drive()])
    questions: list[Callable[[], object]] = [
        lambda: lab.now_ns,
        lambda: lab.drives,
        lambda: lab.kernel_arguments,
        lambda: lab.power_cycle(off_ns=1),
        lambda: lab.run(process.pid),
    ]
    for ask in questions:
        with pytest.raises(_core.LabError, match="serves a guest"):
            lab.run(process.pid, on_tick=ask, stall_limit_s=10)
    assert lab.now_ns == 0
