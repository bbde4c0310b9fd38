"""How warm a drive is: the kernel's own sensor where there is one, else smartctl, which is not waited for."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Final

_LIMIT_S: Final = 20.0
_PAUSE_S: Final = 0.05
_LARGEST_BYTES: Final = 4 << 20
_SENSIBLE: Final = range(1, 151)
"""Degrees that are believed: bridges and broken sensors say 0, 255 or less than nothing."""

Reading = int | str
"""Degrees Celsius, or why there are none."""


class Thermometer:
    """Asks one disk, time after time; at most one question is open."""

    def __init__(self, device: Path, system: Path = Path("/sys/block")) -> None:
        """Of the disk ``/dev/sdX``; ``system`` has its folder ``sdX``. Nothing is asked yet."""
        self._device = device
        self._sensors = system / device.name / "device"
        self._child: subprocess.Popen[bytes] | None = None
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close
        self._asked_s = 0.0

    def read(self) -> Reading:
        """Ask and wait for the answer."""
        self.ask()
        while (reading := self.answer()) is None:
            time.sleep(_PAUSE_S)
        return reading

    def ask(self) -> None:
        """Begin to ask, unless a question is open."""
        if self._child is None and self._sensor() is None and (program := shutil.which("smartctl")) is not None:
            self._asked_s = time.monotonic()
            self._output.close()
            self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close
            with contextlib.suppress(OSError):
                self._child = subprocess.Popen(
                    [program, "--json=c", "--attributes", "--", str(self._device)],
                    stdin=subprocess.DEVNULL,
                    stdout=self._output,
                    stderr=subprocess.DEVNULL,
                    env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
                    start_new_session=True,
                )

    def answer(self) -> Reading | None:
        """The answer to what was asked; None if it is still to come."""
        if self._child is None:
            sensor = self._sensor()
            return sensor if sensor is not None else "no sensor of the kernel (drivetemp), and no smartctl"
        status = self._child.poll()
        if status is None:
            if time.monotonic() - self._asked_s < _LIMIT_S:
                return None
            self._child.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # stuck in the kernel, it stays behind
                self._child.wait(_PAUSE_S)
        self._child = None
        if status is None:
            return f"smartctl did not answer within {_LIMIT_S:g} s"
        self._output.seek(0)
        return temperature_in(self._output.read(_LARGEST_BYTES))

    def close(self) -> None:
        """Leave nothing running."""
        if self._child is not None:
            self._child.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(_PAUSE_S)
        self._output.close()

    def _sensor(self) -> int | None:
        """drivetemp's reading, or that of an NVMe drive, both in thousandths of a degree."""
        for place in sorted(self._sensors.glob("hwmon*/temp1_input")) + sorted(
            self._sensors.glob("hwmon/hwmon*/temp1_input")
        ):
            with contextlib.suppress(OSError, ValueError):
                degrees = int(place.read_text()) // 1000
                if degrees in _SENSIBLE:
                    return degrees
        return None


def temperature_in(output: bytes) -> Reading:
    """The temperature in what ``smartctl --json --attributes`` printed, whatever that was. Never fails."""
    try:
        document: Any = json.loads(output)
        degrees = document["temperature"]["current"]
    except (ValueError, RecursionError):
        return "smartctl printed no JSON"
    except (KeyError, TypeError, IndexError):
        return "smartctl tells no temperature of it"
    if not isinstance(degrees, int) or isinstance(degrees, bool) or degrees not in _SENSIBLE:
        return f"smartctl tells {str(degrees)[:20]!a} as its temperature"
    return degrees
