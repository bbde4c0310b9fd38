"""What a real rebuild has done so far: written before each step, so that a reboot loses nothing but time."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Self

from shakedown.array.order import RebuildOrder
from shakedown.errors import UsageError
from shakedown.named_file import read_named_text
from shakedown.result.atomic import replace_file
from shakedown.result.version import refuse_newer

_NAME: Final = "array.json"
_FORMAT_VERSION: Final = 1

Stage = Literal["planned", "taken", "created", "filled", "rebuilding", "over"]
Turn = Literal["baseline", "new", "used"]


@dataclass
class State:
    """``stage`` is what was begun last; ``turn`` counts the rebuilds that are over.

    ``drives`` are the identities of all drives, the replacement being the last; ``content`` and ``users`` tell what
    the array was filled with; ``alone`` and ``during`` are rows of samples and of all requests; ``watched`` is the
    rebuild on the way, ``rebuilt`` those that are over. ``restarts`` counts how often the rebuild whose turn it is was
    given up on request, its array taken down, and begun again. When all rebuilds are ``over``, the array is left to be
    taken down, and the run to be kept; ``differing`` are then the files that were not what was written, None where
    nobody has read them back to the end.
    """

    order: RebuildOrder
    turns: list[Turn]
    identity: str
    drives: list[dict[str, Any]]
    stage: Stage = "planned"
    turn: int = 0
    content: dict[str, int] | None = None
    users: dict[str, int] | None = None
    alone: list[list[Any]] = field(default_factory=lambda: [[], []])
    watched: dict[str, Any] | None = None
    rebuilt: list[dict[str, Any]] = field(default_factory=list)
    during: list[list[list[Any]]] = field(default_factory=list)
    allocated_bytes: int = 0
    restarts: int = 0
    differing: list[str] | None = None

    def begin_again(self) -> None:
        """The array is no more, but what was rebuilt is known."""
        self.restarts += self.stage == "rebuilding"
        self.stage, self.watched, self.content, self.users = "planned", None, None, None

    def write(self, out: Path) -> None:
        """Make it durable."""
        replace_file(out / _NAME, json.dumps({"format_version": _FORMAT_VERSION, **asdict(self)}, indent=1).encode())

    @classmethod
    def read(cls, out: Path) -> Self:
        """Of the run in ``out`` that was cut off. Raises UsageError."""
        if not cls.is_in(out):
            raise UsageError(
                f"`{out}` holds no rebuild that was cut off", hint="a new one: shakedown rebuild LAYOUT DEVICE..."
            )
        written = read_named_text(out / _NAME, hint="start anew in another folder")
        try:
            told = json.loads(written)
            refuse_newer(told.pop("format_version"), _FORMAT_VERSION, out / _NAME)
            return cls(**{**told, "order": RebuildOrder.from_json(told["order"])})
        except (ValueError, TypeError, KeyError) as error:
            raise UsageError(f"`{out / _NAME}` is damaged: {error}", hint="start anew in another folder") from error

    @staticmethod
    def is_in(out: Path) -> bool:
        """Whether a rebuild was cut off in ``out``."""
        return (out / _NAME).exists()

    @staticmethod
    def forget(out: Path) -> None:
        """Nothing is left to go on with."""
        (out / _NAME).unlink(missing_ok=True)
