"""Everything that may go wrong and is not our own bug, as one tree.

A message says what is wrong and where; ``hint`` says what to do next. The command line prints both and exits with
``exit_status``; a bug of ours is any other exception. What a *drive* does wrong is a result, never one of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

if TYPE_CHECKING:
    from pydantic import ValidationError

TRACEBACK: Final = "SHAKEDOWN_TRACEBACK"
"""A variable of the environment: where it is set, a bug of ours shows where it is."""


class Planned(NamedTuple):
    """What would be done to one target, for people and for programs."""

    lines: tuple[str, ...]
    document: dict[str, Any]


class ShakedownError(Exception):
    """What is wrong, and a hint what to do next (may be empty); ``plan`` is what would have been done, if it is known.

    It holds lines for people, and plain values.
    """

    exit_status: ClassVar[int] = 5
    plan: tuple[Planned, ...] = ()

    def __init__(self, message: str, *, hint: str = "") -> None:
        """Keep the message for people and the hint apart, so that each is printed in its own line."""
        super().__init__(message)
        self.hint = hint

    def add_hint(self, more: str) -> None:
        """What to do besides."""
        self.hint = f"{self.hint}; {more}" if self.hint else more

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and sent to other processes as it is: the arguments of a subclass need not be what it holds."""
        return _with_message, (type(self), *self.args), vars(self)


def _with_message(kind: type[ShakedownError], *message: str) -> ShakedownError:
    return kind.__new__(kind, *message)


class UsageError(ShakedownError):
    """The command line, a profile, a protocol, a job or a run folder cannot be used as it stands."""

    exit_status = 2


def damaged(what: str, error: ValidationError, hint: str) -> UsageError:
    """For something that was written whole and is so no more: the first of its places that is wrong."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or "the whole"
    return UsageError(f"{what} is damaged: `{where}`: {first['msg']}", hint=hint)


class InconclusiveError(ShakedownError):
    """There is not enough evidence to answer."""

    exit_status = 3


class RefusedError(ShakedownError):
    """Doing it could harm data that is not ours.

    ``options`` of the command line, if any, would allow it; ``strangers`` were named to give up their data and are none
    of the targets.
    """

    exit_status = 4

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        options: Sequence[str] = (),
        strangers: Sequence[str] = (),
        plan: Sequence[Planned] = (),
    ) -> None:
        """Without options it stands whatever the user says, unless the hint tells otherwise."""
        super().__init__(message, hint=hint)
        self.options = tuple(options)
        self.strangers = tuple(strangers)
        self.plan = tuple(plan)


class EnvironmentFailure(ShakedownError):  # noqa: N818 - it is the environment's failure, not an error of the user
    """A program, a file system or the network did not do its part."""

    exit_status = 5


class Interrupted(ShakedownError):  # noqa: N818 - a state, not an error
    """Stopped on request; what was measured is kept and the run can be resumed."""

    exit_status = 130
