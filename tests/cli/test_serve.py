"""What ``serve`` says of the drive that it serves."""

from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

import pytest

from cli.test_contract import needs_core
from shakedown.data import profile_path
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
    monkeypatch.setattr(verb, "_serve", lambda _path, _divisor, _options, announce: announce())
    options = verb.ServeOptions(nbd=tmp_path / "drive.sock", scale=scale, json=True)
    verb.serve("model:./twin.toml", options=options)
    assert told in capsys.readouterr().err
