"""smartctl that answers, that is not there, that prints nonsense, and that never comes back."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from shakedown.tools.smartctl import ask_smartctl


def fake(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "smartctl"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_an_answer_counts_whatever_the_exit_status_says_of_health(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = (
        '{"smartctl": {}, "device": {"protocol": "ATA", "type": "sat"}, "model_name": "X", "rotation_rate": 5400}'
    )
    fake(tmp_path, f"echo '{document}'; exit 64", monkeypatch)
    facts = ask_smartctl(Path("/dev/sdb"))
    assert (facts.name, facts.model, facts.rotation_rpm, facts.unread) == ("sdb", "X", 5400, ())


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("echo smartctl 6.6; exit 1", "printed no JSON"),
        ("head -c 100000 /dev/zero", "printed no JSON"),
        ("echo '{}'; exit 2", "could not open"),
        ("kill -9 $$", "printed no JSON"),
    ],
)
def test_nonsense_is_told(script: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, script, monkeypatch)
    facts = ask_smartctl(Path("/dev/sdb"))
    assert complaint in facts.unread[0]
    assert facts.model is None


def test_it_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, "trap '' TERM; sleep 60", monkeypatch)
    began = time.monotonic()
    facts = ask_smartctl(Path("/dev/sdb"), limit_s=0.3)
    assert time.monotonic() - began < 10
    assert facts.unread == ("smartctl did not answer within 0.3 s",)


def test_without_it_the_rest_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("shakedown.tools.ask._SYSTEM", "")
    assert "not installed" in ask_smartctl(Path("/dev/sdb")).unread[0]
