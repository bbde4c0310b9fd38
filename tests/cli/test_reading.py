"""A long log tells how far it has been read, a short one says nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from shakedown.cli.reading import size_bytes, told

LINE = b"Nov 20 10:00:00 nas kernel: sd 0:0:0:0: [sda] Attached SCSI disk\n"


def read(lines: int, whole_bytes: int | None, seconds_a_look: int) -> int:
    ticks: Iterator[int] = count(0, seconds_a_look)
    return sum(1 for _ in told(iter([LINE] * lines), whole_bytes, clock_s=lambda: float(next(ticks))))


def test_says_how_much_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    assert read(100_000, 200_000 * len(LINE), 11) == 100_000
    said = capsys.readouterr().err.splitlines()
    # A look and the moment of speaking are two ticks each: 40,000 lines of 200,000 after 44 s leave that.
    assert said[1] == "triage: 2.5 MiB of 12.4 MiB read, 2 min 56 s left"


def test_of_a_pipe_only_what_was_read_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    read(20_000, None, 11)
    assert capsys.readouterr().err == "triage: 1.2 MiB read\n"


def test_a_short_log_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    read(100_000, None, 1)
    assert capsys.readouterr().err == ""


def test_size_is_known_of_plain_files_only(tmp_path: Path) -> None:
    for name in ("kern.log", "kern.log.1.gz"):
        (tmp_path / name).write_bytes(LINE)
    assert size_bytes(tmp_path / "kern.log") == len(LINE)
    assert size_bytes(tmp_path / "kern.log.1.gz") is None
    assert size_bytes(Path("-")) is None
    assert size_bytes(None) is None
