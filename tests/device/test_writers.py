"""The law that only the guard opens devices for writing is kept, and catches whoever breaks it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from check_writers import rust_violations, violations

ROOT = Path(__file__).resolve().parent.parent.parent


def test_it_is_kept() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "check_writers.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "line",
    [
        'open(target, "r+b")',
        'open(target, mode="wb")',
        'Path(target).open("r+b")',
        'Path(target).open("ab")',
        'Path("/dev/sdb").open()',
        'os.open("/dev/sdb", os.O_RDONLY)',
        "os.open(target, os.O_RDWR)",
        "os.open(target, os.O_WRONLY | os.O_DIRECT)",
        "os.fdopen(descriptor, 'wb')",
        "Path(target).write_bytes(data)",
        "os.pwrite(descriptor, data, 0)",
        "shutil.copyfile(image, target)",
        "frame.write_csv(target)",
        "fcntl.ioctl(descriptor, BLKDISCARD, span)",
        'subprocess.run(["dd", f"of={target}"])',
        'subprocess.Popen(["/usr/sbin/mkfs.ext4", target])',
        'os.system("wipefs -a /dev/sdb")',
    ],
)
def test_a_planted_violation_is_caught(line: str, tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    (tmp_path / "device").mkdir()
    (tmp_path / "device" / "allowed.py").write_text(line)
    (tmp_path / "report" / "planted.py").write_text(f"def innocent():\n    return {line}\n")
    found = list(violations(tmp_path, {}))
    assert found
    assert all(each.startswith("report/planted.py:2: ") for each in found)


@pytest.mark.parametrize(
    "line", ["open(path)", 'path.open("rb")', "os.open(path, os.O_RDONLY)", "values.copy()", 'subprocess.run(["fio"])']
)
def test_reading_is_everybodys(line: str, tmp_path: Path) -> None:
    (tmp_path / "reader.py").write_text(line)
    assert list(violations(tmp_path, {})) == []


def test_a_listed_writer_that_writes_nothing_is_told(tmp_path: Path) -> None:
    assert list(violations(tmp_path, {"gone.py": "no reason"})) == ["gone.py: listed as a writer, and writes nothing"]


def test_a_crate_that_opens_for_writing_is_told(tmp_path: Path) -> None:
    source = tmp_path / "crates" / "drive" / "src" / "lib.rs"
    source.parent.mkdir(parents=True)
    source.write_text("let file = File::create(path)?;")
    assert list(rust_violations(tmp_path / "crates", {})) == [
        "crates/drive/src/lib.rs: opens files for writing and is not listed"
    ]
    source.write_text("let file = File::open(path)?;")
    assert list(rust_violations(tmp_path / "crates", {"crates/drive/src/lib.rs": "no reason"})) == [
        "crates/drive/src/lib.rs: listed as a writer, and writes nothing"
    ]
