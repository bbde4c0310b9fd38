"""Logs from files, pipes and the journal, whole and damaged."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from shakedown.analysis.triage.line import LONGEST_LINE_BYTES
from shakedown.errors import EnvironmentFailure, ShakedownError, UsageError
from shakedown.tools.kernel_log import open_journal, open_log

LINES = [b"[1.0] ata3: hard resetting link\n", b"[2.0] ata3: EH complete\n"]


def read(path: Path, content: bytes) -> list[bytes]:
    path.write_bytes(content)
    return read_from(path)


def read_from(path: Path) -> list[bytes]:
    with open_log(path) as lines:
        return list(lines)


def test_plain_and_compressed_files_are_the_same(tmp_path: Path) -> None:
    assert read(tmp_path / "a.log", b"".join(LINES)) == LINES
    assert read(tmp_path / "a.log.gz", gzip.compress(b"".join(LINES))) == LINES


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_what_windows_made_of_it_is_read(encoding: str, tmp_path: Path) -> None:
    assert read(tmp_path / "a.log", ("\ufeff" + b"".join(LINES).decode()).encode(encoding)) == LINES


def test_an_endless_line_is_cut_and_the_next_one_is_whole(tmp_path: Path) -> None:
    lines = read(tmp_path / "a.log", b"x" * (3 * LONGEST_LINE_BYTES + 7) + b"\n" + LINES[0])
    assert [len(line) for line in lines] == [LONGEST_LINE_BYTES, len(LINES[0])]


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (gzip.compress(b"".join(LINES) * 999)[:-20], "zcat"),
        (b"\x1f\x8b" + bytes(40), "zcat"),
        (b"\xfd7zXZ\x00rest", "xzcat"),
        (b"\x28\xb5\x2f\xfdrest", "zstdcat"),
    ],
    ids=["gzip, cut short", "gzip, torn", "xz", "zstd"],  # in a gzip stands the time, and workers must agree
)
def test_what_cannot_be_unpacked_is_told(content: bytes, hint: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        read(tmp_path / "a.log", content)
    assert hint in refused.value.hint


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(UsageError, match="cannot be read"), open_log(path):
            pass


def test_what_goes_wrong_with_its_lines_is_not_the_logs(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"".join(LINES))
    with pytest.raises(BrokenPipeError), open_log(tmp_path / "a.log") as lines:
        next(lines)
        raise BrokenPipeError


def test_a_log_that_breaks_off_in_reading_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: Input/output error"):
        read_from(Path("/proc/self/mem"))


def test_standard_input_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    given = io.TextIOWrapper(io.BytesIO(b"".join(LINES)))
    monkeypatch.setattr("sys.stdin", given)
    assert read_from(Path("-")) == LINES
    assert not given.buffer.closed


def journalctl(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    program = folder / "journalctl"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    with open_journal() as lines:
        return list(lines)


def test_the_journal_is_asked_for_the_kernel_and_the_daemons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = journalctl(tmp_path, 'echo "$@"', monkeypatch)[0].decode()
    assert "--output=json _TRANSPORT=kernel + SYSLOG_IDENTIFIER=zed" in asked


def test_a_journal_that_complains_at_length_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "for file in $(seq 4000); do echo file $file is of another version, ignored >&2; done; echo one line"
    assert journalctl(tmp_path, script, monkeypatch) == [b"one line\n"]


def test_a_journal_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EnvironmentFailure, match="no such boot"):
        journalctl(tmp_path, "echo no such boot >&2; exit 1", monkeypatch)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ShakedownError, match="not installed"), open_journal():
        pass
