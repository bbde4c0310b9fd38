"""Whole numbers of the command line are read as they are written, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cyclopts import App

from cli.test_contract import VERBS, needs_core
from serving import shakedown
from shakedown.cli.command_line import make_app
from shakedown.cli.whole import WHOLE

pytestmark = needs_core


def _with_commands(app: App) -> Iterator[App]:
    yield app
    for name in app:
        if not name.startswith("-"):
            yield from _with_commands(app[name])


def test_no_option_is_left_to_a_reader_that_rounds() -> None:
    found = []
    for app in _with_commands(make_app(called=[verb.split()[0] for verb in VERBS])):
        for argument in app.assemble_argument_collection() if app.default_command else ():
            if "int" in (getattr(argument.hint, "__name__", ""), *str(argument.hint).split(" | ")):
                assert argument.parameter.converter is WHOLE.converter, (app.name, argument.name)
                found.append(argument.name)
    assert {"--seed", "--seeds", "--width", "--replace", "--heads", "--temperature-limit"} <= set(found)


@pytest.mark.parametrize(
    "words",
    [
        ("rebuild", "raid5", "model:wd40efrx", "--width", "4.9"),
        ("rebuild", "raid5", "model:wd40efrx", "--width", "4", "--seeds", "1.9"),
        ("characterize", "model:wd40efax", "--seed", "1.5"),
        ("profiles", "new", "x.toml", "--capacity", "8TB", "--rpm", "7200", "--self-test", "900min", "--heads", "2.5"),
    ],
)
def test_a_fraction_is_not_rounded(words: tuple[str, ...], tmp_path: Path) -> None:
    answer = shakedown(*words, cwd=tmp_path)
    assert answer.returncode == 2
    told = f"error: `{words[-2]} {words[-1]}` is not a whole number\nhint: write it in digits alone\n"
    assert answer.stderr == told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("characterize", "model:wd40efax", "--scale", "1/100"),
        ("serve", "model:wd40efax", "--nbd", "drive.sock"),
        ("run", "cliff", "model:wd40efax"),
        ("rebuild", "raid1", "model:wd40efrx", "--width", "2"),
        ("matrix", "model:wd40efrx"),
        ("lab", "run", "--drive", "model:wd40efax"),
    ],
)
@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_that_no_drive_takes_is_refused_by_every_verb(words: tuple[str, ...], seed: int, tmp_path: Path) -> None:
    answer = shakedown(*words, f"--seed={seed}", *(("--", "true") if words[0] == "lab" else ()), cwd=tmp_path)
    assert (answer.returncode, f"`--seed {seed}` is out of range" in answer.stderr) == (2, True)
    assert "hint: any whole number from 0 to 2^" in answer.stderr
    assert list(tmp_path.iterdir()) == []
