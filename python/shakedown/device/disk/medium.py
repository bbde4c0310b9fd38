"""A whole disk as a target.

Until writing is asked for, it is only ever opened for reading. From then on it is held exclusively, by one descriptor
that stays open to the end: whatever happens to names meanwhile, fio gets this very device.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from shakedown.device.disk.edges import save_edges
from shakedown.device.disk.facts import Consent, Situation
from shakedown.device.disk.machine import Machine, Unread
from shakedown.device.disk.naming import folder_of, name_of
from shakedown.device.disk.presence import UNKNOWN_MODEL, answers, find_disk
from shakedown.device.disk.rules import Refusal, decide, options_to_type, strangers
from shakedown.device.disk.show import document, lines
from shakedown.device.disk.survey import survey
from shakedown.device.medium import Lease
from shakedown.errors import EnvironmentFailure, RefusedError, UsageError
from shakedown.result.identity import Identity
from shakedown.tools.fio.job import Option
from shakedown.tools.fio.locate import Fio
from shakedown.units import format_size

_TARGETS: Final = ("disk", "loop")
_GRAIN_BYTES: Final = 4096
# Somebody else has the disk, or we may not have it: the guard's refusals are then the better answer.
_WITHHELD: Final = (errno.EBUSY, errno.EPERM, errno.EACCES)
# How long to wait for one who only looks at the disk, time after time; then it counts as in use.
_PAUSES_S: Final = (0.3, 1.0, 0.0)


class GuardError(RefusedError):
    """The guard forbids writing."""

    def __init__(
        self,
        situation: Situation,
        refusals: Sequence[Refusal],
        options: Sequence[str] = (),
        strangers: Sequence[str] = (),
    ) -> None:
        """Say all reasons, the gravest first."""
        text = f"{situation.text} may not be written to: {'; '.join(refusal.words for refusal in refusals)}"
        super().__init__(text, hint=refusals[0].hint, options=options, strangers=strangers)


class Guarded(NamedTuple):
    """The guard's plan of a device: lines for people, plain values for programs, and what it says.

    ``options``, if any, would allow writing, in addition to those given, of which ``strangers`` name something else.
    """

    lines: tuple[str, ...]
    document: dict[str, Any]
    options: tuple[str, ...]
    refusals: tuple[Refusal, ...]
    strangers: tuple[str, ...]


class DiskMedium:
    """Implements ``Medium``. The disk is known by its number, serial, WWN, model and size from its first survey."""

    remembers = True

    def __init__(self, text: str, *, run: Path, consent: Consent, machine: Machine | None = None) -> None:
        """Look at the device. Raises UsageError and RefusedError: what is no disk is no target, even for reading."""
        self._run = run
        self._consent = consent
        self._machine = machine or Machine()
        self._claim: int | None = None
        self._written = False
        self.situation = survey(text, run, self._machine)
        if self.situation.kind not in _TARGETS or self.situation.name.size_bytes == 0:
            raise GuardError(self.situation, self.refusals)
        self.identity = self._identify()

    @property
    def device(self) -> Path | None:
        """The disk's node; of a loop device, which has no temperature, none."""
        return Path("/dev") / self.situation.kernel_name if self.situation.kind == "disk" else None

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """What forbids writing to it, as it was seen last."""
        return decide(self.situation, self._consent)

    def guarded(self) -> Guarded:
        """What the guard says of the disk as it was seen last."""
        refusals = self.refusals
        return Guarded(
            tuple(lines(self.situation, refusals)),
            document(self.situation, refusals),
            self.options_to_type,
            refusals,
            strangers(self.situation, self._consent),
        )

    @property
    def options_to_type(self) -> tuple[str, ...]:
        """The options that would allow writing, in addition to those given; empty where none would."""
        return options_to_type(self.situation, self._consent)

    def require(self, fio: Fio) -> None:
        """Disks go through libaio, which keeps a queue depth of real requests."""
        fio.require_engine("libaio", "install a fio that was built with libaio")

    def admit_writing(self) -> None:
        """Hold the disk, look anew, and let go of it again unless it may be overwritten.

        What is found while it is held cannot change behind our back: nobody else can mount it or build on it.
        Raises GuardError, RefusedError and EnvironmentFailure.
        """
        self._check_same()
        for pause_s in () if self._claim is not None else _PAUSES_S:
            try:
                self._hold()
            except RefusedError:
                if not pause_s or not self._only_looked_at():
                    raise
                time.sleep(pause_s)
            else:
                break

    def missing(self, *, failed: bool) -> str | None:
        """Why no load can be put on it just now, None if it can.

        A disk that was away may be back under another name: it is looked for by what it says of itself, and all that
        the guard asks is asked anew before it is written to. Raises RefusedError where two say the same.
        """
        if not self._is_there():
            self.close()  # what is held is nobody's any more, and keeps the kernel from giving its name again
            found = find_disk(self._machine, self.situation.name)
            if found is None:
                return f"{self.situation.text} is gone"
            fresh = survey(f"/dev/{found}", self._run, self._machine)
            self.situation = replace(fresh, text=self.situation.text)
        if failed and not answers(self._machine.at(f"/dev/{self.situation.kernel_name}")):
            return f"{self.situation.text} does not answer"
        return None

    def _is_there(self) -> bool:
        folder = folder_of(self._machine, self.situation.number)
        try:
            return folder is not None and name_of(self._machine, folder) == self.situation.name
        except Unread:
            return False

    def _hold(self) -> None:
        self._claim = self._open_exclusively()
        try:
            self._look_anew()
        except BaseException:
            self.close()
            raise

    def _only_looked_at(self) -> bool:
        """Whether somebody's having it open is all that is wrong: udev and others look at disks now and then."""
        final = [refusal for refusal in self.refusals if refusal.is_final]
        return all(refusal.rule == "in-use" for refusal in final) and all(
            use.kind in ("open", "exclusive") for use in self.situation.uses
        )

    def _look_anew(self) -> None:
        self._check_same()
        device = f"/dev/{self.situation.kernel_name}"
        fresh = survey(device, self._run, self._machine, claimed=self._claim is not None)
        self.situation = replace(fresh, text=self.situation.text)
        if self.refusals:
            others = strangers(self.situation, self._consent)
            raise GuardError(self.situation, self.refusals, self.options_to_type, others)
        if self._claim is None:
            busy = f"{self.situation.text} was in use a moment ago"
            raise RefusedError(busy, hint="`lsblk` and `lsof` show by whom; no consent overrides this")

    @contextmanager
    def lend(self, *, write: bool) -> Iterator[Lease]:
        """Give fio the opened device itself. Before the first write all is looked at once more, and the edges are kept.

        After that only who it is is read again: what we have written may look like anything, and the looking would
        move the heads of a drive that is being measured.
        """
        self._check_same()
        if write:
            self.admit_writing()
        descriptor = self._open_for_reading() if self._claim is None else os.dup(self._claim)
        try:
            if write and not self._written:
                self._look_anew()
                save_edges(descriptor, self.situation, self._run, self._machine)
                self._check_same()
                self._written = True
            yield Lease(self._options(descriptor), (descriptor,))
        finally:
            os.close(descriptor)

    def close(self, *, finished: bool = True) -> None:  # noqa: ARG002 - what was written stays, finished or not
        """Let go of the disk."""
        if self._claim is not None:
            os.close(self._claim)
            self._claim = None

    def _options(self, descriptor: int) -> tuple[Option, ...]:
        options = {
            # fio opens it anew, for writing where it writes; our own descriptor never can.
            "filename": f"/proc/self/fd/{descriptor}",
            "ioengine": "libaio",
            "direct": "1",
            "allow_file_create": "0",
            # In a guest of the lab the processor's own clock is the host's.
            "clocksource": "clock_gettime",
        }
        return tuple(Option(name, value) for name, value in options.items())

    def _open_exclusively(self) -> int | None:
        """The device for us alone, None where it is not to be had: a look tells why. Raises EnvironmentFailure."""
        try:
            return self._open(os.O_EXCL)
        except OSError as error:
            if error.errno in _WITHHELD:
                return None
            raise self._gone(error) from error

    def _open_for_reading(self) -> int:
        try:
            return self._open(0)
        except OSError as error:
            raise self._gone(error) from error

    def _open(self, flags: int) -> int:
        """The device that was surveyed, by its number: a name may lead elsewhere by now."""
        path = self._machine.at(f"/dev/{self.situation.kernel_name}")
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | flags)
        status = os.fstat(descriptor)
        number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
        if not stat.S_ISBLK(status.st_mode) or number != self.situation.number:
            os.close(descriptor)
            raise RefusedError(f"{path} is another device than the one examined", hint="start again")
        return descriptor

    def _check_same(self) -> None:
        """Read once more who it is, by its number. Raises RefusedError and, where it is gone, EnvironmentFailure."""
        then = self.situation
        folder = f"/sys/dev/block/{then.number}"
        try:
            if self._machine.text(f"{folder}/dev") is None:
                raise self._gone(FileNotFoundError(errno.ENOENT, "it is not there any more"))
            now = name_of(self._machine, self._machine.real(folder))
        except Unread as failure:
            raise RefusedError(f"{then.text}: it could not be learned {failure}", hint="start again") from failure
        if now != then.name:
            raise RefusedError(
                f"{then.text} is another device than the one examined: {_told(now.model, now.serial, now.wwn)} now,"
                f" {_told(then.name.model, then.name.serial, then.name.wwn)} before",
                hint="start again",
            )

    def _gone(self, error: OSError) -> EnvironmentFailure:
        return EnvironmentFailure(
            f"{self.situation.text} cannot be opened: {error.strerror}", hint="`dmesg` may tell why"
        )

    def _identify(self) -> Identity:
        situation = self.situation
        name = situation.name
        facts = {
            "serial": name.serial,
            "wwn": None if name.wwn is None else f"0x{name.wwn}",
            "backing_file": situation.backing_file,
            "note_practice": "a loop device on a file: its figures are those of the file system below"
            if situation.kind == "loop"
            else None,
        }
        if name.size_bytes < _GRAIN_BYTES:
            raise UsageError(f"{situation.text} is too small: {format_size(name.size_bytes)}")
        return Identity(
            kind="disk" if situation.kind == "disk" else "loop",
            text=situation.text,
            name=situation.by_id[0].rpartition("/")[2] if situation.by_id else situation.kernel_name,
            model=name.model or ("loop device" if situation.kind == "loop" else UNKNOWN_MODEL),
            capacity_bytes=name.size_bytes // _GRAIN_BYTES * _GRAIN_BYTES,
            details={key: value for key, value in facts.items() if value is not None},
        )


def _told(*parts: str | None) -> str:
    return ", ".join(part for part in parts if part) or "nothing is told of it"
