"""The Rust core. All times are nanoseconds of virtual time, all sizes bytes."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NotRequired, TypedDict, final

class ProfileError(ValueError):
    """A profile cannot be a drive: the message names the key and the reason."""

    key: str | None
    """None where the text is not TOML."""
    hint: str
    """What to do about it."""

class JobError(ValueError):
    """A fio job cannot be run in virtual time: the message names section, option and reason."""

    section: str
    option: str
    value: str
    """As written; empty where the fault is not in a value."""
    reason: str
    hint: str
    """What to do next; may be empty."""

class ArrayError(ValueError):
    """An array cannot be, or cannot be rebuilt: the message names the value and the reason."""

class TraceError(ValueError):
    """A trace cannot be replayed on this drive: the message names the request and the reason."""

    request: int
    """Its place in the trace, from 0."""
    reason: str

class TomlError(ValueError):
    """A text is not TOML: the message names line, column and reason."""

Row = tuple[str, int, int, int, int, float | None, int | None, int | None, int | None, int | None]
"""direction, start_ns, duration_ns, count, bytes, latency mean, p50, p99, p99.9 and max in ns (None: no completion)."""

class StorageBoxOrder(TypedDict):
    """An array of md in a storage box; ``missing`` are places without a drive, whose profiles only give a size."""

    layout: str
    profiles: list[str]
    missing: list[int]
    scale_divisor: int
    options: dict[str, Any]
    """The fields of ``MdOptions``, None for the default."""
    link_bytes_per_s: int | None
    """In each direction; None: it holds nothing up."""
    read_ceiling_bytes_per_s: int | None
    """Of what protocol and box get through; None: as many as come."""
    write_ceiling_bytes_per_s: int | None
    round_trip_ns: int
    outstanding: int | None
    """Requests that the box works on at once; None: all."""
    read_cache_bytes: int
    read_ahead_bytes: int
    write_cache_bytes: int
    dirty_expire_ns: int
    battery: bool
    """The write cache survives a loss of power, so that a flush has nothing to wait for."""
    seed: int

@final
class Machine:
    """A host with one modelled drive or array, and a virtual clock that starts at zero."""

    def __init__(
        self,
        profile_toml: str,
        *,
        seed: int,
        scale_divisor: int = 1,
        faults_toml: str | None = None,
        host_timeout_ns: int = ...,
    ) -> None:
        """Make a drive from the text of a profile, its capacity and caches divided by ``scale_divisor``.

        ``faults_toml`` are its faults (``docs/faults.md``); who is then not answered for ``host_timeout_ns`` (default:
        for ever), a flush for twice as long, has the link reset. Raises ProfileError, ValueError for such faults as
        cannot be.
        """
    @staticmethod
    def storage_box(order: StorageBoxOrder) -> Machine:
        """Make an array in a box. Raises ProfileError and ArrayError."""
    @property
    def capacity_bytes(self) -> int: ...
    @property
    def now_ns(self) -> int: ...
    @property
    def model(self) -> str: ...
    def start(self, job: str, interval_ns: int, seed: int, log_requests: bool = False, like_lab: bool = False) -> Load:
        """Begin a fio job; at most one at a time. Raises JobError.

        ``like_lab``: a job with ``randseed`` and ``norandommap`` makes the very requests that fio makes of it.
        """
    def replay(
        self,
        submitted_ns: bytes,
        verb: bytes,
        offset_bytes: bytes,
        length_bytes: bytes,
        interval_ns: int,
        *,
        speed: float = 1.0,
        depth: int | None = None,
        log_requests: bool = False,
    ) -> Load:
        """Make the requests of a trace again, at their times divided by ``speed`` or with ``depth`` in flight.

        Columns as those of RequestColumns, in the order of submission; the moment of the first request is now. With
        ``depth`` the times only order the requests. A request that fails does not end the load. Raises TraceError.
        """
    def idle(self, duration_ns: int) -> None:
        """Leave the drive alone. What a signal handler raises ends the call, and the drive is as it was then."""
    def losses(self) -> list[tuple[int, int, int]]:
        """What losses of power took: when in ns, first byte and how many; by time and then by place."""
    def truth(self) -> dict[str, int]:
        """What nobody can see from outside: cached bytes, bands cleaned, and so on; sums over the drives."""

@final
class Load:
    """A running fio job or trace. Row times count from the start of the machine."""

    def advance(self, intervals: int, most_requests: int | None = None) -> list[Row]:
        """Let up to so many intervals pass; a row for each interval and direction of the job; [] once it has ended.

        What a signal handler raises ends the call, not the load: its rows come with the next one. MemoryError once more
        than ``most_requests`` are kept for ``take_requests``.
        """
    def advance_to_answer(self, due_ns: int) -> list[Row]:
        """Go on until a request completes at or after ``due_ns``, and nobody has acted on it yet; [] once it has ended.

        A row for each direction of what was not told yet. An interval after ``due_ns`` it returns without such a one.
        """
    def take_requests(self) -> RequestColumns:
        """The requests completed since the last call, also after the end. RuntimeError without ``log_requests``.

        Those that completed while their job ramped up do not count; failed ones and flushes do.
        """
    def end(self) -> None:
        """Ask for no more, as at the end of the runtime; what is in flight counts: advance on until nothing comes."""

    def stop(self) -> None:
        """Leave the job; requests in flight are dropped from the count but the drive finishes them."""

@final
class RequestColumns:
    """Requests in the order of their completion, as columns of little-endian numbers."""

    @property
    def submitted_ns(self) -> bytes:
        """u64: when the job handed it over."""
    @property
    def completed_ns(self) -> bytes:
        """u64: when the host heard of its completion."""
    @property
    def offset_bytes(self) -> bytes:
        """u64: first byte; 0 for a flush."""
    @property
    def verb(self) -> bytes:
        """u8: 0 read, 1 write, 2 trim, 3 flush."""
    @property
    def job(self) -> bytes:
        """u16: the job's place in the job file, from 0."""
    @property
    def status(self) -> bytes:
        """u8: 0 good, 1 out of range, 2 medium error, 3 gone, 4 aborted."""
    @property
    def bytes(self) -> bytes:
        """u64: length; 0 for a flush."""

def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a text in TOML 1.1, dates as text. Raises TomlError."""

def check_faults(text: str) -> None:
    """Raise ValueError if a drive's faults cannot be as in this text (``docs/faults.md``)."""

def check_job(job: str, capacity_bytes: int) -> None:
    """Raise JobError if ``start`` would."""

def fio_bytes(text: str, whole_bytes: int) -> int:
    """A size as fio writes it; percent are those of ``whole_bytes``. Raises ValueError with the reason."""

def fio_time_ns(text: str, bare_ns: int) -> int:
    """A time as fio writes it; ``bare_ns`` is the unit of a bare number. Raises ValueError with the reason."""

def fio_count(text: str) -> int:
    """A whole number as fio writes it. Raises ValueError with the reason."""

def fio_option(name: str) -> str:
    """The name of an option, of which it may have others: ``rw`` of ``readwrite``."""

class ServeReport(TypedDict):
    """What happened while a drive was served. Percentiles are zero if nothing was answered."""

    requests: int
    errors: int
    connections: int
    refused_connections: int
    store_failures: int
    spoiled: int
    modelled_p50_ns: int
    modelled_p99_ns: int
    modelled_max_ns: int
    lateness_p50_ns: int
    lateness_p99_ns: int
    lateness_max_ns: int
    doubt: str | None
    """A sentence for people if the machine was too noisy for the delivered times to be trusted."""

def serve_nbd(
    profile_toml: str,
    socket_path: str,
    *,
    description: str,
    seed: int,
    scale_divisor: int = 1,
    store_path: str | None = None,
    on_listening: Callable[[], object] | None = None,
) -> ServeReport:
    """Serve a modelled drive in real time until KeyboardInterrupt, which ends it cleanly and is not raised.

    ``on_listening`` is called once clients can connect; what it raises ends the service, too.

    The export bears the profile's name and is described as ``description``. Without ``store_path`` the data is gone
    afterwards. Any other exception of a signal handler ends it as cleanly and is raised. Raises ProfileError;
    FileExistsError if the socket or the store is somebody else's; OSError if one cannot be made.
    """

class LabError(RuntimeError):
    """The lab itself failed: its kernel is not understood."""

class LabDrive(TypedDict):
    """A drive to be put into a lab."""

    profile_toml: str
    seed: int
    scale_divisor: int
    front: Literal["scsi", "blk"]
    """``/dev/sdX`` with the host's real timeouts, or ``/dev/vdX``, for which the host waits for ever."""
    serial: str
    """Empty: it follows from profile and seed."""
    store_path: str | None
    """A file that keeps the data; None: gone with the lab."""
    faults_toml: str
    """Empty, or faults as in ``docs/faults.md``; their times count from the lab's first boot."""
    power_may_fail: NotRequired[bool]
    """Losses of power, planned or by ``power_cycle``, take data as the model says; costs memory between flushes."""
    history_path: NotRequired[str | None]
    """A file that lists what the drive is asked: with what another lab listed there it goes on where it was."""

class LabIdentity(TypedDict):
    """What the guest is told of a drive."""

    model: str
    serial: str
    wwn: str
    capacity_bytes: int

class LabDriveReport(LabIdentity):
    """Counts over all runs so far."""

    reads: int
    writes: int
    flushes: int
    trims: int
    others: int
    read_bytes: int
    written_bytes: int
    errors: int
    aborted: int
    resets: int
    most_outstanding: int
    longest_ns: int
    stored_bytes: int
    spilled_bytes: int
    faults_met: list[bool]
    """Of the faults it was given, in their order, whether each made a difference."""

class LabReport(TypedDict):
    """One run, from the guest's boot to its end."""

    outcome: Literal["ended", "wall_limit", "loops", "hangs", "rebooted", "deadlock", "power_cut", "interrupted"]
    virtual_ns: int
    wall_ns: int
    boot_wall_ns: int | None
    """From the kernel's first message to its first command for a drive."""
    trace_hash: str
    """Of all that the drives did, over all runs so far: time, drive, verb, place and data."""
    messages: int
    interrupts: int
    drives: list[LabDriveReport]

@final
class Lab:
    """A User-Mode Linux guest's clock and drives, over as many boots as are wanted.

    While it runs, all that asks it something raises LabError.
    """

    def __init__(
        self,
        folder: str,
        drives: Sequence[LabDrive],
        *,
        spill_folder: str | None = None,
        memory_bytes: int = ...,
        trace_path: str | None = None,
    ) -> None:
        """Make the drives and listen at sockets in ``folder``, which must be short enough for them.

        Data beyond ``memory_bytes`` (default: 2 GiB, for all drives) goes to nameless files in ``spill_folder``. At
        ``trace_path``, where nothing may stand yet, every request is listed, to find where two runs part. Raises
        ProfileError, ValueError for a front or a fault that cannot be, OSError if sockets or stores cannot be made or a
        drive cannot be taken up again.
        """
    @property
    def kernel_arguments(self) -> list[str]:
        """What the kernel's command line must say, started with ``folder`` as its working directory."""
    @property
    def now_ns(self) -> int:
        """Virtual time since the first boot."""
    @property
    def drives(self) -> list[LabIdentity]: ...
    @property
    def time_of_day_ns(self) -> int:
        """When the next boot begins, since 1970: later by the age of the oldest drive with a ``history_path``."""
    def end(self) -> None:
        """End the lists at ``history_path``, after the last run. Raises OSError if one could not be written."""
    def power_cycle(self, *, off_ns: int) -> None:
        """Between two runs: the power of all drives fails and comes back ``off_ns`` later.

        Raises ValueError for more than a hundred years.
        """
    def run(
        self,
        guest_pid: int,
        *,
        wall_limit_s: float | None = None,
        stall_limit_s: float = 60.0,
        pin_cpu: int | None = None,
        on_tick: Callable[[], object] | None = None,
        power_cut_at_ns: int | None = None,
    ) -> LabReport:
        """Serve one boot until the process ``guest_pid`` ends or a limit is reached; it is never killed here.

        At ``power_cut_at_ns``, which counts as ``now_ns`` does, the run is over: kill the guest, then ``power_cycle``.

        ``stall_limit_s`` is how long the guest's processes may use a processor without a word to its clock (it
        ``loops``), or all of them sleep (it ``hangs``); on a machine that does not let them run they have all time.

        ``on_tick`` is called about ten times a second; what it or a signal handler raises ends the run and is raised.
        ``pin_cpu`` keeps this thread on one processor, where the guest should be, too. Raises LabError,
        ValueError for a limit that is no time, OSError if there is no such process or processor, and with its number
        if a drive's data could not be kept.
        """

def resilver(order: dict[str, Any], share: Share) -> dict[str, Any]:
    """Resilver the member in place ``replacement`` of a ZFS vdev. Raises ArrayError, ProfileError, JobError.

    The order: ``layout``, ``profiles``, ``scale_divisor``, ``faults``, ``member_bytes``, ``fill``, ``replacement``,
    ``used``, ``load``, ``seed``, ``whole`` as of ``rebuild``; ``record_bytes``, ``ashift``, ``run_records`` (how many
    neighbours an aged pool keeps together, or None), ``file_bytes`` (of a fresh pool's files, beside a load of those
    behind the users' file, or None), ``draid`` (data drives of a group, spares; or None), ``spare`` (a distributed one
    instead of the replacement, or None), ``order`` (``blocks``, ``sorted``, ``sequential``), ``release`` (``0.6``,
    ``2.1``, ``2.3``), ``host`` (memory in bytes, the most of it that the cache may have or None, cores, bytes a core
    rebuilds per second or None, nanoseconds that it waits for a drive's answer or None), ``second_failure`` (member and
    nanoseconds, or None).

    The answer is that of ``rebuild`` with ``deviation_ns``, ``simulated_ns``, ``allocated_bytes``, ``records``,
    ``cores_busy`` (the share of their time).
    """

def usable_bytes(
    layout: str,
    width: int,
    member_bytes: int,
    record_bytes: int,
    ashift: int,
    draid: tuple[int, int] | None,
    release: str,
) -> int:
    """How much data in records of that size a pool of one vdev has room for, in that release. Raises ArrayError.

    ``member_bytes`` is the partition that it has of each drive.
    """

@final
class Share:
    """How much of a rebuild is done, for who waits for it in another thread, and may end it from there."""

    def __init__(self) -> None: ...
    @property
    def done(self) -> float:
        """0 to 1."""
    def stop(self) -> None:
        """Let the rebuild end with InterruptedError, some hundredths of a second later."""

def rebuild(order: dict[str, Any], share: Share) -> dict[str, Any]:
    """Rebuild the member in place ``replacement`` of an array. Raises ArrayError, ProfileError, JobError.

    The order: ``layout``, ``profiles`` (texts, of all members in their places), ``scale_divisor``, ``faults`` (texts or
    None, in their places), ``options`` (the fields of ``MdOptions``, None for the default), ``member_bytes``, ``fill``
    (0..1), ``replacement``, ``used``, ``load`` (a fio job or None), ``seed``, ``whole``. The answer: the fields
    of ``Rebuild``, its tables as lists or columns, its samples as rows.
    """
