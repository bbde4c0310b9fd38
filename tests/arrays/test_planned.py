"""``rebuild --plan`` of modelled drives: what the rebuild refuses has no plan, and what it does not refuse has one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arrays.test_rebuild import IRONWOLF, JOB, RED
from shakedown.cli.rebuild import RebuildOptions
from shakedown.cli.rebuild import rebuild as verb
from shakedown.errors import UsageError

BEHIND = 'format_version = 1\n[[faults]]\nkind = "latent-sectors"\nsectors = [[90000000000, 8]]\nretry_s = 1\n'


@pytest.mark.parametrize(
    ("layout", "options"),
    [
        ("raidz1", {"width": 300}),
        ("draid1", {"width": 300}),
        ("draid2", {"width": 12, "settings": ("draid=4d:11s",)}),
        ("draid2", {"width": 12, "settings": ("draid=0d:1s",)}),
        ("draid2", {"width": 12, "settings": ("draid=4d:1s", "spare=3")}),
        ("raidz2", {"width": 4, "settings": ("second-failure=9@1h",)}),
        ("raidz2", {"width": 4, "settings": ("recordsize=3KiB",)}),
        ("raid6", {"width": 4, "settings": ("chunk=3KiB",)}),
        ("raid1", {"width": 2, "member_size": "0"}),
        ("raid6", {"width": 4, "faults": True}),
        ("raid6", {"width": 4, "load": "[a]\nrw=sideways\n"}),
    ],
)
def test_what_the_rebuild_refuses_has_no_plan(layout: str, options: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "behind.toml").write_text(BEHIND)
    given: dict[str, Any] = {"scale": "1/1000", "seeds": 1, "baseline": "none", "out": tmp_path / "out", **options}
    if "faults" in given:
        given["faults"] = (f"1={tmp_path / 'behind.toml'}",)
    if "load" in given:
        given["load"] = _job(tmp_path, given["load"])
    refused = []
    for plan in (False, True):
        with pytest.raises(UsageError) as error:
            verb(layout, IRONWOLF, options=RebuildOptions(**given, plan=plan))
        refused.append((str(error.value), error.value.hint))
    assert refused[0] == refused[1]


@pytest.mark.parametrize("layout", ["raid6", "raidz2"])
def test_a_plan_rebuilds_nothing(layout: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    given: dict[str, Any] = {"width": 6, "member_size": "3500GiB", "replace_with": RED, "state": "used", "out": out}
    assert verb(layout, IRONWOLF, options=RebuildOptions(**given, load=_job(tmp_path, JOB), plan=True)) == 0
    assert "has room for" in capsys.readouterr().out
    assert not out.exists()


def test_a_draid_without_spares_is_told_how_it_gets_one(tmp_path: Path) -> None:
    for settings in (("spare=0",), ("draid=4d:0s", "spare=0")):
        given: dict[str, Any] = {"width": 12, "settings": settings, "scale": "1/1000", "out": tmp_path / "out"}
        with pytest.raises(UsageError, match="this dRAID has no distributed spare") as error:
            verb("draid2", IRONWOLF, options=RebuildOptions(**given, plan=True))
        assert "`--set draid=8d:1s` makes one" in error.value.hint


def _job(folder: Path, text: str) -> Path:
    path = folder / "users.fio"
    path.write_text(text)
    return path
