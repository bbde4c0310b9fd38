"""A modelled drive and its host, in virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from numbers import Real
from operator import index
from pathlib import Path
from typing import Any, Final, Self, SupportsIndex, TypedDict, Unpack

import polars as pl

from shakedown import _core
from shakedown.api.profile import change_profile, parse_profile
from shakedown.data import profile_path
from shakedown.errors import UsageError
from shakedown.named_file import read_named_text
from shakedown.requests import requests_frame
from shakedown.sample import SAMPLE_SCHEMA, SHORTEST_INTERVAL_NS
from shakedown.target.model import job_refusal
from shakedown.target.modelled import hint_of, largest_divisor, left_by_scale
from shakedown.target.profile import read_profile, refuse_unknown_rows
from shakedown.toml import FAULTS_HINT
from shakedown.tools.fio.job import refuse_swapped_sizes
from shakedown.trace.frame import MOST, TRACE_SCHEMA
from shakedown.units import NS_PER_S, format_duration, format_size, parse_duration_ns

INTERVAL_SCHEMA: Final = pl.Schema({name: kind for name, kind in SAMPLE_SCHEMA.items() if name != "step"})
"""The columns of samples, as in a run folder but for the step."""

LOSS_SCHEMA: Final = pl.Schema({"at_ns": pl.Int64, "offset_bytes": pl.Int64, "bytes": pl.Int64})
"""The columns of what losses of power took."""

HOST_TIMEOUT: Final = "30s"
"""Of Linux (`SD_TIMEOUT`)."""
_SHORTEST_HOST_TIMEOUT_NS: Final = 1_000_000

_INTERVALS_A_CALL: Final = 512
_UNCOUNTED_INTERVAL_NS: Final = 60 * NS_PER_S
_TRACE_HINT: Final = (
    f"it has the columns {', '.join(TRACE_SCHEMA)}; a verb is one of {', '.join(TRACE_SCHEMA['verb'].categories)}"  # type: ignore[attr-defined]
)

# Some 5 GB of requests while their frame is made, and 2 GB of intervals.
_MOST_REQUESTS: Final = 50_000_000
_MOST_INTERVALS: Final = 5_000_000
_LONGEST_BYTES: Final = 65_536 * 512
"""What a command of ATA can name."""

_LATEST_NS: Final = 2**62
"""In 146 years: no clock that stood there runs over in what is run from then on."""


class Options(TypedDict, total=False):
    """What else a drive may be made with: see ``Drive``."""

    scale_divisor: SupportsIndex
    faults: str | Path | None
    host_timeout: str | SupportsIndex


class Drive:
    """One modelled drive with a virtual clock that starts at zero and passes only in ``run``, ``replay`` and ``idle``.

    The same profile, seed and calls give the same bytes. The interpreter's lock is released while the core runs, so
    several drives can run in as many threads; one drive is for one thread at a time.
    """

    def __init__(
        self,
        toml: str,
        *,
        seed: SupportsIndex,
        scale_divisor: SupportsIndex = 1,
        faults: str | Path | None = None,
        host_timeout: str | SupportsIndex = HOST_TIMEOUT,
    ) -> None:
        """Make a drive from the text of a profile, its capacity and caches divided by ``scale_divisor``.

        ``faults`` are what befalls it, as text or as the path of a file: those of docs/faults.md, in the same form as
        the command line takes them. They stack; their times are seconds since the drive was made. A request that one
        fails has its ``status``, and ends its job. A drive with faults is not waited for without end: once a request
        has waited for ``host_timeout`` (``"30s"``, or nanoseconds; a flush twice as long) the host resets the link,
        which ends as ``aborted`` whatever a fault lets wait, but for a stall, which answers nobody, and is over when
        it is. Without faults nobody is timed.

        Raises UsageError if the profile cannot be a drive, or the faults not be its own: the message names the key and
        the reason.
        """
        self._profile = parse_profile(_text("the profile", toml))
        refuse_unknown_rows(toml)
        self._toml = toml
        self._seed = whole_number("seed", seed, 0, MOST)
        scale_divisor = whole_number("scale_divisor", scale_divisor, 1, 2**32 - 1)
        self._loads = 0
        self._failure: str | None = None
        try:
            self._machine = _core.Machine(
                toml,
                seed=self._seed,
                scale_divisor=scale_divisor,
                faults_toml=None if faults is None else faults_text(faults),
                host_timeout_ns=_host_timeout_ns(host_timeout),
            )
        except _core.ProfileError as error:
            raise _refusal(toml, scale_divisor, error) from error
        except ValueError as error:
            raise UsageError(f"the faults cannot be: {error}", hint=FAULTS_HINT) from error

    @classmethod
    def load(cls, name_or_path: str | Path, *, seed: SupportsIndex, **options: Unpack[Options]) -> Self:
        """A profile of ours by its name (``"wd40efax"``), or a file by its path (``"./mine.toml"``, or a ``Path``).

        ``"model:wd40efax"``, as the command line writes it, is the same.
        ``options`` are those of the class. Raises UsageError.
        """
        return cls(_read(name_or_path), seed=seed, **options)

    @classmethod
    def from_toml(cls, text_or_path: str | Path, *, seed: SupportsIndex, **options: Unpack[Options]) -> Self:
        """A profile as text, or as the path of a file. ``options`` are those of the class. Raises UsageError."""
        text = read_profile(text_or_path) if isinstance(text_or_path, Path) else text_or_path
        return cls(text, seed=seed, **options)

    @classmethod
    def build(
        cls, name_or_path: str | Path, changes: Mapping[str, Any], *, seed: SupportsIndex, **options: Unpack[Options]
    ) -> Self:
        """A profile with other values: ``Drive.build("wd40efax", {"translation.cache.entries": 100_000}, seed=1)``.

        What is changed has the origin ``assumed: set through the API``, unless the change says ``{"value": ...,
        "origin": ...}``. None takes a key away. ``options`` are those of the class. Raises UsageError.
        """
        base = _read(name_or_path)
        parse_profile(base)
        return cls(change_profile(base, changes), seed=seed, **options)

    def __repr__(self) -> str:
        """A line for whoever looks at it in an interpreter."""
        return f"<Drive {self.model}, {format_size(self.capacity_bytes)}, at {format_duration(self.now_ns)}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Refuse it: the core's state has no copy. Raises TypeError."""
        raise TypeError(
            "a Drive cannot be copied: the same calls on a second one of the same profile, seed and options lead to the"
            " same state: `Drive.from_toml(drive.toml, seed=...)`"
        )

    @property
    def profile(self) -> dict[str, Any]:
        """The profile, before scaling: ``drive.profile["geometry"]["rpm"]`` is ``{"value": 5400, "origin": "..."}``."""
        return parse_profile(self._toml)

    @property
    def toml(self) -> str:
        """The profile's text, as ``from_toml`` and the command line (``model:./mine.toml``) read it."""
        return self._toml

    @property
    def model(self) -> str:
        """The model number."""
        return self._machine.model

    @property
    def capacity_bytes(self) -> int:
        """Usable bytes, after scaling."""
        return self._machine.capacity_bytes

    @property
    def now_ns(self) -> int:
        """Nanoseconds of virtual time since the drive was made."""
        return self._machine.now_ns

    @property
    def failure(self) -> str | None:
        """The failed request that ended the last job before its time; None if none did."""
        return self._failure

    def run(self, job: str, *, interval: str | SupportsIndex | None = None) -> pl.DataFrame:
        """Run a fio job to its end.

        Without ``interval`` one row a request (``REQUEST_SCHEMA``, 44 bytes each, 50 million at most); with one
        (``"1s"``, or nanoseconds, 10 ms at least) one row an interval and direction (``INTERVAL_SCHEMA``, 5 million at
        most), however many requests there were. A job that a failed request has ended is no exception: see
        ``failure``. Raises UsageError for a job with more rows, and for one that the model does not honour:
        docs/fio-options.md.
        """
        logged, interval_ns = interval is None, _interval_ns(interval)
        refuse_swapped_sizes(_text("the job", job))
        try:
            load = self._machine.start(job, interval_ns, self._seed + self._loads, log_requests=logged)
        except _core.JobError as error:
            raise job_refusal(error) from error
        except RuntimeError as error:
            raise _busy() from error
        return self._play(load, logged)

    def replay(
        self,
        trace: Any,
        *,
        speed: float = 1.0,
        depth: SupportsIndex | None = None,
        interval: str | SupportsIndex | None = None,
    ) -> pl.DataFrame:
        """Make the requests of a trace again, from now on, and wait for their answers.

        ``trace`` has the columns of ``TRACE_SCHEMA``: what the readers in ``shakedown.trace`` return, what ``run``
        returned, or anything that ``polars.DataFrame`` takes. The requests are made at their times divided by
        ``speed``, however long the answers take (an open loop); or, with ``depth``, as fast as they are answered with
        so many in flight (a closed loop). A request that fails does not end the replay. Returns what ``run`` returns,
        with ``job`` 0. Raises UsageError, such as for a request that reaches past the end of the drive.
        """
        logged, interval_ns = interval is None, _interval_ns(interval)
        if depth is not None and speed != 1:
            raise UsageError(
                "a replay has a `speed` or a `depth`: with a depth no request waits for its time",
                hint="leave one of them out",
            )
        depth = None if depth is None else whole_number("depth", depth, 1, 2**32 - 1)
        frame = _frame(trace)
        if logged and frame.height > _MOST_REQUESTS:
            raise _too_many()
        _check_pace(frame, speed, depth, MOST - self.now_ns)
        try:
            load = self._machine.replay(*_columns(frame), interval_ns, speed=speed, depth=depth, log_requests=logged)
        except _core.TraceError as error:
            raise UsageError(str(error), hint="docs/python.md tells what a trace may ask") from error
        except RuntimeError as error:
            raise _busy() from error
        return self._play(load, logged)

    def idle(self, duration: str | SupportsIndex) -> None:
        """Leave the drive alone for so long: ``"10min"``, or nanoseconds.

        Ctrl-C ends it at once, at the time that ``now_ns`` then tells. Raises UsageError.
        """
        try:
            most_ns = max(_LATEST_NS - self.now_ns, 0)
            self._machine.idle(whole_number("duration", _duration_ns("duration", duration), 0, most_ns))
        except RuntimeError as error:
            raise _busy() from error

    def losses(self) -> pl.DataFrame:
        """What losses of power took (``LOSS_SCHEMA``): one row a range of bytes and loss.

        ``at_ns`` is when, since the drive was made; ``offset_bytes`` and ``bytes`` are where the newest data was in
        volatile memory only: there the drive holds again what was durable before.
        """
        return pl.DataFrame(self._machine.losses(), LOSS_SCHEMA, orient="row")

    def truth(self) -> dict[str, int]:
        """What nobody sees from outside: bytes and entries in the persistent cache, bands cleaned, seeks and so on."""
        return self._machine.truth()

    def _play(self, load: _core.Load, logged: bool) -> pl.DataFrame:
        self._loads += 1
        self._failure = None
        rows: list[_core.Row] = []
        try:
            while batch := load.advance(_INTERVALS_A_CALL, _MOST_REQUESTS):
                if not logged:
                    rows += batch
                if len(rows) > _MOST_INTERVALS:
                    raise UsageError(
                        f"more than {_MOST_INTERVALS:,} rows of intervals do not fit",
                        hint="a longer `interval=`, or a job of less `runtime`",
                    )
        except OSError as error:
            self._failure = str(error)
        except MemoryError as error:
            raise _too_many() from error
        finally:
            load.stop()
        return requests_frame(load.take_requests()) if logged else pl.DataFrame(rows, INTERVAL_SCHEMA, orient="row")


def _too_many() -> UsageError:
    return UsageError(
        f"more than {_MOST_REQUESTS:,} requests do not fit with a row for each",
        hint='a row an interval: `interval="1s"`; or a job with an end: `number_ios`, `size` or `runtime`',
    )


def _frame(trace: Any) -> pl.DataFrame:
    """A trace in the order of submission. Raises UsageError."""
    if isinstance(trace, pl.LazyFrame):
        raise UsageError("this is no trace yet, but a query for one", hint="`trace.collect()`")
    try:
        given = pl.DataFrame(trace).select(TRACE_SCHEMA.names())
        _refuse_fractions(given)
        frame = given.cast(TRACE_SCHEMA)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        reason = (str(error).strip().splitlines() or ["unknown reason"])[0]
        raise UsageError(f"this is no trace: {reason}", hint=_TRACE_HINT) from error
    wrong = pl.any_horizontal(pl.all().is_null(), pl.exclude("verb") < 0)
    for row in frame.with_row_index("row").filter(wrong).head(1).iter_rows(named=True):
        raise UsageError(
            f"row {row.pop('row')} of the trace has a value missing or below 0: {row}",
            hint="a request has a time, a verb, an offset and a length, from 0; leave out rows without",
        )
    too_long = pl.col("verb").is_in(["read", "write"]) & (pl.col("bytes") > _LONGEST_BYTES)
    for row, length in frame.with_row_index("row").filter(too_long).select("row", "bytes").head(1).iter_rows():
        raise UsageError(
            f"row {row} of the trace moves {length} bytes at once: no command of a SATA drive moves more than 32 MiB",
            hint="cut it into several requests, as Linux does",
        )
    return frame.sort("submitted_ns", maintain_order=True)


def _refuse_fractions(trace: pl.DataFrame) -> None:
    """Raise UsageError for times and places that are not of an integer type: a cast would cut them off in silence."""
    for name, kind in trace.drop("verb").schema.items():
        if not (kind.is_integer() or kind == pl.Null):
            raise UsageError(
                f"this is no trace: `{name}` is of type {kind}, not of whole numbers",
                hint=f"cast it yourself, so that it is you who rounds: `pl.col({name!r}).cast(pl.Int64)`",
            )


def _check_pace(frame: pl.DataFrame, speed: float, depth: int | None, left_ns: int) -> None:
    if depth is not None:
        return
    if not (isinstance(speed, Real) and speed > 0 and isfinite(speed)):
        given = f"the text {speed!r:.60}" if isinstance(speed, str) else speed
        raise UsageError(f"speed is {given}: it must be a number above 0", hint="2 makes requests twice as fast")
    span_ns = frame["submitted_ns"][-1] - frame["submitted_ns"][0] if frame.height else 0
    if span_ns / speed > left_ns:
        raise UsageError(
            f"with speed {speed} the trace takes longer than the 292 years of virtual time", hint="a higher `speed`"
        )


def _columns(frame: pl.DataFrame) -> tuple[bytes, bytes, bytes, bytes]:
    """A trace as the core takes it."""
    physical = frame.with_columns(pl.col("verb").to_physical())
    submitted_ns, verb, offset_bytes, length_bytes = (column.to_numpy().tobytes() for column in physical)
    return submitted_ns, verb, offset_bytes, length_bytes


def _interval_ns(interval: str | SupportsIndex | None) -> int:
    if interval is None:
        return _UNCOUNTED_INTERVAL_NS
    interval_ns = _duration_ns("interval", interval)
    if interval_ns < SHORTEST_INTERVAL_NS:
        raise UsageError(
            f"interval is {interval!r}: the shortest is {format_duration(SHORTEST_INTERVAL_NS)}",
            hint="without `interval` there is a row for each request",
        )
    return interval_ns


def _host_timeout_ns(host_timeout: str | SupportsIndex) -> int:
    """Long enough for a host: while a command hangs the host looks again each time, so a nanosecond has no end."""
    timeout_ns = _duration_ns("host_timeout", host_timeout)
    if timeout_ns < _SHORTEST_HOST_TIMEOUT_NS:
        raise UsageError(
            f"host_timeout is {host_timeout!r}: the shortest is {format_duration(_SHORTEST_HOST_TIMEOUT_NS)}",
            hint=f'Linux waits for {HOST_TIMEOUT}: `host_timeout="{HOST_TIMEOUT}"`',
        )
    return timeout_ns


def _duration_ns(name: str, duration: str | SupportsIndex) -> int:
    duration_ns = parse_duration_ns(duration) if isinstance(duration, str) else duration
    return whole_number(name, duration_ns, 0, MOST, like='"1s"')


def whole_number(name: str, value: SupportsIndex, least: int, most: int, like: str = "1") -> int:
    """The value, a whole number within bounds, be it Python's or numpy's. Raises UsageError for what is none."""
    try:
        number = None if isinstance(value, bool) else index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise UsageError(
            f"{name} is {value!r:.60}: it must be a whole number from {least} to {most}", hint=f"like `{name}={like}`"
        )
    return number


def _text(name: str, value: str) -> str:
    if not isinstance(value, str):
        raise UsageError(
            f"{name} is {value!r:.60}: it must be text", hint="a `str`; what was read as bytes: `.decode()`"
        )
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{name} is no text that UTF-8 can write: {error.reason}", hint="read it as UTF-8") from error
    return value


def faults_text(faults: str | Path) -> str:
    """The text of a list of faults: no such list is of one line, and no path of several. Raises UsageError."""
    if not isinstance(faults, Path):
        text = _text("the list of faults", faults)
        if not text or "\n" in text:
            return text
    return read_named_text(Path(faults), hint=f"a list of faults is text of several lines or a file; {FAULTS_HINT}")


def _refusal(toml: str, scale_divisor: int, error: _core.ProfileError) -> UsageError:
    """The error for a profile that the core refuses: it is wrong, or divided too often."""
    if scale_divisor == 1 or (largest := largest_divisor(toml, scale_divisor)) == 0:
        return UsageError(str(error), hint=hint_of(error))
    return UsageError(
        f"`scale_divisor` {scale_divisor} leaves too little to be a drive: {left_by_scale(toml, scale_divisor, error)}",
        hint=f"it can be {largest} at most",
    )


def _read(name_or_path: str | Path) -> str:
    """The text of a profile of ours or of a file."""
    if not isinstance(name_or_path, str | Path):
        raise UsageError(
            f"a profile is given by its name or by a path, not by {name_or_path!r:.60}",
            hint='like `"wd40efax"`, `"./mine.toml"` or `pathlib.Path("mine.toml")`',
        )
    if isinstance(name_or_path, str):
        name_or_path = name_or_path.removeprefix("model:")
    return read_profile(profile_path(name_or_path))


def _busy() -> UsageError:
    return UsageError("this drive is at work in another thread", hint="make a drive for each thread")
