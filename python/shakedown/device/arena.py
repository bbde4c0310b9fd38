"""The device arena: a job on a real target through the real fio, by the wall clock."""

from __future__ import annotations

import time
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

import numpy as np

from shakedown.device.disk.medium import DiskMedium, Guarded
from shakedown.device.load_options import admit_job, longest_pause_ns
from shakedown.device.medium import Lease, Medium
from shakedown.device.replay import read_log, replay_options, write_iolog
from shakedown.errors import EnvironmentFailure, UsageError
from shakedown.fit.trace import READ, Log, Trace
from shakedown.real_time import ahead_of_others
from shakedown.result.identity import Identity
from shakedown.tools.fio.command import check_job_file, render_job, run_command
from shakedown.tools.fio.job import Option, Section, in_order, parse_job
from shakedown.tools.fio.load import FioLoad, Patience, Plan
from shakedown.tools.fio.locate import Fio
from shakedown.tools.fio.raw import Raw, new_folder
from shakedown.tools.temperature import Thermometer
from shakedown.units import NS_PER_S

# What whoever asks feels is `lat`. `clat` leaves out for how long the kernel took a request in, which may be a stall.
_LATENCIES: Final = (Option("lat_percentiles", "1"), Option("clat_percentiles", "0"))
# Threads, so that one process is all of fio and nothing outlives it; no state files in the folder it runs in.
_ALWAYS: Final = (Option("thread", "1"), Option("verify_state_save", "0"), *_LATENCIES)
_REPLAY_INTERVAL_NS: Final = 5 * NS_PER_S


class DeviceArena:
    """Implements the arenas' ``Arena`` on any ``Medium``. Its clock starts when it is made."""

    def __init__(self, medium: Medium, fio: Fio, raw: Path, patience: Patience | None = None) -> None:
        """``raw`` is the run's folder for fio's own files. Raises EnvironmentFailure if fio cannot reach the medium."""
        medium.require(fio)
        self._medium = medium
        self._fio = fio
        self._raw = raw
        self._patience = patience or Patience()
        self._began_ns = time.monotonic_ns()
        self._load: FioLoad | None = None
        # By the wall clock, as in fio's log: until when the target rests, and what a fio takes to its first request.
        self._rests_until_ns = time.time_ns()
        self._starting_ns: int | None = None

    @property
    def name(self) -> Literal["device", "lab"]:
        """The device arena; within a guest, where the disks are modelled, the lab."""
        return "lab" if self.identity.kind == "lab" else "device"

    @property
    def identity(self) -> Identity:
        """Who the target is."""
        return self._medium.identity

    def guarded(self) -> Guarded | None:
        """What the guard says of a disk; None where the target is none."""
        return self._medium.guarded() if isinstance(self._medium, DiskMedium) else None

    def check(self, job: str) -> None:
        """Raise UsageError if the job cannot run here, RefusedError if it writes where that could do harm."""
        # Whose data it is comes first: who is refused need not first be told what else is wrong.
        if _writes(parse_job(job, "job")):
            self._medium.admit_writing()
        if self.identity.capacity_bytes == 0:
            raise UsageError(f"{self.identity.text} is too small: a target has at least 4096 bytes")
        sections = self._admit(job, "job")
        check_job_file(self._fio, render_job(sections, _ALWAYS))

    def start(self, step: str, job: str, interval_ns: int, *, watched: bool = True) -> FioLoad:  # noqa: ARG002
        """Start fio on the target; rows come as they are measured, whether or not anybody watches.

        Raises UsageError, RefusedError and EnvironmentFailure.
        """
        sections = self._admit(job, step)
        write = _writes(sections)
        with ExitStack() as belongings:
            # The first that is entered is the last that is left: fio has ended by then.
            belongings.callback(self._rest_from_now)
            lease = belongings.enter_context(self._medium.lend(write=write))
            folder = new_folder(self._raw, step)
            text = self._job_text(sections, lease)
            command = run_command(self._fio, folder / "job.fio", interval_ns, read_only=not write)
            raw = belongings.enter_context(Raw(folder, text, command))
            plan = Plan(
                command,
                lease.inherit,
                step,
                in_order(move for section in sections for move in section.directions),
                interval_ns,
                replace(self._patience, silence_ns=self._patience.silence_ns + longest_pause_ns(sections)),
            )
            return self._begin(plan, raw, belongings)

    def thermometer(self) -> Thermometer | None:
        """Of a disk; of a file nobody tells it."""
        device = self._medium.device
        return None if device is None else Thermometer(device)

    def missing(self) -> str | None:
        """Why no load can be started just now, None if one can. Raises RefusedError."""
        return self._medium.missing(failed=self._load is not None and self._load.error is not None)

    def replay(self, name: str, trace: Trace) -> Log:
        """Let fio replay exact requests and read its log of them. Raises RefusedError and EnvironmentFailure."""
        write = bool(np.any(trace.verbs != READ))
        with ExitStack() as belongings:
            lease = belongings.enter_context(self._medium.lend(write=write))
            folder = new_folder(self._raw, name)
            options, target = replay_options(lease.options, trace.depth)
            write_iolog(folder, target, trace)
            text = render_job((Section(name, ()),), (*options, *_ALWAYS))
            command = run_command(self._fio, folder / "job.fio", _REPLAY_INTERVAL_NS, read_only=not write)
            raw = belongings.enter_context(Raw(folder, text, command))
            plan = Plan(command, lease.inherit, name, (), _REPLAY_INTERVAL_NS, self._patience)
            began_ns = time.time_ns()
            with self._begin(plan, raw, belongings) as load:
                for _ in load:
                    pass
            if load.error:
                raise EnvironmentFailure(f"the target failed while `{name}` was measured: {load.error}")
            log = read_log(folder, trace)
        starting_ns = max(int(log.submitted_ns[0]) - began_ns, 0)
        self._starting_ns = min(self._starting_ns or starting_ns, starting_ns)
        self._rests_until_ns = log.ended_ns
        return log

    def _begin(self, plan: Plan, raw: Raw, belongings: ExitStack) -> FioLoad:
        """Start fio; as a client of a server, in real time like that: what else the machine does is not the drive."""
        with ahead_of_others() if self.identity.kind == "nbd" else nullcontext():
            self._load = FioLoad(plan, raw, self._now_ns, belongings)
        return self._load

    @property
    def remembers(self) -> bool:
        """Whether the target was there before the arena."""
        return self._medium.remembers

    def idle(self, duration_ns: int) -> None:
        """Leave the target alone from its last request to the next, as far as that can come so soon."""
        self._rests_until_ns += duration_ns
        time.sleep(max(self._rests_until_ns - time.time_ns() - (self._starting_ns or 0), 0) / NS_PER_S)

    def _rest_from_now(self) -> None:
        self._rests_until_ns = time.time_ns()

    def close(self, *, finished: bool = True) -> None:
        """Remove what was made for this run only, once that has ``finished``."""
        self._medium.close(finished=finished)

    def _now_ns(self) -> int:
        return time.monotonic_ns() - self._began_ns

    def _admit(self, job: str, name: str) -> tuple[Section, ...]:
        return admit_job(job, name, self.identity.capacity_bytes)

    def _job_text(self, sections: tuple[Section, ...], lease: Lease) -> str:
        return render_job(sections, (*lease.options, *_ALWAYS))


def _writes(sections: tuple[Section, ...]) -> bool:
    return any(move != "read" for section in sections for move in section.directions)
