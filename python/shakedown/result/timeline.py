"""Where a moment of the clock on the wall lies on a run's own time."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from shakedown.errors import UsageError
from shakedown.result.folder import read_record
from shakedown.result.journal import JOURNAL_NAME, entries
from shakedown.units import NS_PER_S


@dataclass(frozen=True)
class Moment:
    """``run_ns`` since the run began, within ``step``, or after it while no other had begun."""

    run_ns: int
    step: str


@dataclass(frozen=True)
class Timeline:
    """Beginnings of steps by the wall clock in seconds since 1970, ascending, with their times in the run."""

    begins_s: tuple[float, ...]
    moments: tuple[Moment, ...]
    end_s: float

    def at(self, time_s: float) -> Moment | None:
        """The moment of the run at a time of the wall clock, None before its first step and after its end."""
        if not self.begins_s or not self.begins_s[0] <= time_s <= self.end_s:
            return None
        place = bisect_right(self.begins_s, time_s) - 1
        began = self.moments[place]
        return Moment(began.run_ns + round((time_s - self.begins_s[place]) * NS_PER_S), began.step)


def read_timeline(folder: Path) -> Timeline:
    """The time of the run in ``folder``, from its journal and its record. Raises UsageError."""
    record = read_record(folder)
    if record.arena == "model":
        raise UsageError(
            f"`{folder}` is a run of the model arena: its days pass in seconds, and no kernel log tells of them",
            hint="give a run on a real target",
        )
    starts = {step.name: step.start_ns for step in record.steps}
    events = _events(folder)
    begins = sorted(
        (time_s, starts[step], step) for time_s, event, step in events if event == "step-began" and step in starts
    )
    is_over = bool(events) and events[-1][1] == "run-ended"
    return Timeline(
        tuple(time_s for time_s, _, _ in begins),
        tuple(Moment(start_ns, step) for _, start_ns, step in begins),
        events[-1][0] if is_over else float("inf"),
    )


def _events(folder: Path) -> list[tuple[float, str, str]]:
    """Time, event and step of each entry of the journal that has them. Raises UsageError."""
    if not (journal := folder / JOURNAL_NAME).exists():
        raise UsageError(f"`{journal}` is missing: nothing tells when what was done", hint="restore it from a copy")
    found = []
    for entry in entries(folder):
        try:
            when = datetime.fromisoformat(entry["time"])
            found.append((when.timestamp(), str(entry["event"]), str(entry.get("step", ""))))
        except (ValueError, KeyError, TypeError, OverflowError):
            continue
    return found
