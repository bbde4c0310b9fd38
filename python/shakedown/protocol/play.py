"""Plays the steps of a protocol on one arena and keeps all that is measured."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing, nullcontext
from typing import Final

from shakedown.analysis.watch import make_watcher
from shakedown.errors import EnvironmentFailure, Interrupted
from shakedown.protocol.cooling import Cooling
from shakedown.protocol.interruption import Interruption
from shakedown.protocol.schema import Protocol, Step
from shakedown.result.folder import RunFolder
from shakedown.result.run_record import RunRecord, StepRecord
from shakedown.sample import Sample
from shakedown.target.arena import Arena
from shakedown.units import NS_PER_S, format_duration

# How long a target that is gone may take to come back: time to plug it in again, and for a server to start.
_ABSENCE_NS: Final = 600 * NS_PER_S
_LOOK_EVERY_NS: Final = NS_PER_S


class Listener:
    """Whoever wants to see a run while it goes on; this one looks at nothing."""

    def planned(self, lines: Sequence[str]) -> None:
        """What will be done to a disk, before anything is."""

    def run_began(self, record: RunRecord, protocol: Protocol) -> None:
        """One target's turn has come: the baseline's or the candidate's."""

    def step_began(self, step: Step) -> None:
        """A step is about to run."""

    def measured(self, samples: Sequence[Sample]) -> None:
        """The samples of the latest interval, at times of several."""

    def noted(self, text: str) -> None:
        """Something that a person should know, in a sentence: the target is gone, or back."""

    def step_ended(self, record: StepRecord) -> None:
        """A step is over, or was skipped."""


def play(protocol: Protocol, arena: Arena, folder: RunFolder, record: RunRecord, listener: Listener) -> RunRecord:
    """Play the steps that ``record`` does not hold yet; return the record with all of them and its final status.

    Raises Interrupted, after everything has been kept, when the user asked for an end.
    """
    listener.run_began(record, protocol)
    with Interruption() as interruption:
        player = _Player(arena, folder, listener, interruption, record)
        for step, played in zip(protocol.steps, record.steps, strict=False):
            player.has_played(step, played)
        for step in protocol.steps[len(record.steps) :]:
            player.play(step)
            if interruption.asked:
                break
    return player.conclude()


class _Player:
    """Plays one step after the other and keeps the record up to date, on disk as well."""

    def __init__(
        self, arena: Arena, folder: RunFolder, listener: Listener, interruption: Interruption, record: RunRecord
    ) -> None:
        self._arena = arena
        self._folder = folder
        self._listener = listener
        self._interruption = interruption
        self._record = record
        self._skip_because: str | None = None
        # After a resumption an arena's clock begins anew; the run's clock goes on where it stopped.
        last_ns = record.steps[-1].end_ns if record.steps else 0
        self._offset_ns = self._now_ns = max(last_ns, folder.measured_until_ns)

    def has_played(self, step: Step, played: StepRecord) -> None:
        """What a step before a resumption means for those after it."""
        self._skip_because = self._skip_because or _reason_to_skip_the_rest(step, played)

    def play(self, step: Step) -> None:
        played = StepRecord(
            name=step.name,
            title=step.title,
            start_ns=self._now_ns,
            end_ns=self._now_ns,
            interval_ns=step.interval_ns,
            ended_because="skipped",
            detail=self._skip_because,
            job=step.job,
        )
        if self._skip_because is None:
            self._folder.note("step-began", step=step.name)
            self._listener.step_began(step)
            played = played.model_copy(update=self._facts(step))
        self._listener.step_ended(played)
        self._folder.note("step-ended", step=step.name, because=played.ended_because, error=played.error)
        self._now_ns = max(self._now_ns, played.end_ns)
        self.has_played(step, played)
        self._record = self._record.model_copy(update={"steps": (*self._record.steps, played)})
        self._folder.write(self._record)

    def conclude(self) -> RunRecord:
        interrupted = self._interruption.asked
        failed = any(step.ended_because == "failed" for step in self._record.steps)
        status = "interrupted" if interrupted else "failed" if failed else "complete"
        self._record = self._record.model_copy(update={"status": status})
        self._folder.write(self._record)
        if interrupted:
            raise Interrupted("interrupted; all that was measured is kept")
        return self._record

    def _facts(self, step: Step) -> dict[str, object]:
        """Run the step; what the record has to say of it."""
        facts: dict[str, object]
        try:
            facts = self._load(step) if step.job else self._idle(step.idle_ns or 0)
        except Interrupted:
            facts = {"ended_because": "interrupted", "end_ns": self._now_ns}
        except EnvironmentFailure as error:
            hint = f" (hint: {error.hint})" if error.hint else ""
            facts = {"ended_because": "failed", "error": f"{error}{hint}", "end_ns": self._now_ns}
        if self._interruption.asked:
            facts["ended_because"] = "interrupted"
        return facts | {"detail": facts.get("detail")}

    def _idle(self, duration_ns: int) -> dict[str, object]:
        with self._interruption.calls(self._interruption.leave):
            self._arena.idle(duration_ns)
        return {"ended_because": "idle-over", "end_ns": self._now_ns + duration_ns}

    def _load(self, step: Step) -> dict[str, object]:
        watcher = make_watcher(step.until) if step.until else None
        start_ns: int | None = None
        seen: str | None = None
        ended_ns: int | None = None
        absence = self._await_target(step)
        cooling = self._cooling(step)
        with (
            closing(cooling) if cooling else nullcontext(),
            self._arena.start(step.name, step.job or "", step.interval_ns, watched=watcher is not None) as load,
            self._interruption.calls(load.stop),
        ):
            for batch in load:
                if cooling and not self._interruption.asked:
                    cooling.look(load)
                samples = self._keep(batch)
                if samples and start_ns is None:
                    start_ns = samples[0].start_ns
                if watcher and seen is None and (seen := watcher.see(samples)):
                    ended_ns = self._now_ns  # what is in flight completes later, in rows of the same step
                    load.stop()
        self._remember(cooling.note(step.name) if cooling else None)
        self._remember(_freeze(step.name, load.frozen_ns))
        errors = [absence, load.error, self._await_target(step, load.error) if load.error else None]
        return {
            "ended_because": "condition" if seen else "job-ended",
            "detail": seen,
            "error": "; ".join(filter(None, errors)) or None,
            "start_ns": self._now_ns if start_ns is None else start_ns,
            "end_ns": self._now_ns if ended_ns is None else ended_ns,
        }

    def _remember(self, note: str | None) -> None:
        if note is not None:
            self._record = self._record.model_copy(update={"notes": (*self._record.notes, note)})

    def _cooling(self, step: Step) -> Cooling | None:
        limit, thermometer = self._record.temperature_limit_celsius, self._arena.thermometer()
        if limit is None or thermometer is None:
            return None
        return Cooling(thermometer, limit, lambda event, text: self._note(event, text, step))

    def _await_target(self, step: Step, error: str = "") -> str | None:
        """If the target is gone, wait until it is back; say how long that was.

        Raises EnvironmentFailure if it stays away, Interrupted if the user does not want to wait.
        """
        missing = self._arena.missing()
        if missing is None:
            return None
        self._note("target-missing", f"{missing}: waiting for it", step)
        began_ns = time.monotonic_ns()
        with self._interruption.calls(self._interruption.leave):
            while self._arena.missing() is not None:
                if time.monotonic_ns() - began_ns > _ABSENCE_NS:
                    raise EnvironmentFailure(
                        "; ".join(filter(None, (error, f"{missing}, and was not back in time")))
                        + f" ({format_duration(_ABSENCE_NS)})",
                        hint="look at cable, power and `dmesg`; it is found again by its serial number",
                    )
                self._arena.idle(_LOOK_EVERY_NS)
        guarded = self._arena.guarded()
        place = f" as {guarded.document['device']}" if guarded else ""
        absence = f"it was gone for {format_duration(time.monotonic_ns() - began_ns)}, and is back{place}"
        self._note("target-back", absence, step)
        return absence

    def _note(self, event: str, text: str, step: Step) -> None:
        self._folder.note(event, step=step.name, text=text)
        self._listener.noted(text)

    def _keep(self, batch: list[Sample]) -> list[Sample]:
        samples = batch
        if self._offset_ns:
            samples = [sample._replace(start_ns=sample.start_ns + self._offset_ns) for sample in batch]
        self._folder.append(samples)
        self._listener.measured(samples)
        if samples:
            self._now_ns = max(sample.start_ns + sample.duration_ns for sample in samples)
        return samples


def _freeze(step: str, frozen_ns: int) -> str | None:
    if not frozen_ns:
        return None
    return (
        f"In step {step} this machine, or Shakedown and fio on it, stood still for {format_duration(frozen_ns)}: that "
        "is not in the times, and says nothing of the drive."
    )


def _reason_to_skip_the_rest(step: Step, played: StepRecord) -> str | None:
    if played.ended_because == "failed":
        return f"because step {step.name} failed"
    if step.required and played.ended_because == "job-ended":
        return f"because step {step.name} ended without what the rest depends on"
    return None
