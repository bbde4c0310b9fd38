"""How warm a drive is: the kernel's own sensor where there is one, else smartctl, which is not waited for."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import Any, Final

from shakedown.tools.ask import LIMIT_S, Question, Unanswered

_PAUSE_S: Final = 0.05
_SENSIBLE: Final = range(1, 151)
"""Degrees that are believed: bridges and broken sensors say 0, 255 or less than nothing."""

Reading = int | str
"""Degrees Celsius, or why there are none."""


class Thermometer:
    """Asks one disk, time after time; at most one question is open."""

    def __init__(self, device: Path, system: Path = Path("/sys/block"), limit_s: float = LIMIT_S) -> None:
        """Of the disk ``/dev/sdX``; ``system`` has its folder ``sdX``. Nothing is asked yet."""
        self._device = device
        self._sensors = system / device.name / "device"
        self._question: Question | None = None
        self._limit_s = limit_s
        self._why = ""

    def read(self) -> Reading:
        """Ask and wait for the answer."""
        self.ask()
        while (reading := self.answer()) is None:
            time.sleep(_PAUSE_S)
        return reading

    def ask(self) -> None:
        """Begin to ask, unless a question is open, or whoever was asked last is stuck."""
        if self._question is not None or self._sensor() is not None:
            return
        try:
            self._question = Question(
                "smartctl", "--json=c", "--attributes", "--", str(self._device), limit_s=self._limit_s
            )
        except Unanswered as why:
            self._why = f"no sensor of the kernel (drivetemp), and smartctl {why}"

    def answer(self) -> Reading | None:
        """The answer to what was asked; None if it is still to come."""
        if self._question is None:
            sensor = self._sensor()
            return sensor if sensor is not None else self._why
        try:
            answer = self._question.answer()
        except Unanswered as why:
            if not self._question.is_stuck:
                self._question = None
            return f"smartctl {why}"
        if answer is None:
            return None
        self._question = None
        return temperature_in(answer.output)

    def close(self) -> None:
        """Leave nothing running."""
        if self._question is not None:
            self._question.close()

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
