"""Users of a real array: a fio job on a file of its filesystem, alone or beside a rebuild."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final

from shakedown.device.arena import DeviceArena
from shakedown.device.file import FileMedium
from shakedown.device.load_options import admit_job
from shakedown.errors import EnvironmentFailure, UsageError
from shakedown.sample import Sample
from shakedown.tools.fio.command import render_job
from shakedown.tools.fio.document import DIRECTIONS, parse_document
from shakedown.tools.fio.interval import Intervals
from shakedown.tools.fio.job import Option, parse_job
from shakedown.tools.fio.locate import locate_fio
from shakedown.units import NS_PER_S

_INTERVAL_NS: Final = NS_PER_S
_LAST_WORD_S: Final = 30.0
_LARGEST_BYTES: Final = 1 << 62
# fio has no word for "until it is over".
_ENDLESS: Final = (Option("time_based", "1"), Option("runtime", str(365 * 86_400)))


def endless(job: str) -> str:
    """The job without an end of its own. Raises UsageError where its parts follow each other, or no target takes it.

    Of its size nothing is known before the array is filled; of all else it is told before anything is overwritten.
    """
    sections = parse_job(job, "load")
    admit_job(job, "load", _LARGEST_BYTES)
    if any(section.flag("stonewall") for section in sections):
        raise UsageError("`stonewall` has no place beside a rebuild: all sections run until it is over")
    return render_job(sections, _ENDLESS)


class Users(AbstractContextManager["Users"]):
    """A job that goes on, in the background, until it is told to stop. Use it as a context manager."""

    def __init__(self, job: str, file: Path, raw: Path, step: str) -> None:
        """Start it on ``file``, which is ours. Raises UsageError and EnvironmentFailure."""
        medium = FileMedium(str(file), run=raw.parent, consent=(str(file.absolute()),))
        self._arena = DeviceArena(medium, locate_fio(), raw)
        self._step = step
        self._raw = raw
        self._before = set(raw.glob(f"{step}*"))
        self._load = self._arena.start(step, endless(job), _INTERVAL_NS)
        self._samples: list[Sample] = []
        self._trouble: BaseException | None = None
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        try:
            for batch in self._load:
                self._samples += batch
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            self._trouble = error

    def stop(self) -> tuple[list[Sample], list[Sample]]:
        """The samples, and one row for each direction over all of it. Raises EnvironmentFailure.

        Whatever else has ended the listening is raised as it is: half of the samples are none.
        """
        self._load.stop()
        self._thread.join()
        if self._trouble is not None:
            raise self._trouble
        self._load.__exit__(None, None, None)  # fio's last document lies in its folder from then on
        return self._samples, self._felt()

    def _felt(self) -> list[Sample]:
        [folder] = set(self._raw.glob(f"{self._step}*")) - self._before
        try:
            document = parse_document((folder / "final.json").read_text())
        except OSError as error:
            raise EnvironmentFailure(f"fio has left nothing in {folder}", hint="did it run at all?") from error
        rows = Intervals(self._step, DIRECTIONS, 0, _INTERVAL_NS).samples(document, NS_PER_S, last=True)
        return [row for row in rows if row.count]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave nothing running."""
        with ExitStack() as undo:
            undo.callback(self._arena.close, finished=False)
            undo.push(self._load)
            # What the thread reads is closed behind it; of a fio that is stuck in the kernel it never sees the end.
            self._load.kill()
            self._thread.join(_LAST_WORD_S)
