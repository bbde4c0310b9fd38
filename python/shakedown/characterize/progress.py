"""How far a characterisation is, in the time of a real target."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import dropwhile
from typing import Final

from shakedown.characterize.plan import ONLY_LAZY, PARKING, Course, Plan, long

_BEGUN: Final = "measured before, if not all of it"


class Progress:
    """Tells of each part as it begins how long it has taken so far, and about how long it will take from there.

    Which course it is shows on the way: what a part that begins is not ahead in, it is not. A part that no course has
    ahead, as when one comes twice, tells nothing. Once the length of a log is known, what is ahead goes by that.
    """

    def __init__(self, plan: Plan, tell: Callable[[str], None], begun_before: Callable[[], bool]) -> None:
        """``tell`` hears the lines; ``begun_before``: whether what comes next is there. The clock starts now."""
        self._plan, self._tell, self._begun_before = plan, tell, begun_before
        self._began_s = time.monotonic()
        self._ahead: tuple[Course, ...] = plan.courses
        self._part: str | None = None

    def __call__(self, part: str) -> None:
        """A part begins."""
        # One that seemed aggressive may be lazy all the same.
        courses = (self._plan.lazy,) if part == ONLY_LAZY else self._ahead
        ahead = tuple(rest for course in courses if (rest := _from(course, part)))
        self._ahead, self._part = (ahead, part) if ahead else (self._ahead, self._part)
        minutes, seconds = divmod(int(time.monotonic() - self._began_s), 60)
        left = _BEGUN if self._begun_before() else self._left(part)
        self._tell(f"{minutes:02}:{seconds:02} {part} ({left})")

    def hear_log(self, log_bytes: float) -> None:
        """A log has so many bytes: what comes behind the part that has begun takes as long as such a cache."""
        plan, part = self._plan, self._part
        self._plan = Plan.of(plan.capacity_bytes, with_parking=plan.parking_s is not None, cache_bytes=log_bytes)
        if part is not None:
            self._ahead = tuple(
                _from(new, part)
                for old, new in zip(plan.courses, self._plan.courses, strict=True)
                if any(_from(old, part) == rest for rest in self._ahead)
            )

    def _left(self, part: str) -> str:
        parking_s = self._plan.parking_s
        if parking_s is None:
            return self._left_before()
        parking = _span([float(limit) for limit in parking_s])
        return f"{parking} left" if part == PARKING else f"{self._left_before()}, then {parking} for parking"

    def _left_before(self) -> str:
        seconds = sorted(sum(course.values()) for course in self._ahead)
        if len(seconds) < len(self._plan.courses) or len(set(seconds)) == 1:
            return f"about {_span(seconds)} left"
        return f"about {long(seconds[0])} left if there is no persistent cache, else {_span(seconds[1:])}"


def _span(seconds: list[float]) -> str:
    least, most = long(seconds[0]), long(seconds[-1])
    if least == most:
        return most
    number, _, unit = least.rpartition(" ")
    if unit == "minutes" and most.endswith("hours"):
        number, unit = f"{seconds[0] / 3600:.2g}", "hours"
    return f"{number if most.endswith(unit) else least} to {most}"


def _from(course: Course, part: str) -> Course:
    """What of a course is ahead when a part begins; nothing if that is not ahead itself."""
    return dict(dropwhile(lambda each: not part.startswith(each[0]), course.items()))
