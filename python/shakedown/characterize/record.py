"""What is written down of a characterisation: what was asked for, of which target, and whether all is measured."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from shakedown.errors import UsageError
from shakedown.named_file import read_named_file
from shakedown.result.atomic import replace_json
from shakedown.result.identity import Identity
from shakedown.result.version import refuse_newer

RECORD_NAME: Final = "characterize.json"
FORMAT_VERSION: Final = 1


@dataclass(frozen=True)
class Order:
    """What is asked for."""

    target: str
    name: str
    seed: int = 1
    scale_divisor: int = 1
    with_parking: bool = True
    size_bytes: int | None = None


@dataclass(frozen=True)
class Record:
    """Of the run in a folder."""

    order: Order
    target: Identity | None
    """Who is measured; None in what was written before that was kept."""
    complete: bool = False
    """Whether every log is there."""

    def keep(self, folder: Path) -> None:
        """Write it. Raises EnvironmentFailure."""
        target = None if self.target is None else self.target.model_dump(exclude_none=True)
        document = {"format_version": FORMAT_VERSION, "order": asdict(self.order)}
        replace_json(folder / RECORD_NAME, document | {"target": target, "complete": self.complete})

    def refuse_other(self, found: Identity) -> None:
        """Raise UsageError if that is another target: logs of two drives make no drive."""
        if self.target is None:
            return
        known, now = ((one.model, one.name, one.capacity_bytes) for one in (self.target, found))
        if known != now:
            raise UsageError(
                f"{found.text} is {found.model}, {found.capacity_bytes} bytes; measured before was {self.target.name}, "
                f"{self.target.model}, {self.target.capacity_bytes} bytes",
                hint="go on with that one, or measure this one in another folder",
            )


def read_record(folder: Path) -> Record:
    """The record of the run in a folder. Raises UsageError."""
    hint = "give the folder that `shakedown characterize` made"
    try:
        content = read_named_file(folder / RECORD_NAME, hint=hint)
    except UsageError as error:
        raise UsageError(f"`{folder}` is no run of characterize: {error}", hint=hint) from error
    try:
        document = json.loads(content)
        refuse_newer(document.get("format_version"), FORMAT_VERSION, folder / RECORD_NAME)
        target = document.get("target")
        order = Order(**document["order"])
        return Record(order, None if target is None else Identity(**target), document.get("complete") is True)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"`{folder}` is no run of characterize: its `{RECORD_NAME}` is damaged", hint=hint) from error
