"""One rebuild in the core."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Self

import polars as pl

from shakedown import _core
from shakedown.array.order import RebuildOrder
from shakedown.errors import UsageError
from shakedown.result.answers import failed_place
from shakedown.sample import SAMPLE_SCHEMA
from shakedown.target.model import job_refusal
from shakedown.toml import FAULTS_HINT, TomlError, parse_toml
from shakedown.units import NS_PER_S, format_duration

Share = _core.Share


@dataclass(frozen=True, repr=False)
class Rebuild:
    """What came of a rebuild.

    ``ended`` is ``complete``, ``with-losses`` (of ``lost_bytes``) or ``failed`` (with ``failed_member``). ``members``
    has a row for each drive, in which ``awaited`` is the share of the time in which the rebuild waited for this drive
    and no other, ``timeouts`` how often Linux gave a command up, ``bad_places`` at how many places a sector could not
    be read (of modelled drives), ``faults_met`` which of its faults made a difference, a bit each, and ``is_faulted``
    whether ZFS set the drive faulty;
    ``slowest`` is the drive that held it up (``slowest_of``). ``done`` is the share that was done at the end, and
    ``unguarded_bytes`` what a modelled rebuild read of the others where nothing stood in for what they could not read.
    ``progress`` tells, over time, what was done and what the status would have shown. ``during`` are the job's samples
    beside the rebuild, ``alone`` those of the same job on the healthy array; ``felt_during`` and ``felt_alone`` all
    their requests, a row for each direction. ``whole`` says whether every request was gone through, or a stretch of
    each part of the drives. ``began_ns`` is the age that the drives had at the beginning.

    Of ZFS only: ``deviation_ns`` is one standard deviation of the duration where a sample was made, ``simulated_ns``
    how much time was; ``allocated_bytes`` of the vdev, ``records`` of users rebuilt; ``cores_busy`` is the share of
    their time in which the host's cores verified and rebuilt (modelled).
    """

    duration_ns: int
    ended: str
    lost_bytes: int
    failed_member: int | None
    replacement: int
    slowest: int
    whole: bool
    requests: int
    members: pl.DataFrame
    progress: pl.DataFrame
    during: pl.DataFrame
    alone: pl.DataFrame
    felt_during: pl.DataFrame
    felt_alone: pl.DataFrame
    done: float = 1.0
    unguarded_bytes: int = 0
    began_ns: int = 0
    deviation_ns: int = 0
    simulated_ns: int = 0
    allocated_bytes: int = 0
    records: int = 0
    cores_busy: float = 0.0

    def __repr__(self) -> str:
        """A line for whoever looks at it in an interpreter: the frames are tables of their own."""
        took, longest = format_duration(self.duration_ns), format_duration(self.longest_command_ms * 1e6)
        how = "" if self.whole else ", sampled"
        return f"<Rebuild of {self.members.height} drives: {self.ended} after {took}{how}, longest command {longest}>"

    @property
    def duration_s(self) -> float:
        """Seconds."""
        return self.duration_ns / NS_PER_S

    @property
    def is_doubtful(self) -> bool:
        """Whether it is a sample whose parts differ so much that others might have taken quite another time."""
        return self.deviation_ns > DOUBTFUL * self.duration_ns

    @property
    def filled_bytes(self) -> int:
        """How much of the replacement was filled."""
        return max((int(done) for done in self.progress["done_bytes"].to_list()), default=0)

    @property
    def filled(self) -> int:
        """Who is judged for what it is given to write: the replacement, or of a distributed spare its slowest part."""
        longest_ns = self.members["longest_command_ns"]
        on_spare = self.filled_bytes > 0 and self.members["requests"][self.replacement] == 0
        return int(longest_ns.arg_max() or 0) if on_spare else self.replacement

    @property
    def longest_command_ms(self) -> float:
        """The longest that it took over a command."""
        return float(self.members["longest_command_ns"][self.filled]) / 1e6

    def is_longest_a_flush(self, place: int) -> bool:
        """Whether a drive took longest over a flush, for which a host waits twice as long."""
        longest_ns, flush_ns = (int(self.members[name][place]) for name in ("longest_command_ns", "longest_flush_ns"))
        return 0 < flush_ns == longest_ns

    @property
    def failed_place(self) -> int:
        """Of a rebuild that failed, whose failure ended it."""
        return failed_place(self.failed_member, self.replacement)

    @property
    def failed_on_the_way(self) -> dict[int, int]:
        """Places of the others that the array left out meanwhile, and after how many nanoseconds."""
        times = enumerate(self.members["failed_at_ns"].to_list())
        return {place: int(at_ns) for place, at_ns in times if at_ns is not None and place != self.replacement}

    def to_json(self) -> dict[str, Any]:
        """Everything but the samples, as plain values."""
        told = {key: value for key, value in vars(self).items() if not isinstance(value, pl.DataFrame)}
        frames = ("members", "progress", "felt_during", "felt_alone")
        return told | {key: getattr(self, key).to_dicts() for key in frames}

    def to_part(self) -> dict[str, Any]:
        """Everything, as plain values; ``from_part`` makes the same of it again."""
        return {name: value.rows() if isinstance(value, pl.DataFrame) else value for name, value in vars(self).items()}

    @classmethod
    def from_part(cls, told: dict[str, Any]) -> Self:
        """What ``to_part`` and JSON have made of one."""
        frames = {name: pl.DataFrame(told[name], schema=schema, orient="row") for name, schema in FRAMES.items()}
        return cls(**{**told, **frames})


def check_faults(name: str, text: str) -> None:
    """Raise UsageError if a drive's faults cannot be as in this text, of the file ``name``."""
    try:
        parse_toml(text)  # tells in a line what is no TOML, and where
    except TomlError as error:
        raise UsageError(f"`{name}` is not TOML: {error}", hint=FAULTS_HINT) from error
    try:
        _core.check_faults(text)
    except ValueError as error:
        raise UsageError(f"`{name}` cannot be: {error}", hint=FAULTS_HINT) from error


def simulate(order: RebuildOrder, share: Share | None = None, seed: int | None = None) -> Rebuild:
    """Rebuild once, with the order's seed or another; ``share`` tells how far it is.

    A sample that may be far off is no answer: then every request is gone through. Raises UsageError for what cannot be.
    """
    rebuilt = _simulated(order, share, seed)
    return _simulated(replace(order, whole=True), share, seed) if rebuilt.is_doubtful else rebuilt


def model_digest() -> str:
    """Of the core as it is compiled: another one may answer otherwise."""
    return sha256(Path(_core.__file__).read_bytes()).hexdigest()


def check_order_in_core(order: RebuildOrder) -> None:
    """Raise UsageError for what ``simulate`` refuses: it is begun, with a new drive, and ended at once."""
    share = Share()
    share.stop()
    with suppress(InterruptedError):
        _simulated(replace(order, state="new"), share, None)


def _simulated(order: RebuildOrder, share: Share | None, seed: int | None) -> Rebuild:
    try:
        given = order.to_core() | ({} if seed is None else {"seed": seed})
        told = (_core.resilver if order.is_zfs else _core.rebuild)(given, share or Share())
    except _core.JobError as error:
        raise job_refusal(error) from error
    except (_core.ArrayError, _core.ProfileError) as error:
        told_in = "docs/zfs.md tells what a pool" if order.is_zfs else "docs/rebuild.md tells what an array"
        raise UsageError(str(error), hint=f"{told_in} can be made of") from error
    frames = {
        "members": pl.DataFrame(told["members"], schema=MEMBERS_SCHEMA),
        "progress": pl.DataFrame(told["progress"], schema=PROGRESS_SCHEMA),
        "during": _samples("rebuild-load", told["during"]),
        "alone": _samples("load-alone", told["alone"]),
        "felt_during": pl.DataFrame(told["felt_during"], schema=FELT_SCHEMA),
        "felt_alone": pl.DataFrame(told["felt_alone"], schema=FELT_SCHEMA),
    }
    return Rebuild(**{**told, **frames, "slowest": slowest_of(frames["members"])})


DOUBTFUL: Final = 0.10
"""One standard deviation of a sample's time, as a share of that, from which on it is not relied on."""

LONG_AWAITED: Final = 0.25
"""Of the time. Who is waited for alone for less does not hold a rebuild up by itself."""


def slowest_of(members: pl.DataFrame) -> int:
    """The place of the drive that was waited for alone; where none was for long, of the busiest."""
    longest = int(members["awaited"].arg_max() or 0)
    is_alone = members["awaited"][longest] >= LONG_AWAITED
    return longest if is_alone else int(members["busy_ns"].arg_max() or 0)


MEMBERS_SCHEMA = pl.Schema(
    {
        "awaited": pl.Float64,
        "failed_at_ns": pl.Int64,
        "bytes_read": pl.Int64,
        "bytes_written": pl.Int64,
        "is_faulted": pl.Boolean,
        "requests": pl.Int64,
        "timeouts": pl.Int64,
        "bad_places": pl.Int64,
        "faults_met": pl.Int64,
        "busy_ns": pl.Int64,
        "longest_ns": pl.Int64,
        "longest_command_ns": pl.Int64,
        "longest_flush_ns": pl.Int64,
        "longest_flush_asked_ns": pl.Int64,
        "longest_silence_ns": pl.Int64,
    }
)
PROGRESS_SCHEMA = pl.Schema(
    {"at_ns": pl.Int64, "done_bytes": pl.Int64, "shown_bytes_per_s": pl.Float64, "left_ns": pl.Int64}
)
FELT_SCHEMA = pl.Schema(
    {
        "direction": pl.String,
        "count": pl.Int64,
        "mean_ns": pl.Float64,
        "p50_ns": pl.Int64,
        "p99_ns": pl.Int64,
        "p999_ns": pl.Int64,
        "max_ns": pl.Int64,
    }
)
FRAMES: Final = {
    "members": MEMBERS_SCHEMA,
    "progress": PROGRESS_SCHEMA,
    "during": SAMPLE_SCHEMA,
    "alone": SAMPLE_SCHEMA,
    "felt_during": FELT_SCHEMA,
    "felt_alone": FELT_SCHEMA,
}
"""What of a rebuild is a table."""


def _samples(step: str, rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame([(step, *row) for row in rows], schema=SAMPLE_SCHEMA, orient="row")
