"""Exact requests through fio: its replay of an I/O log, and its log of every latency."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from shakedown.errors import EnvironmentFailure
from shakedown.fit.trace import FLUSH, READ, Floats, Log, Trace
from shakedown.tools.fio.job import Option

_IOLOG: Final = "requests.iolog"
_LATENCIES: Final = "requests_lat.1.log"
_VERBS: Final = {0: "read", 1: "write", 3: "sync"}
_SMOOTHED: Final = 51
_PAUSE_MS: Final = 1.1
_STAMP_NS: Final = 1_000_000


def replay_options(lease: tuple[Option, ...], depth: int) -> tuple[tuple[Option, ...], str]:
    """The options of the job, and the name of the target within the I/O log, which takes the place of `filename`."""
    named = [option.value for option in lease if option.name == "filename"]
    ours = (
        Option("read_iolog", _IOLOG),
        Option("iodepth", str(depth)),
        Option("write_lat_log", "requests"),
        Option("log_offset", "1"),
        Option("log_unix_epoch", "1"),
    )
    return (*(option for option in lease if option.name != "filename"), *ours), (named[0] if named else None) or "nbd"


def write_iolog(folder: Path, target: str, trace: Trace) -> None:
    """Write the requests in fio's format, version 2. Raises EnvironmentFailure."""
    words = np.array([_VERBS.get(verb, "") for verb in range(4)])[trace.verbs]
    requests = pl.DataFrame({"verb": words, "offset": trace.offsets, "length": trace.lengths})
    lines = requests.select(pl.format(f"{target} {{}} {{}} {{}}", "verb", "offset", "length"))
    text = "\n".join(["fio version 2 iolog", f"{target} add", f"{target} open", *lines.to_series(), f"{target} close"])
    try:
        (folder / _IOLOG).write_text(text + "\n")
    except OSError as error:
        raise EnvironmentFailure(f"`{folder / _IOLOG}` cannot be written: {error.strerror}") from error


def read_log(folder: Path, trace: Trace) -> Log:
    """What fio rows of each request.

    Latencies are exact, moments of completion are whole milliseconds. With one request in flight the log is in the
    order of the trace, no request begins before the one before it is complete, and where it begins at once, the
    milliseconds of many tell where all of them lie.
    """
    file = folder / _LATENCIES
    names = ["time_ms", "latency_ns", "verb", "length", "offset", "priority"]
    try:
        frame = pl.read_csv(file, has_header=False, new_columns=names, schema_overrides=[pl.String] * len(names))
        rows = frame.select(pl.col(name).str.strip_chars().str.replace("^0x", "").cast(pl.Int64) for name in names[:5])
    except (OSError, pl.exceptions.PolarsError) as error:
        raise EnvironmentFailure(f"`{file}`, fio's log of latencies, cannot be read: {error}") from error
    expected = int(np.sum(trace.verbs != FLUSH))
    # fio 3.33 does not note what is still in flight when it has submitted the last request of several at a time.
    if not expected - trace.depth < rows.height <= expected:
        raise EnvironmentFailure(f"fio logged {rows.height} of {expected} requests", hint=f"its files are in {folder}")
    latency_ns = rows["latency_ns"].to_numpy()
    stamps_ms = rows["time_ms"].to_numpy()
    if _steady(trace):
        completed_ms = _steady_moments_ms(stamps_ms, latency_ns / 1e6)
    elif trace.depth == 1:
        completed_ms = _moments_in_turn_ms(stamps_ms, latency_ns / 1e6)
    else:
        completed_ms = stamps_ms + 0.5
    completed = np.round(completed_ms * 1e6).astype(np.int64)
    submitted = completed - latency_ns
    # With one in flight they may lie side by side within the resolution of the clock, but never in another order.
    order = np.arange(len(submitted)) if trace.depth == 1 else np.argsort(submitted, kind="stable")
    offsets, lengths, verbs = (rows[name].to_numpy() for name in ("offset", "length", "verb"))
    flushed = int(np.median(np.diff(submitted))) if trace.verbs[-1] == FLUSH and len(submitted) > 1 else 0
    ended = max(int(completed.max()), int(submitted.max()) + flushed)
    grain = 0 if _steady(trace) else _STAMP_NS
    return Log(submitted[order], completed[order], offsets[order], lengths[order], verbs[order], ended, grain)


def _steady(trace: Trace) -> bool:
    """Whether each request follows the one before it at once, so that latencies tell when."""
    return trace.depth == 1 and bool(np.all(trace.verbs == READ))


def _moments_in_turn_ms(stamps_ms: Floats, latency_ms: Floats) -> Floats:
    """When each was complete, if each begins some time after the one before: the middle of what that leaves.

    A stamp is the millisecond in which it was, or a later one where the host was late.
    """
    earliest, latest = stamps_ms.astype(float), stamps_ms + 1.0
    for at in range(1, len(earliest)):
        earliest[at] = min(max(earliest[at], earliest[at - 1] + latency_ms[at]), latest[at])
    for at in range(len(latest) - 1, 0, -1):
        latest[at - 1] = max(min(latest[at - 1], latest[at] - latency_ms[at]), earliest[at - 1])
    return np.asarray((earliest + latest) / 2)


def _steady_moments_ms(stamps_ms: Floats, latency_ms: Floats) -> Floats:
    """The same if each begins at once after the one before."""
    middle = stamps_ms + 0.5
    drift = middle - np.cumsum(latency_ms)
    # Where the host paused, or was late, a new stretch begins.
    borders = np.flatnonzero(np.abs(np.diff(drift)) > _PAUSE_MS) + 1
    smooth = np.concatenate([_smoothed(stretch) for stretch in np.split(drift, borders)])
    moments = np.cumsum(latency_ms) + smooth
    return np.asarray(np.clip(moments, stamps_ms, stamps_ms + 1))


def _smoothed(drift: Floats) -> Floats:
    window = min(_SMOOTHED, (len(drift) - 1) // 2 * 2 + 1)
    if window < 3:
        return np.full(len(drift), float(np.mean(drift)))
    from scipy.signal import savgol_filter  # noqa: PLC0415 - most of a second, which only who replays waits for

    return np.asarray(drift[0] + savgol_filter(drift - drift[0], window, 1))
