"""The model arena: a modelled drive or array, and its host, in virtual time, all of it in ``shakedown._core``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final, Literal

import numpy as np

from shakedown import _core
from shakedown.errors import UsageError
from shakedown.fit.trace import FLUSH, Log, Trace
from shakedown.model_number import UNKNOWN_MODEL
from shakedown.requests import requests_frame
from shakedown.result.identity import Identity
from shakedown.sample import Direction, Sample
from shakedown.target.fio_rows import FioRows, Pause
from shakedown.target.lab_host import LabHost
from shakedown.target.modelled import modelled_drive
from shakedown.target.storage_box import names_storage_box, storage_box
from shakedown.tools.fio.job import OptionError

_DIRECTIONS: Final[dict[str, Direction]] = {"read": "read", "write": "write", "trim": "trim"}
# In the details of a target, if its host is not just a queue.
_HOST: Final = "host"
_UNWATCHED_INTERVALS: Final = 512
_ONE_INTERVAL_NS: Final = 3600 * 10**9


def is_like_lab(identity: Identity) -> bool:
    """Whether a run's target was opened so."""
    return identity.details.get(_HOST) == "lab"


class ModelArena:
    """Implements ``Arena`` in virtual time, which begins at zero and passes only in loads and idling."""

    name: Literal["model"] = "model"
    remembers = False

    def __init__(self, text: str, *, seed: int, scale_divisor: int = 1, like_lab: bool = False) -> None:
        """Make ``model:NAME``, ``model:./file.toml`` or an array of them, ``scale_divisor`` times smaller.

        Raises UsageError.

        ``like_lab``: the host is like that of ``lab:``. It has read the drive when it found it, so that the heads are
        not parked; it lets a moment pass before each job, as long as fio takes to start; jobs with a ``randseed`` make
        the very requests that fio makes of them; and rows are cut where fio cuts them.
        """
        self._host = LabHost(seed) if like_lab else None
        self._seed = seed
        self._started = 0
        make = storage_box if names_storage_box(text) else modelled_drive
        modelled = make(text, seed=seed, scale_divisor=scale_divisor)
        self._machine = modelled.machine
        if self._host is not None:
            self._host.find(self._machine, self.replay)
        self.identity = Identity(
            kind="model",
            text=text,
            name=modelled.name,
            # Two drives of people's own are told apart by what they call them.
            model=modelled.name if self._machine.model == UNKNOWN_MODEL else self._machine.model,
            capacity_bytes=self._machine.capacity_bytes,
            shingled=modelled.shingled,
            details=modelled.details
            | {"scale_divisor": str(scale_divisor * modelled.part_divisor)}
            | ({_HOST: "lab"} if like_lab else {}),
        )

    def guarded(self) -> None:
        """A model holds nobody's data."""

    def check(self, job: str) -> None:
        """Raise UsageError if the job cannot run in virtual time."""
        try:
            _core.check_job(job, self._machine.capacity_bytes)
        except _core.JobError as error:
            raise job_refusal(error) from error
        if self._host is not None:
            self._host.checked()

    def thermometer(self) -> None:
        """A model is never warm."""

    def missing(self) -> None:
        """A model is always there."""

    def start(self, step: str, job: str, interval_ns: int, *, watched: bool = True) -> ModelLoad:
        """Begin a job; its choices follow from the seed and from how many jobs came before. Raises UsageError."""
        host, seed = self._host, self._seed + self._started
        like_lab = host is not None
        if host is not None:
            self._machine.idle(host.wait_ns(self._machine.now_ns))
        began_ns = self._machine.now_ns
        try:
            load = self._machine.start(job, interval_ns, seed, log_requests=like_lab, like_lab=like_lab)
        except _core.JobError as error:
            raise job_refusal(error) from error
        self._started += 1
        intervals = 1 if watched else _UNWATCHED_INTERVALS
        if host is None:
            return ModelLoad(load, step, intervals=intervals)
        host.began(began_ns)
        return ModelLoad(load, step, intervals=intervals, fio_rows_every_ns=interval_ns, pause=Pause.of(job))

    def idle(self, duration_ns: int) -> None:
        """Let so much virtual time pass."""
        self._machine.idle(duration_ns)

    def replay(self, name: str, trace: Trace) -> Log:  # noqa: ARG002
        """Play exact requests and return when each was submitted and completed. Raises EnvironmentFailure."""
        load = self._machine.replay(
            bytes(8 * len(trace)),
            trace.verbs.astype("u1").tobytes(),
            trace.offsets.astype("<u8").tobytes(),
            trace.lengths.astype("<u8").tobytes(),
            _ONE_INTERVAL_NS,
            depth=trace.depth,
            log_requests=True,
        )
        while load.advance(_UNWATCHED_INTERVALS):
            pass
        return _log(load.take_requests())

    def truth(self) -> dict[str, int]:
        """What nobody can see from outside of a drive: cached bytes, bands cleaned, and so on."""
        return self._machine.truth()

    def close(self, *, finished: bool = True) -> None:
        """Nothing was made outside of memory."""


class ModelLoad(AbstractContextManager["ModelLoad"]):
    """Implements ``Load``: pulls rows out of the core, ``intervals`` at a time."""

    frozen_ns = 0

    def __init__(
        self,
        load: _core.Load,
        step: str,
        *,
        intervals: int,
        fio_rows_every_ns: int | None = None,
        pause: Pause | None = None,
    ) -> None:
        """Follow a load of the core under the name of a step; with rows as fio tells them, if it logs requests."""
        self.error: str | None = None
        self._load = load
        self._step = step
        self._intervals = intervals
        self._fio_rows_every_ns = fio_rows_every_ns
        self._pause = pause

    def __iter__(self) -> Iterator[list[Sample]]:
        """Batches of rows until the job has ended, or the drive has failed a request."""
        if self._fio_rows_every_ns is not None:
            yield from self._as_fio_tells(self._fio_rows_every_ns)
            return
        while batch := self._advance():
            yield batch

    def _as_fio_tells(self, interval_ns: int) -> Iterator[list[Sample]]:
        rows: FioRows | None = None
        end_ns = 0
        while batch := self._advance(None if rows is None else rows.due_ns):
            end_ns = max(row.start_ns + row.duration_ns for row in batch)
            requests = requests_frame(self._load.take_requests())
            if rows is None:
                directions = list(dict.fromkeys(row.direction for row in batch))
                began_ns = batch[0].start_ns
                rows = FioRows(self._step, directions, began_ns=began_ns, interval_ns=interval_ns, pause=self._pause)
            yield rows.take(requests, end_ns)
        yield [] if rows is None else rows.end(end_ns)

    def _advance(self, due_ns: int | None = None) -> list[Sample]:
        """What happens next; where somebody watches, no more than until a row is due: he may end the job with it."""
        # Who pauses answers when the pause is over, and not as a request ends.
        is_watched = self._intervals == 1 and self._pause is None
        try:
            if due_ns is None or not is_watched:
                rows = self._load.advance(self._intervals)
            else:
                rows = self._load.advance_to_answer(due_ns)
        except OSError as error:
            self.error = str(error)
            return []
        return [Sample(self._step, _DIRECTIONS[row[0]], *row[1:]) for row in rows]

    def pause(self) -> None:
        """Nothing heats a model."""

    def go_on(self) -> None:
        """It was never paused."""

    def stop(self) -> None:
        """Ask for no more requests; those in flight are waited for."""
        self._load.end()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the job if it was not at its end."""
        self._load.stop()


def _log(columns: _core.RequestColumns) -> Log:
    """The log in the order of submission, without flushes. No frame: of few rows one takes longer than to play them."""
    times_and_sizes = (columns.submitted_ns, columns.completed_ns, columns.offset_bytes, columns.bytes)
    submitted_ns, completed_ns, offsets, lengths = (np.frombuffer(each, "<i8") for each in times_and_sizes)
    verbs = np.frombuffer(columns.verb, "u1")
    asked = np.flatnonzero(verbs != FLUSH)
    asked = asked[np.argsort(submitted_ns[asked], kind="stable")]
    rows = (submitted_ns[asked], completed_ns[asked], offsets[asked], lengths[asked], verbs[asked].astype(np.int64))
    return Log(*rows, ended_ns=int(completed_ns.max()))


def job_refusal(error: _core.JobError) -> UsageError:
    """The error for a job that the core has refused."""
    if not error.section:
        return UsageError(error.reason, hint=error.hint)
    hint = error.hint or "docs/fio-options.md tells which values an option takes"
    return OptionError(error.section, error.option, error.value, error.reason, hint=hint)
