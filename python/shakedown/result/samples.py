"""``samples.parquet`` and the spool that keeps it safe while a run goes on.

A batch is appended to the spool (JSON lines) as soon as it has been measured; at the end of each step the spool is
folded into the parquet file. A killed run therefore loses nothing: readers add whatever the spool still holds.

Beside the parquet file stands its digest, as ``sha256sum --check`` reads it. A file that is not as it was written is
first read by a process of its own: what a damaged one asks for can be more memory than there is, and polars, being
refused that, ends the whole process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection
from contextlib import suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Final, get_args

import polars as pl
from polars.exceptions import PanicException, PolarsError
from pydantic_core import to_json

from shakedown.errors import UsageError
from shakedown.result.atomic import failed_write, replace_file
from shakedown.result.read import read_regular
from shakedown.sample import SAMPLE_SCHEMA, Direction, Sample

SAMPLES_NAME: Final = "samples.parquet"
SPOOL_NAME: Final = "samples.spool"
DIGEST_NAME: Final = "samples.sha256"

_TRY: Final = "import io, sys, polars; polars.read_parquet(io.BytesIO(sys.stdin.buffer.read()))"

_KEY: Final = ["step", "direction", "start_ns"]
_LATENCIES: Final = [name for name in SAMPLE_SCHEMA if name.startswith("latency_")]


class SampleWriter:
    """Appends samples to the run in ``folder``; continues what is there."""

    def __init__(self, folder: Path) -> None:
        """Open the spool. Raises EnvironmentFailure, or UsageError when what is there is damaged."""
        self._folder = folder
        self._spool: IO[bytes] | None = None
        self._pending: list[Sample] = []
        left_over = (folder / SPOOL_NAME).exists()
        here = left_over or (folder / SAMPLES_NAME).exists()
        self._frame = read_samples(folder) if here else SAMPLE_SCHEMA.to_frame()
        # Whether the parquet file holds all that is not pending.
        self._folded = False
        if left_over:
            self.fold()

    def append(self, samples: list[Sample]) -> None:
        """Keep a batch so that a kill of this process cannot lose it. Raises EnvironmentFailure."""
        if not samples:
            return
        try:
            if self._spool is None:
                self._spool = (self._folder / SPOOL_NAME).open("ab")
            self._spool.write(b"".join(to_json(sample) + b"\n" for sample in samples))
            self._spool.flush()
        except OSError as error:
            raise failed_write(self._folder / SPOOL_NAME, error) from error
        self._pending += samples

    @property
    def end_ns(self) -> int:
        """The end of the latest sample."""
        frame = pl.concat([self._frame, _frame(self._pending)])
        return int(frame.select((pl.col("start_ns") + pl.col("duration_ns")).max()).item() or 0)

    def fold(self) -> None:
        """Bring all samples so far into the parquet file, durably. Raises EnvironmentFailure."""
        if self._folded and not self._pending:
            return
        self._frame = pl.concat([self._frame, _frame(self._pending)])
        self._pending = []
        self._write()

    def keep_steps(self, steps: Collection[str]) -> int:
        """Drop what was measured in all other steps, because those are played again; how many bytes those wrote."""
        self.fold()
        is_kept = pl.col("step").is_in(list(steps))
        dropped = self._frame.filter(~is_kept, direction="write")
        self._frame = self._frame.filter(is_kept)
        self._write()
        return int(dropped["bytes"].sum())

    def _write(self) -> None:
        content = BytesIO()
        self._frame.write_parquet(content)
        replace_file(self._folder / SAMPLES_NAME, content.getvalue())
        replace_file(self._folder / DIGEST_NAME, _digest_line(content.getvalue()))
        self.close()
        (self._folder / SPOOL_NAME).unlink(missing_ok=True)
        self._folded = True

    def close(self) -> None:
        """Make the spool durable and let go of it. Raises EnvironmentFailure."""
        spool, self._spool = self._spool, None
        if spool is None:
            return
        try:
            with spool:
                spool.flush()
                os.fsync(spool.fileno())
        except OSError as error:
            raise failed_write(self._folder / SPOOL_NAME, error) from error


def read_samples(folder: Path) -> pl.DataFrame:
    """All samples of a run with the columns of ``SAMPLE_SCHEMA``, in the order measured.

    Raises UsageError when the file is missing, is not parquet or has other columns.
    """
    parquet, spool = folder / SAMPLES_NAME, folder / SPOOL_NAME
    if not parquet.exists() and not spool.exists():
        raise UsageError(f"`{parquet}` is missing", hint="the run is damaged or nothing was measured: run it again")
    folded = _read_parquet(parquet) if parquet.exists() else SAMPLE_SCHEMA.to_frame()
    if not spool.exists():
        return folded
    # A kill between the renaming of the parquet file and the removal of the spool leaves rows in both.
    return pl.concat([folded, _read_spool(spool)]).unique(_KEY, keep="first", maintain_order=True)


def holds_no_sample(path: Path) -> bool:
    """Whether ``path`` is a table of samples that has no row, or the digest of one."""
    table = path.with_name(SAMPLES_NAME)
    try:
        content = read_regular(table, "")
        is_empty = path.name in (SAMPLES_NAME, DIGEST_NAME) and _read_parquet(table).is_empty()
    except (OSError, UsageError):
        return False
    return is_empty and (path == table or _is_as_written(table, content))


def _read_parquet(path: Path) -> pl.DataFrame:
    hint = "the file is damaged: restore it from a copy, or run the protocol again"
    content = read_regular(path, hint)
    if not _is_as_written(path, content) and _ends_its_reader(content):
        raise UsageError(f"`{path}` cannot be read: it ends whoever tries", hint=hint)
    try:
        frame = pl.read_parquet(BytesIO(content))
    except (PolarsError, PanicException, OSError, ValueError) as error:
        reason = (str(error).strip().splitlines() or ["unknown reason"])[0]
        raise UsageError(f"`{path}` cannot be read: {reason}", hint=hint) from error
    for name, kind in SAMPLE_SCHEMA.items():
        if name not in frame.columns:
            raise UsageError(f"`{path}` has no column `{name}`", hint=hint)
        if frame.schema[name] != kind:
            raise UsageError(f"`{path}`: column `{name}` is {frame.schema[name]}: must be {kind}", hint=hint)
    return _possible(frame.select(SAMPLE_SCHEMA.names()), path, hint)


def _digest_line(content: bytes) -> bytes:
    return f"{sha256(content).hexdigest()}  {SAMPLES_NAME}\n".encode()


def _is_as_written(path: Path, content: bytes) -> bool:
    """Whether the digest says so; one that is missing, or older after a kill, does not."""
    try:
        return read_regular(path.with_name(DIGEST_NAME), "") == _digest_line(content)
    except (OSError, UsageError):
        return False


def _ends_its_reader(content: bytes) -> bool:
    """Whether a process that reads it does not survive that. One that only refuses it does."""
    tried = subprocess.run([sys.executable, "-c", _TRY], input=content, capture_output=True, check=False)
    return tried.returncode < 0


def _read_spool(path: Path) -> pl.DataFrame:
    """Rows up to the first line that a kill cut off or that is not a sample."""
    hint = "remove the file to go on without"
    rows: list[Any] = []
    with suppress(json.JSONDecodeError, RecursionError):
        for line in read_regular(path, hint).decode(errors="replace").splitlines():
            row = json.loads(line)
            if not isinstance(row, list) or len(row) != len(SAMPLE_SCHEMA):
                break
            rows.append(row)
    try:
        return _possible(_frame(rows), path, hint)
    except (PolarsError, TypeError, OverflowError) as error:
        raise UsageError(f"`{path}` holds rows that are not samples", hint=hint) from error


def _possible(frame: pl.DataFrame, path: Path, hint: str) -> pl.DataFrame:
    """``frame``, in which nothing is missing, below 0 or no number that cannot be. Raises UsageError."""
    faults = {
        "direction": ~pl.col("direction").is_in(get_args(Direction)),
        **{name: pl.col(name) < 0 for name in ("start_ns", "duration_ns", "count", "bytes")},
        **{name: (pl.col(name) < 0) | ~pl.col(name).cast(pl.Float64).is_finite() for name in _LATENCIES},
    }
    for name, fault in faults.items():
        # Only a latency may be missing: where nothing completed there was none.
        wrong = frame.filter(fault if name in _LATENCIES else fault | pl.col(name).is_null())
        if not wrong.is_empty():
            raise UsageError(f"`{path}`: column `{name}` holds {wrong[name][0]!r}, which cannot be", hint=hint)
    return frame


def _frame(rows: list[Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SAMPLE_SCHEMA, orient="row")
