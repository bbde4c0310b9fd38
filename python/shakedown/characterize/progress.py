"""How far a characterisation is, in the time of a real target."""

from __future__ import annotations

import time
from collections.abc import Callable

from shakedown.characterize.plan import Plan, long


class Progress:
    """Tells of each part as it begins how long it has taken so far, and about how long it will take from there."""

    def __init__(self, plan: Plan, tell: Callable[[str], None]) -> None:
        """``tell`` hears the lines; the clock starts now."""
        self._plan, self._tell = plan, tell
        self._began_s = time.monotonic()

    def __call__(self, part: str) -> None:
        """A part begins."""
        least, most = self._plan.left(part)
        left = f"about {long(most)} left"
        if least < most:
            left += f", {long(least)} if there is no persistent cache"
        minutes, seconds = divmod(int(time.monotonic() - self._began_s), 60)
        self._tell(f"{minutes:02}:{seconds:02} {part} ({left})")
