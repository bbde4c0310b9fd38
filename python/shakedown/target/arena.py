"""What every arena offers, whatever is real in it."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Protocol, Self

from shakedown.fit.trace import Log, Trace
from shakedown.result.identity import Identity
from shakedown.sample import Sample
from shakedown.tools.temperature import Thermometer

if TYPE_CHECKING:
    from shakedown.device.disk.medium import Guarded


class Load(Protocol):
    """A running job. Use it as a context manager: leaving it leaves nothing running."""

    @property
    def error(self) -> str | None:
        """What the *target* did wrong, once iteration has ended; None if nothing. It is a result of the step."""
        ...

    @property
    def frozen_ns(self) -> int:
        """For how long everything on this side was stopped, and the rows do not hold it."""
        ...

    def __iter__(self) -> Iterator[list[Sample]]:
        """Batches of rows as they are measured, an empty one for an interval without news; ends with the job.

        Raises EnvironmentFailure if the load generator failed, after everything measured was delivered.
        """
        ...

    def pause(self) -> None:
        """Let the target rest until ``go_on``. The run's clock stands still; iterate on, empty batches come."""
        ...

    def go_on(self) -> None:
        """Go on after a ``pause`` with what was next."""
        ...

    def stop(self) -> None:
        """Ask for a clean end. Iterate on: what is left is delivered, then iteration ends."""
        ...

    def __enter__(self) -> Self:
        """It runs already."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave nothing running."""
        ...


class Arena(Protocol):
    """One target and one clock; at most one load at a time. ``close`` it when the run is over."""

    @property
    def name(self) -> Literal["model", "lab", "device"]:
        """Which arena it is."""
        ...

    @property
    def identity(self) -> Identity:
        """Who the target is."""
        ...

    @property
    def remembers(self) -> bool:
        """Whether the target was there before, so that a resumed run finds it as its earlier steps have left it."""
        ...

    def guarded(self) -> Guarded | None:
        """What the guard says of a disk; None where the target is none."""
        ...

    def check(self, job: str) -> None:
        """Raise UsageError if the fio job cannot run here, RefusedError if it would write where it must not."""
        ...

    def thermometer(self) -> Thermometer | None:
        """What tells how warm the target is; None where nothing can. ``close`` it."""
        ...

    def missing(self) -> str | None:
        """Why no load can be started just now, such as that the target is gone; None if one can.

        A target that has come back elsewhere is found there. Raises RefusedError where it cannot be told from another.
        """
        ...

    def start(self, step: str, job: str, interval_ns: int, *, watched: bool = True) -> Load:
        """Begin a fio job; rows cover ``interval_ns`` each and carry the name ``step``.

        With ``watched`` a batch is one interval; without, where time is virtual, it may be many, which is faster.
        """
        ...

    def replay(self, name: str, trace: Trace) -> Log:
        """Play exact requests, as many in flight as the trace says; ``name`` is what for.

        The log's clock goes on from trace to trace. Raises RefusedError and EnvironmentFailure.
        """
        ...

    def idle(self, duration_ns: int) -> None:
        """Leave the target alone for so long."""
        ...

    def close(self, *, finished: bool = True) -> None:
        """Let go of the target and, once the run has ``finished``, remove what was made for it only."""
        ...
