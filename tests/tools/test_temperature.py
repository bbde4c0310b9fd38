"""A sensor of the kernel, smartctl as it should be, and smartctl as it may be."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.tools.temperature import Thermometer, temperature_in

DISK = Path("/dev/sdx")


def fake(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "smartctl"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.mark.parametrize("place", ["hwmon/hwmon3", "hwmon3"])
def test_the_kernels_sensor_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    fake(tmp_path, 'echo \'{"temperature": {"current": 50}}\'', monkeypatch)
    sensor = tmp_path / "block" / "sdx" / "device" / place
    sensor.mkdir(parents=True)
    (sensor / "temp1_input").write_text("41500\n")
    assert Thermometer(DISK, tmp_path / "block").read() == 41
    # One that says what cannot be is not believed.
    (sensor / "temp1_input").write_text("255000\n")
    assert Thermometer(DISK, tmp_path / "block").read() == 50


@pytest.mark.parametrize(
    ("script", "reading"),
    [
        ('echo \'{"temperature": {"current": 55}}\'; exit 64', 55),
        ("echo '{}'", "smartctl tells no temperature of it"),
        ('echo \'{"temperature": {"current": 0}}\'', "smartctl tells '0' as its temperature"),
        ('echo \'{"temperature": {"current": true}}\'', "smartctl tells 'True' as its temperature"),
        ("echo nonsense", "smartctl printed no JSON"),
        ("kill -9 $$", "smartctl printed no JSON"),
    ],
)
def test_what_smartctl_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reading: int | str) -> None:
    fake(tmp_path, script, monkeypatch)
    thermometer = Thermometer(DISK, tmp_path)
    assert [thermometer.read(), thermometer.read()] == [reading, reading]


def test_a_smartctl_that_hangs_is_given_up_and_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, "exec sleep 60", monkeypatch)
    thermometer = Thermometer(DISK, tmp_path, limit_s=0.2)
    began_s = time.monotonic()
    thermometer.ask()
    assert thermometer.answer() is None
    assert thermometer.read() == "smartctl did not answer within 0.2 s"
    assert time.monotonic() - began_s < 10
    thermometer.ask()
    thermometer.close()


def test_without_anything_to_ask_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("shakedown.tools.ask._SYSTEM", "")
    thermometer = Thermometer(DISK, tmp_path)
    assert thermometer.read() == "no sensor of the kernel (drivetemp), and smartctl is not installed"
    program = tmp_path / "smartctl"
    program.write_text("")
    program.chmod(0o755)
    assert (
        thermometer.read() == "no sensor of the kernel (drivetemp), and smartctl cannot be started: Exec format error"
    )


def test_nobody_is_asked_while_one_is_stuck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the kernel, at a dead disk, where killing it does nothing: another would only be stuck beside it."""
    fake(tmp_path, f"echo began >> {tmp_path}/began; exec sleep 60", monkeypatch)
    monkeypatch.setattr("shakedown.tools.ask._REAP_S", 0.01)
    thermometer = Thermometer(DISK, tmp_path, limit_s=0.5)
    children: list[subprocess.Popen[bytes]] = []

    def in_vain(child: subprocess.Popen[bytes]) -> None:
        children.append(child)

    with monkeypatch.context() as stuck:
        stuck.setattr(subprocess.Popen, "kill", in_vain)
        for _ in range(3):
            assert thermometer.read() == "smartctl did not answer within 0.5 s"
    assert (tmp_path / "began").read_text() == "began\n"
    children[0].kill()
    children[0].wait()
    thermometer.read()
    thermometer.ask()
    assert thermometer.answer() is None
    thermometer.close()


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_whatever_is_printed_is_an_answer(output: bytes) -> None:
    assert isinstance(temperature_in(output), int | str)
