"""One protocol on several targets at once: none stops another, and a Ctrl-C stops all."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from cli.test_real_runs import FOREVER, PROTOCOL, ended, measuring, shorten
from serving import begin, children, shakedown, wait_until
from shakedown.result.folder import read_run

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
NAMES = ("a", "b", "c")
ARGUMENTS = ("run", "./mine.toml", *NAMES, "--size", "16MiB", "--out", "out")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "mine.toml").write_text(PROTOCOL)
    return tmp_path


def fios(pid: int) -> dict[str, int]:
    """The fio of each run below a process, by the name of its target's run."""
    found = {}
    for child, name in children(pid).items():
        if name == "fio":
            found[Path(f"/proc/{child}/cwd").readlink().parent.parent.name] = child
        else:
            found |= fios(child)
    return found


def test_one_fails_the_others_go_on_and_ctrl_c_ends_them_to_be_resumed(here: Path) -> None:
    process = begin(*ARGUMENTS, *FOREVER, "--json", cwd=here)
    wait_until(lambda: all(measuring(here / "out" / name, "long") for name in NAMES), "samples of all", 60)
    os.kill(fios(process.pid)["b"], signal.SIGKILL)
    wait_until(lambda: read_run(here / "out" / "b").record.status == "failed", "the end of one", 60)
    wait_until(lambda: len(children(process.pid)) == 2, "the end of its process", 60)
    sizes = [(here / "out" / name / "samples.spool").stat().st_size for name in "ac"]
    wait_until(
        lambda: all(
            (here / "out" / name / "samples.spool").stat().st_size > size
            for name, size in zip("ac", sizes, strict=True)
        ),
        "more samples of the others",
    )
    process.send_signal(signal.SIGINT)
    told, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    document = json.loads(told)
    assert [each["exit_status"] for each in document["runs"]] == [130, 5, 130]
    assert "b: error: step long on b failed: fio was killed by SIGKILL" in errors
    assert "shakedown run --resume out/a" in errors
    # What was said of progress is said of each.
    assert all(f"{name} short: done" in errors for name in NAMES)
    for name in NAMES:
        assert ended(read_run(here / "out" / name))["short"] == "job-ended"
    shorten(here / "out" / "c")
    done = shakedown("run", "--resume", "out/c", "--quiet", cwd=here)
    assert done.returncode == 3, done.stderr
    assert read_run(here / "out" / "c").record.status == "complete"


def test_none_begins_unless_all_may(here: Path) -> None:
    for name in "ac":
        (here / name).touch()
        os.truncate(here / name, 1 << 20)
    (here / "b").write_bytes(b"somebody's" * 10_000)
    refused = shakedown("run", "./mine.toml", *NAMES, "--out", "out", "--quiet", cwd=here)
    assert refused.returncode == 4
    assert "b holds data that is not Shakedown's" in refused.stderr
    assert not (here / "out").exists()
    assert not any((here / "a").read_bytes())
    (here / "link").symlink_to("b")
    twice = shakedown("run", "./mine.toml", "b", "link", cwd=here)
    assert (twice.returncode, "are the same" in twice.stderr) == (2, True)
    alone = shakedown("run", "./mine.toml", "a", "b", "--baseline", "model:wd40efrx", cwd=here)
    assert (alone.returncode, "on one target" in alone.stderr) == (2, True)
    without = shakedown("run", "./mine.toml", "b", "link", "--baseline", "none", cwd=here)
    assert (without.returncode, "are the same" in without.stderr) == (2, True), "of none there is nothing to refuse"


def test_the_gravest_outcome_is_that_of_all(here: Path) -> None:
    targets = ("model:wd40efrx", "model:wd40efrx")
    done = shakedown("run", "random-1m", *targets, "--scale", "1/1000", "--set", "duration=5s", "--json", cwd=here)
    document = json.loads(done.stdout)
    assert done.returncode == document["exit_status"] == 3
    folders = [each["folder"] for each in document["runs"]]
    assert folders == ["runs/random-1m-wd40efrx", "runs/random-1m-wd40efrx-2"]
    assert all((here / folder / "run.json").exists() for folder in folders)
