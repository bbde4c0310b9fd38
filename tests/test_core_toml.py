"""TOML as the core reads it, which is how all of Shakedown reads it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import shakedown
from shakedown import UsageError, _core
from shakedown.data import profile_path
from shakedown.lab.faults import faults_by_drive
from shakedown.target.model import ModelArena

PLAIN = re.compile(r'rpm = \{ value = (.*?), origin = "(.*?)" \}')
NEWER = [
    PLAIN.sub(r'rpm = { value = \1, origin = "\2", }', text := profile_path("st12000vn0007").read_text()),
    PLAIN.sub(r'rpm = {\n  # A comment.\n  value = \1,\n  origin = "\2"\n}', text),
    PLAIN.sub(r'rpm = { value = \1, origin = "assumed: \\x41" }', text),
    "\ufeff" + text,
]


def test_tables_are_pythons_own() -> None:
    text = 'a = [1, 2.5, true, "x"]\nb = { c = [{ d = -1 }] }\n[e]\nf = """\ng"""\n'
    assert _core.parse_toml(text) == tomllib.loads(text)
    assert _core.parse_toml("a = 2026-01-31") == {"a": "2026-01-31"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\n\u00e4 = 2", r"invalid unquoted key, .* \(at line 2, column 1\)"),
        ("a = [", r"unclosed array, expected `\]` \(at line 1, column 6\)"),
        ("a = " + "[" * 100_000, r"max recursion depth met \(at line 1, column \d+\)"),
        ("a = 9223372036854775808", r"a whole number of more than 63 bits \(at line 1, column 5\)"),
    ],
)
def test_what_is_none_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(_core.TomlError, match=message):
        _core.parse_toml(text)
    with pytest.raises(ValueError, match="TOML"):
        _core.Machine(text, seed=1)


@pytest.mark.parametrize("text", NEWER)
def test_what_the_core_takes_for_a_profile_is_one_everywhere(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    assert ModelArena(f"model:{path}", seed=1, scale_divisor=1000).identity.shingled is False
    drive = shakedown.Drive.build(str(path), {"name": "other"}, seed=1)
    assert drive.profile["geometry"]["rpm"]["value"] == 7200


def test_faults_are_read_as_the_core_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "faults.toml"
    path.write_text('\ufeffformat_version = 1\nfaults = [\n  { kind = "stall", from_s = 1, for_s = 2, },\n]\n')
    assert "stall" in faults_by_drive([str(path)], 1)[0]
    for content in ("faults = [", "a = 99999999999999999999"):
        path.write_text(content)
        with pytest.raises(UsageError, match=r"faults.toml` cannot be read: .*line 1"):
            faults_by_drive([str(path)], 1)
