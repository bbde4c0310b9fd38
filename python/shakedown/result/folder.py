"""A run is a folder: ``run.json``, ``samples.parquet``, ``raw/`` and the ``journal``.

``RunFolder`` is for whoever measures, ``read_run`` for whoever shows.
"""

from __future__ import annotations

import fcntl
import os
import shlex
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, Self

import polars as pl

from shakedown.analysis.series import Loads
from shakedown.errors import UsageError
from shakedown.result import journal
from shakedown.result.atomic import failed_write, make_folder, replace_file, sync, unfinished
from shakedown.result.read import read_regular
from shakedown.result.run_record import RunRecord, parse_run_record
from shakedown.result.samples import DIGEST_NAME, SAMPLES_NAME, SPOOL_NAME, SampleWriter, holds_no_sample, read_samples
from shakedown.sample import Sample

RECORD_NAME: Final = "run.json"
RAW_NAME: Final = "raw"
CELLS_NAME: Final = "cells"
"""Where a matrix has the runs of its cells."""
BASELINE_NAME: Final[Literal["baseline"]] = "baseline"

RUN_BEGAN: Final = "run-began"
"""The event of the journal that comes before the record."""

_UNFINISHED: Final = {unfinished(Path(name)).name for name in (RECORD_NAME, SAMPLES_NAME, DIGEST_NAME)}


def _is_begun(path: Path) -> bool:
    """Whether more is in a folder than what a run leaves that was killed before its record stood: nothing measured."""
    return not all(_is_of_the_beginning(each) for each in path.iterdir())


def _is_of_the_beginning(path: Path) -> bool:
    if path.is_symlink():
        return False
    if path.name == RAW_NAME:
        return path.is_dir() and not any(path.iterdir())
    if path.name == BASELINE_NAME:
        return path.is_dir() and not _is_begun(path)
    if not path.is_file():
        return False
    if path.name == journal.JOURNAL_NAME:
        return journal.tells_only(path.parent, RUN_BEGAN)
    return path.name in _UNFINISHED or holds_no_sample(path) or _is_of_a_baseline_alone(path)


def _is_of_a_baseline_alone(record: Path) -> bool:
    """A baseline's record stands first, and no step is played before its candidate's stands, too."""
    folder = record.parent
    return record.name == RECORD_NAME and folder.name == BASELINE_NAME and not (folder.parent / RECORD_NAME).exists()


class RunFolder:
    """The folder of a run that is going on."""

    def __init__(self, path: Path) -> None:
        """Take ``path`` as it is; ``create`` and ``reopen`` look at it first."""
        self.path = path
        self._made: list[Path] = []
        self._held: int | None = None
        self._samples = SampleWriter(path)

    @classmethod
    def create(cls, path: Path, resumed_by: str | None = None, *, is_ours: bool = False) -> Self:
        """Make a new folder. Raises UsageError when something is there already, EnvironmentFailure when it cannot.

        What a run left that was killed before anything was measured is gone on with.

        ``resumed_by`` is the command that goes on with an interrupted run of this kind, if any does. ``is_ours`` says
        that one was interrupted there which keeps what it needs elsewhere: record and samples are written anew.
        """
        if not is_ours:
            _refuse_begun(path, resumed_by)
        made = [folder for folder in (path / RAW_NAME, path, *path.parents) if not folder.exists()]
        try:
            make_folder(path / RAW_NAME)
            sync(path)
        except OSError as error:
            raise failed_write(path, error) from error
        with _claimed(path, f"another run has just begun in `{path}`", "choose another --out") as held:
            if not is_ours:
                _refuse_begun(path, resumed_by)  # another may have begun, and ended, between the look and the claim
            for name in (RECORD_NAME, SAMPLES_NAME, SPOOL_NAME):
                (path / name).unlink(missing_ok=True)
            folder = cls(path)
        folder._made, folder._held = made, held
        return folder

    @classmethod
    def reopen(cls, path: Path) -> Self:
        """Go on in the folder of an interrupted run. Raises UsageError when it is none, or not interrupted."""
        with _claimed(path, f"the run in `{path}` is going on", "wait until it has ended, or interrupt it") as held:
            read_record(path)
            make_folder(path / RAW_NAME)
            folder = cls(path)
        folder._held = held
        return folder

    def discard(self) -> None:
        """Take a new folder in which no run has begun away again, with the folders made to hold it, if empty."""
        if not (self.path / RECORD_NAME).exists():
            for empty in self._made:
                with suppress(OSError):
                    empty.rmdir()

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to resume: the run is complete, or never began."""
        return not (self.path / RECORD_NAME).exists() or read_record(self.path).status == "complete"

    @property
    def raw(self) -> Path:
        """Where other programs' own files go."""
        return self.path / RAW_NAME

    def append(self, samples: list[Sample]) -> None:
        """Keep a batch of samples."""
        self._samples.append(samples)

    @property
    def measured_until_ns(self) -> int:
        """When the latest of the samples ended: a request may have completed after its step."""
        return self._samples.end_ns

    def keep_steps(self, steps: Collection[str]) -> int:
        """Drop the samples of all other steps, because those are played again; how many bytes those wrote."""
        return self._samples.keep_steps(steps)

    def write(self, record: RunRecord) -> None:
        """Make everything so far durable: the samples first, then the record that speaks of them."""
        self._samples.fold()
        write_record(self.path, record)

    def note(self, event: str, **facts: str | int | float | bool | None) -> None:
        """Append an event to the journal."""
        journal.note(self.path, event, **facts)

    def events(self) -> list[dict[str, Any]]:
        """All that the journal tells, in its order. Raises UsageError."""
        return journal.entries(self.path)

    def has_begun(self, step: str) -> bool:
        """Whether the journal tells of a step's beginning, finished or not. Raises UsageError."""
        return journal.tells(self.path, "step-began", step=step)

    def close(self) -> None:
        """Let go of the folder, keeping what has not been folded in."""
        self._samples.close()
        if self._held is not None:
            os.close(self._held)
            self._held = None


def _refuse_begun(path: Path, resumed_by: str | None) -> None:
    if path.exists() and (not path.is_dir() or _is_begun(path)):
        going_on = f", or go on with an interrupted run: `{resumed_by}`" if resumed_by else ""
        raise UsageError(f"`{path}` exists and is not an empty folder", hint=f"choose another --out{going_on}")


@contextmanager
def _claimed(path: Path, words: str, hint: str) -> Iterator[int | None]:
    """Of two runs in one folder the first has it, until its process ends or closes this. Let go of if the body fails.

    Raises UsageError with ``words`` where another has it.
    """
    with ExitStack() as undo:
        held = None
        with suppress(OSError):  # what is no folder is told by who reads it
            held = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            undo.callback(os.close, held)
        try:
            if held is not None:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(words, hint=hint) from error
        except OSError:
            pass  # a network's file system without locks
        yield held
        undo.pop_all()


@contextmanager
def held_alone(path: Path, words: str, hint: str) -> Iterator[None]:
    """Have a folder until the body is over. Raises UsageError with ``words`` where another run has it."""
    with ExitStack() as end:
        with _claimed(path, words, hint) as held:
            if held is not None:
                end.callback(os.close, held)
        yield


@dataclass(frozen=True)
class Run:
    """A run that is read: its record at once, its samples when asked for."""

    path: Path
    record: RunRecord

    @cached_property
    def samples(self) -> pl.DataFrame:
        """All samples, columns as in ``SAMPLE_SCHEMA``. Raises UsageError when they are damaged."""
        return read_samples(self.path)

    @property
    def loads(self) -> Loads:
        """The samples, and when the load of those steps ended that a condition has ended."""
        ends = {step.name: step.end_ns for step in self.record.steps if step.ended_because == "condition"}
        return Loads(self.samples, ends)

    @cached_property
    def baseline(self) -> Run | None:
        """The run of the baseline, where there is one. Raises UsageError when it is damaged."""
        return read_run(self.path / self.record.baseline) if self.record.baseline else None


def write_record(path: Path, record: RunRecord) -> None:
    """In place of the one in a run's folder. Raises EnvironmentFailure."""
    replace_file(path / RECORD_NAME, record.to_json())


def read_record(path: Path) -> RunRecord:
    """The record of the run in the folder ``path``. Raises UsageError."""
    file = path / RECORD_NAME
    hint = "give the folder that `shakedown run` printed"
    try:
        content = read_regular(file, hint)
    except NotADirectoryError as error:
        raise UsageError(f"`{path}` is not a folder", hint=hint) from error
    except FileNotFoundError as error:
        raise _no_record(path, hint) from error
    return parse_run_record(content, file)


def _no_record(path: Path, hint: str) -> UsageError:
    if not path.is_dir():
        return UsageError(f"there is no folder `{path}`", hint=hint)
    if any(path.iterdir()) and not _is_begun(path):
        again = f"the same command may begin again in it: `--out {shlex.quote(str(path))}`"
        return UsageError(f"nothing was measured in `{path}`: the run ended before its first step", hint=again)
    return UsageError(f"`{path}` is not a run: it has no `{RECORD_NAME}`", hint=hint)


def read_run(path: Path) -> Run:
    """The run in the folder ``path``. Raises UsageError when it is not a run, is damaged, or is of a newer version."""
    return Run(path, read_record(path))


def runs_in(path: Path) -> list[Path]:
    """The folder itself if it is a run's; else the runs that lie in it, as in a demo's, or are cells of a matrix."""
    if (path / RECORD_NAME).exists():
        return [path]
    found = [record.parent for pattern in ("*", "cells/*") for record in path.glob(f"{pattern}/{RECORD_NAME}")]
    # What a run that was cut off keeps of its baseline is no run by itself.
    return sorted(run for run in found if run.name != BASELINE_NAME)


def folders_of_runs_deeper_in(path: Path) -> list[Path]:
    """The folders in a folder of runs in which runs lie, however deep, that ``runs_in`` of it does not find."""
    if not path.is_dir() or (path / RECORD_NAME).exists():
        return []
    inner = [each for each in path.iterdir() if each.is_dir() and each.name != CELLS_NAME]
    return sorted(each for each in inner if not (each / RECORD_NAME).exists() and _holds_a_run(each))


def _holds_a_run(path: Path) -> bool:
    return any(record.parent.name != BASELINE_NAME for record in path.rglob(RECORD_NAME))


def free_folder(wanted: Path, goes_on: Callable[[Path], bool] = lambda _: False) -> Path:
    """``wanted``, or the first of ``wanted-2``, ``wanted-3``, ... that does not exist yet, or is to be gone on in."""
    path, number = wanted, 1
    while path.exists() and not goes_on(path):
        number += 1
        path = wanted.with_name(f"{wanted.name}-{number}")
    return path
