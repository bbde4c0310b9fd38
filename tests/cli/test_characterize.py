"""`shakedown characterize` as its users meet it: what it says before, refuses, prints, and how it goes on."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from characterize.blind import small
from serving import shakedown

pytestmark = pytest.mark.skipif(find_spec("shakedown._core") is None, reason="the Rust core is not built")


def test_it_says_in_advance_how_long_a_real_drive_takes_and_what_is_lost(tmp_path: Path) -> None:
    answer = shakedown("characterize", "model:st12000vn0007", "--without-parking", "-o", "twin.toml", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    said = answer.stderr.partition("rotation")[0]
    assert "overwrites about" in said
    assert "on a real drive it takes about 3 minutes if there is no persistent cache" in said
    assert "hours if that is cleaned only when it is nearly full" in said
    assert "not identified, assumed instead:" in answer.stdout
    assert shakedown("run", "cliff", "model:./twin.toml", "--set", "limit=1m", cwd=tmp_path).returncode in (0, 3)


def test_a_file_is_not_overwritten_unasked(tmp_path: Path) -> None:
    (tmp_path / "disk.img").write_bytes(b"precious" * 4096)
    answer = shakedown("characterize", "./disk.img", cwd=tmp_path)
    assert answer.returncode == 4
    assert "--destroy-data-on" in answer.stderr
    assert (tmp_path / "disk.img").read_bytes() == b"precious" * 4096
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "a target must be given"),
        (("model:wd40efx",), "there is no profile named `wd40efx`"),
        (("model:wd40efax", "--resume", "."), "`--resume` goes on with a run as it was ordered"),
        (("--resume", "."), "is no run of characterize: `characterize.json` cannot be read in it: No such file"),
        (("model:wd40efax", "--out", "full"), "`full` exists and is not empty"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "something").touch()
    answer = shakedown("characterize", *arguments, cwd=tmp_path)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert "hint:" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_run_that_was_killed_goes_on_with_what_it_measured(tmp_path: Path) -> None:
    truth = small()
    (tmp_path / "hidden.toml").write_text(truth.toml)
    options = ("--without-parking", "--out", "run", "--json", "--quiet")
    whole = shakedown("characterize", "model:./hidden.toml", *options, cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    logs = sorted((tmp_path / "run" / "logs").iterdir())
    # As if it had been killed while the bands were looked for; the drive is another one, at its beginning.
    kept = next(number for number, log in enumerate(logs) if "bands" in log.name)
    for log in logs[kept + 10 :]:
        log.unlink()
    before = {log: log.stat().st_mtime_ns for log in logs[: kept + 10]}
    again = shakedown("characterize", "--resume", "run", "--json", "--quiet", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert {log: log.stat().st_mtime_ns for log in before} == before
    values = json.loads(again.stdout)["values"]
    for key in ("translation.cache.bytes", "translation.cache.entries", "translation.tracks_per_band"):
        assert values[key]["value"] == pytest.approx(truth.values[key], rel=0.05), key
