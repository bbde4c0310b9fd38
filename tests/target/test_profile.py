"""Profiles of one's own: what is wrong is told with the file, the key and what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shakedown import Drive
from shakedown.data import profile_path
from shakedown.errors import UsageError
from shakedown.target.open import open_target
from shakedown.target.profile import read_profile


def refusal(path: Path) -> UsageError:
    with pytest.raises(UsageError) as caught:
        open_target(f"model:{path}", seed=1, raw=path.parent / "raw")
    assert str(caught.value).removeprefix("`").startswith(f"{path}")
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize("kind", ["published", "fitted R011 and"])
def test_an_origin_names_rows_that_exist(kind: str, tmp_path: Path) -> None:
    text = read_profile(profile_path("wd40efax"))
    line = next(line for line in text.splitlines() if line.startswith("rpm ="))
    path = tmp_path / "mine.toml"
    for row, exists in (("R088", True), ("R999", False)):
        mine = text.replace(line, f'rpm = {{ value = 5400, origin = "{kind} {row}" }}')
        path.write_text(mine)
        if exists:
            assert read_profile(path) == mine
        else:
            assert "`geometry.rpm` has no usable origin: reference/published.csv has no row R999" in str(refusal(path))
            with pytest.raises(UsageError, match="no row R999"):
                Drive.from_toml(mine, seed=1)


def test_a_binary_file_is_told_as_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\x7fELF\xff\xfe")
    assert str(refusal(path)) == f"`{path}` is not UTF-8 text"


def test_a_row_of_thousands_of_digits_is_told_shortly(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = read_profile(profile_path("wd40efax"))
    path.write_text(text.replace('origin = "published R', f'origin = "fitted R011 and R{"9" * 100_000}', 1))
    assert len(str(refusal(path))) < 300


def test_a_slip_in_a_key_is_answered_with_what_was_meant(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(read_profile(profile_path("wd40efax")).replace("rpm =", "rpmm ="))
    assert str(refusal(path)) == f"{path}: `geometry.rpmm` is not a known key; did you mean `rpm`? (line 14)"


def test_what_the_core_refuses_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = profile_path("st12000vn0007").read_text()
    line = next(number for number, each in enumerate(text.splitlines(), 1) if each.startswith("rpm ="))
    path.write_text(re.sub(r"rpm = \{ value = \d+", "rpm = { value = 10", text))
    assert str(refusal(path)).endswith(f"(line {line})")
    assert "`geometry.rpm` is 10: a drive must turn, 1000..30000 times a minute" in str(refusal(path))
