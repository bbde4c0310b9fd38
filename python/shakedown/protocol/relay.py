"""A run's progress from inside of a guest to whoever listens outside: a line for each event, in the guest's output."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, TextIO

from shakedown.protocol.play import Listener
from shakedown.protocol.schema import Protocol, Step
from shakedown.result.run_record import RunRecord, StepRecord
from shakedown.sample import Sample

# Before each event (RFC 7464); what else is printed has none.
_MARK: Final = "\x1e"


class Teller(Listener):
    """A listener that writes what it hears, for a ``Hearer``."""

    def __init__(self, stream: TextIO) -> None:
        """Write to ``stream``."""
        self._stream = stream

    def planned(self, lines: Sequence[str]) -> None:
        """Nothing: a disk of the lab holds nobody's data."""

    def run_began(self, record: RunRecord, protocol: Protocol) -> None:  # noqa: ARG002 - the other side has it
        """Tell whose turn has come."""
        self._tell("run-began", record.model_dump(mode="json"))

    def step_began(self, step: Step) -> None:
        """Tell its name."""
        self._tell("step-began", step.name)

    def measured(self, samples: Sequence[Sample]) -> None:
        """Tell them all."""
        self._tell("measured", [list(sample) for sample in samples])

    def noted(self, text: str) -> None:
        """Tell the same."""
        self._tell("noted", text)

    def step_ended(self, record: StepRecord) -> None:
        """Tell how."""
        self._tell("step-ended", record.model_dump(mode="json"))

    def _tell(self, event: str, content: object) -> None:
        self._stream.write(f"{_MARK}{json.dumps([event, content])}\n")
        self._stream.flush()


class Hearer:
    """Takes the guest's output and lets a listener know of what is told there."""

    def __init__(self, listener: Listener, protocol: Protocol) -> None:
        """Pass it on to ``listener``; the guest plays ``protocol``."""
        self._listener = listener
        self._protocol = protocol
        self._steps = {step.name: step for step in protocol.steps}
        self._rest = b""

    def hear(self, output: bytes) -> None:
        """Take in what has come, in pieces of any size."""
        *lines, self._rest = (self._rest + output).split(b"\n")
        for line in lines:
            if line.startswith(_MARK.encode()):
                self._pass_on(*json.loads(line[1:]))

    def _pass_on(self, event: str, content: Any) -> None:
        match event:
            case "run-began":
                self._listener.run_began(RunRecord.model_validate(content), self._protocol)
            case "step-began":
                self._listener.step_began(self._steps[content])
            case "measured":
                self._listener.measured([Sample(*values) for values in content])
            case "noted":
                self._listener.noted(content)
            case "step-ended":
                self._listener.step_ended(StepRecord.model_validate(content))
