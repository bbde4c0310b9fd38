"""What ``serve`` says of the drive that it serves."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

import pytest

from cli.test_contract import needs_core
from serving import shakedown
from shakedown.data import profile_path
from shakedown.device.nbd import NbdAddress, parse_nbd_uri
from shakedown.result.part import part_model

pytestmark = needs_core


@pytest.mark.parametrize(
    ("part", "scale", "told"),
    [(1, "1", "model:./twin.toml at nbd"), (100, "1", "at 1/100 of its size"), (100, "1/10", "at 1/1000 of its size")],
)
def test_a_twin_of_a_part_is_announced_as_one(
    part: int,
    scale: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    verb = import_module("shakedown.cli.serve")
    whole = profile_path("wd40efrx").read_text(encoding="utf-8")
    (tmp_path / "twin.toml").write_text(whole.replace("WD40EFRX-68N32N0", part_model("WD40EFRX-68N32N0", part)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(verb, "keep_in_memory", lambda: None)
    monkeypatch.setattr(verb, "ahead_of_others", lambda: nullcontext(True))
    monkeypatch.setattr(verb, "_serve", lambda *words: words[-1]())
    options = verb.ServeOptions(nbd=tmp_path / "drive.sock", scale=scale, json=True)
    verb.serve("model:./twin.toml", options=options)
    assert told in capsys.readouterr().err


def test_the_line_to_try_has_an_address_that_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    verb = import_module("shakedown.cli.serve")
    monkeypatch.setattr(verb, "keep_in_memory", lambda: None)
    monkeypatch.setattr(verb, "ahead_of_others", lambda: nullcontext(True))
    monkeypatch.setattr(verb, "_serve", lambda *words: words[-1]())
    place = tmp_path / "a drive&more.sock"
    verb.serve("model:wd40efrx", options=verb.ServeOptions(nbd=place, json=True))
    tried = next(line for line in capsys.readouterr().err.splitlines() if line.startswith("try: "))
    (uri,) = (word.removeprefix("--uri=") for word in shlex.split(tried) if word.startswith("--uri="))
    assert parse_nbd_uri(uri) == NbdAddress(str(place), "")


@pytest.mark.parametrize(
    ("text", "told"), [("not toml [", "twin.toml: "), ('name = "x"\n', "twin.toml: "), ("title = 3\n", "twin.toml: ")]
)
def test_what_is_no_profile_is_told(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "twin.toml").write_text(text)
    answer = shakedown("serve", "model:./twin.toml", "--nbd", "drive.sock", cwd=tmp_path)
    assert answer.returncode == 2
    assert told in answer.stderr
