"""An arena of a few lines, whose loads deliver what a test tells them to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Literal, Self

from shakedown.errors import EnvironmentFailure, UsageError
from shakedown.result.identity import Identity
from shakedown.sample import Sample
from shakedown.tools.temperature import Thermometer
from shakedown.units import NS_PER_S


class FakeArena:
    """Writes 1000 requests of 4 KiB a second, ten intervals a job; ``fault`` of a step is raised after three.

    A load that is stopped waits ``in_flight_ns`` for one request that takes a second longer than that.
    """

    def __init__(self, name: Literal["model", "device"] = "device", capacity_bytes: int = 1 << 30) -> None:
        self.name: Literal["model", "device"] = name
        self.identity = Identity(
            kind="model" if name == "model" else "file",
            text="model:fake",
            name="fake",
            model="FAKE 1",
            capacity_bytes=capacity_bytes,
            shingled=None,
            details={},
        )
        self.now_ns = 0
        self.started: list[str] = []
        self.refused: set[str] = set()
        self.faults: dict[str, Exception] = {}
        self.target_errors: dict[str, str] = {}
        self.when_measured: Callable[[str, int], None] = lambda step, number: None
        self.warmth: Thermometer | None = None
        self.absences: list[str | None] = []
        self.remembers = name == "device"
        self.closed = False
        self.in_flight_ns = 0

    def guarded(self) -> None:
        return None

    def thermometer(self) -> Thermometer | None:
        return self.warmth

    def missing(self) -> str | None:
        return self.absences.pop(0) if self.absences else None

    def check(self, job: str) -> None:
        if any(word in job for word in self.refused):
            raise UsageError("the arena does not know this option", hint="take it out")

    def start(self, step: str, job: str, interval_ns: int, *, watched: bool = True) -> FakeLoad:
        self.started.append(step)
        return FakeLoad(self, step, interval_ns)

    def idle(self, duration_ns: int) -> None:
        self.now_ns += duration_ns

    def close(self, *, finished: bool = True) -> None:
        self.closed = True


class FakeLoad:
    def __init__(self, arena: FakeArena, step: str, interval_ns: int) -> None:
        self.arena = arena
        self.step = step
        self.interval_ns = interval_ns
        self.stopped = False
        self.frozen_ns = 0
        self.error: str | None = arena.target_errors.get(step)

    def __iter__(self) -> Iterator[list[Sample]]:
        for number in range(10):
            if self.stopped:
                if self.arena.in_flight_ns:
                    yield [self._late()]
                return
            if number == 3 and self.step in self.arena.faults:
                raise self.arena.faults[self.step]
            yield [self._sample()]
            self.arena.when_measured(self.step, number)

    def _sample(self) -> Sample:
        start_ns = self.arena.now_ns
        self.arena.now_ns += self.interval_ns
        count = 1000 * self.interval_ns // NS_PER_S
        latencies = (1_000_000.0, 1_000_000, 2_000_000, 3_000_000, 4_000_000)
        return Sample(self.step, "write", start_ns, self.interval_ns, count, 4096 * count, *latencies)

    def _late(self) -> Sample:
        start_ns, waited_ns = self.arena.now_ns, self.arena.in_flight_ns
        self.arena.now_ns += waited_ns
        took_ns = waited_ns + NS_PER_S
        return Sample(self.step, "write", start_ns, waited_ns, 1, 4096, took_ns, *4 * (took_ns,))

    def pause(self) -> None:
        self.arena.started.append(f"{self.step} paused")

    def go_on(self) -> None:
        self.arena.started.append(f"{self.step} goes on")

    def stop(self) -> None:
        self.stopped = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopped = True


FIO_CRASHED = EnvironmentFailure("fio died of signal 9", hint="look into raw/")
