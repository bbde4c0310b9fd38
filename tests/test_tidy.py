"""The house rules that no linter knows. A failing line names file, line and rule."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LONGEST_FILE_LINES = 600
SOURCES = {".rs", ".py", ".sh", ".js", ".css", ".toml", ".j2"}
BANNED = {
    r"\b(TODO|FIXME|XXX)\b": "unfinished work is an issue, not a comment",
    r"\b(todo!|unimplemented!)\(": "not there yet",
    r"/(root|home)/\w": "a path of somebody's machine",
}


def tracked_files() -> list[Path]:
    """Everything under version control that people edit."""
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.split("\0") if name and "/vendor/" not in name and (ROOT / name).is_file()]


def broken_rules(path: Path) -> Iterator[str]:
    """One sentence for each rule that a file breaks."""
    if path.suffix not in SOURCES or path == Path(__file__).resolve():
        return
    lines = path.read_text(encoding="utf-8").splitlines()
    name = path.relative_to(ROOT)
    if len(lines) > LONGEST_FILE_LINES:
        yield f"{name}: {len(lines)} lines; more than {LONGEST_FILE_LINES} rarely hold one idea"
    for number, line in enumerate(lines, start=1):
        for pattern, why in BANNED.items():
            if re.search(pattern, line):
                yield f"{name}:{number}: {why}: {line.strip()[:80]}"


def test_every_file_keeps_the_house_rules() -> None:
    assert [sentence for path in tracked_files() for sentence in broken_rules(path)] == []


def test_no_folder_is_called_after_nothing() -> None:
    folders = {part for path in tracked_files() for part in path.relative_to(ROOT).parts[:-1]}
    assert not folders & {"utils", "util", "helpers", "misc", "common"}


def test_few_know_the_core() -> None:
    """The import checker does not see the core, which is not Python."""
    package = ROOT / "python" / "shakedown"
    knowing = [path for path in package.rglob("*.py") if re.search(r"import _core|\b_core import", path.read_text())]
    assert {str(path.relative_to(package)) for path in knowing} == {
        "toml.py",
        "target/model.py",
        "tools/fio/job.py",
        "target/modelled.py",
        "target/storage_box.py",
        "cli/serve.py",
        "requests.py",
        "api/drive.py",
        "lab/bays.py",
        "array/capacity.py",
        "array/rebuild.py",
        "lab/disks.py",
        "lab/faults.py",
        "lab/run.py",
    }


def test_a_planted_offence_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text("# TO" + "DO: later\n" + "\n" * LONGEST_FILE_LINES)
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    assert len(list(broken_rules(planted))) == 2
