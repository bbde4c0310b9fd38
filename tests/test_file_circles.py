"""The law that no two files of a crate need each other is kept, and catches whoever breaks it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from check_file_circles import circle

ROOT = Path(__file__).resolve().parent.parent


def test_it_is_kept() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "check_file_circles.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


LINES = ["use crate::one::One;", "use super::{one::{self, One}, four};", "type A = super::one::One;"]


def source(folder: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("line", LINES)
def test_a_planted_circle_is_caught(line: str, tmp_path: Path) -> None:
    texts = {"one.rs": "use crate::two::Two;", "two.rs": "use super::three::Three;", "three.rs": line}
    found = circle(source(tmp_path, texts))
    assert "one.rs needs two.rs needs three.rs needs one.rs" in " needs ".join(found + found[1:] + found[1:])


def test_a_circle_into_a_folder_is_caught(tmp_path: Path) -> None:
    texts = {"one.rs": "use crate::part::inner::Inner;", "part/inner.rs": "use super::super::one::One;"}
    assert set(circle(source(tmp_path, texts))) == set(texts)


def test_what_only_tests_and_comments_name_is_not_needed(tmp_path: Path) -> None:
    inner = "// As in super::super::one.\n#[cfg(test)]\nmod tests {\n    use crate::one::One;\n}\n"
    texts = {"one.rs": "use crate::part::inner::{Inner, Other};", "part/inner.rs": inner, "lib.rs": "use one::One;"}
    assert circle(source(tmp_path, texts)) == []
