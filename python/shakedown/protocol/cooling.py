"""Pauses a load while the drive is too warm."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from shakedown.errors import EnvironmentFailure
from shakedown.target.arena import Load
from shakedown.tools.temperature import Reading, Thermometer
from shakedown.units import NS_PER_S, format_duration, often

_ASK_EVERY_S: Final = 30.0
# It goes on when it is so much cooler than the limit, or it would be paused again at once.
_HYSTERESIS_K: Final = 5
_LONGEST_S: Final = 4 * 3600.0


class Cooling:
    """Looks at the thermometer now and then while one load runs."""

    def __init__(self, thermometer: Thermometer, limit_celsius: int, tell: Callable[[str, str], None]) -> None:
        """``tell`` takes an event for the journal and its sentence."""
        self._thermometer = thermometer
        self._limit = limit_celsius
        self._tell = tell
        self._due_s = time.monotonic()
        self._asked = False
        self._is_blind = False
        self._since_s: float | None = None
        self.pauses = 0
        self.paused_s = 0.0

    def look(self, load: Load) -> None:
        """Ask, take an answer, pause or go on. Raises EnvironmentFailure if the drive does not cool down."""
        now_s = time.monotonic()
        if not self._asked and now_s >= self._due_s:
            self._asked = True
            self._due_s = now_s + _ASK_EVERY_S
            self._thermometer.ask()
        if self._asked and (reading := self._thermometer.answer()) is not None:
            self._asked = False
            self._judge(reading, load, now_s)
        if self._since_s is not None and now_s - self._since_s > _LONGEST_S:
            raise EnvironmentFailure(
                f"the drive is not below {self._limit - _HYSTERESIS_K} °C after {_LONGEST_S / 3600:g} h of rest",
                hint="cool it, or raise the limit",
            )

    def _judge(self, reading: Reading, load: Load, now_s: float) -> None:
        if isinstance(reading, str):
            # A drive that is resting stays so: what cannot be seen to be cool is not taken for cool.
            if not self._is_blind:
                self._tell("temperature-unknown", f"its temperature cannot be read any more: {reading}")
            self._is_blind = True
            return
        self._is_blind = False
        if self._since_s is None and reading >= self._limit:
            load.pause()
            self._since_s = now_s
            self.pauses += 1
            self._tell("paused", f"paused at {reading} °C (limit {self._limit} °C)")
        elif self._since_s is not None and reading <= self._limit - _HYSTERESIS_K:
            rested_s = now_s - self._since_s
            self.paused_s += rested_s
            self._since_s = None
            load.go_on()
            self._tell("unpaused", f"goes on at {reading} °C, after {format_duration(rested_s * NS_PER_S)}")

    def close(self) -> None:
        """Ask no more."""
        self._thermometer.close()

    def note(self, step: str) -> str | None:
        """What the reader of the run must know, None if there was no pause."""
        if not self.pauses:
            return None
        times = often(self.pauses)
        return (
            f"Step {step} was paused {times}, for {format_duration(self.paused_s * NS_PER_S)} in all, because "
            f"the drive had {self._limit} °C or more. The pauses are not in the times; but a drive that tidies up when "
            "it rests had that rest, so a collapse may come later, and a recovery sooner, than without."
        )
