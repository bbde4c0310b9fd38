"""A rebuild as a run folder: the same whether it was modelled, or made of drives."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import polars as pl

from shakedown.analysis.finding import Finding
from shakedown.analysis.kick import judge_patience
from shakedown.array.capacity import Capacity
from shakedown.array.faults import told_faults
from shakedown.array.felt import ALONE, LOAD
from shakedown.array.find import REBUILD
from shakedown.array.order import RebuildOrder, drive_name
from shakedown.array.rebuild import Rebuild
from shakedown.array.settings import told_options
from shakedown.array.users import told_users
from shakedown.protocol.environment import describe_environment, shakedown_version
from shakedown.result.answers import ANSWERS_NAME
from shakedown.result.atomic import replace_file
from shakedown.result.folder import BASELINE_NAME, RunFolder
from shakedown.result.identity import Identity
from shakedown.result.run_record import ProtocolRecord, RunRecord, StepRecord
from shakedown.sample import Sample
from shakedown.units import NS_PER_S, format_size

PROGRESS_NAME: Final = "progress.csv"
"""How far it was at each look, for each seed: docs/rebuild.md tells its columns."""
_COLUMNS: Final = {
    "seed": pl.col("seed"),
    "time_s": pl.col("at_ns") / NS_PER_S,
    "done_bytes": pl.col("done_bytes"),
    "share": pl.col("done_bytes") / pl.col("filled_bytes"),
    "shown_bytes_per_s": pl.col("shown_bytes_per_s").round().cast(pl.Int64),
    "shown_left_s": pl.col("left_ns") / NS_PER_S,
    "left_s": (pl.col("ended_ns") - pl.col("at_ns")) / NS_PER_S,
}
PROGRESS_HEAD: Final = ",".join(_COLUMNS) + "\n"
"""How each such file begins."""

_SOURCE: Final = "field notes A (Ars Technica, 2020)"
_SAMPLED: Final = "stretches of it were played, and each stands for all up to the next"
_GOES_ON: Final = "it is looked at in equal intervals: the last of them goes on behind the rebuild's end"
_SEEN_LONGER_NS: Final = NS_PER_S
"""An interval that ends with the rebuild ends with what happens next."""
_QUESTION: Final = "How long does the rebuild take, which drive holds it up, and what do the users feel meanwhile?"


@dataclass(frozen=True)
class Setting:
    """Where a rebuild took place: in which arena, onto whom, and what to know before its figures are trusted."""

    arena: Literal["model", "lab", "device"]
    target: Identity
    notes: tuple[str, ...]
    capacity: Capacity


def keep(
    folder: RunFolder,
    order: RebuildOrder,
    rebuilds: Sequence[Rebuild],
    found: Sequence[Finding],
    setting: Setting,
    *,
    has_baseline: bool,
) -> None:
    """Samples and steps are those of the first seed, findings of all."""
    one = rebuilds[0]
    steps, samples = _steps(order, one)
    record = RunRecord(
        shakedown_version=shakedown_version(),
        protocol=_protocol(order),
        parameters=_parameters(order),
        target=setting.target,
        arena=setting.arena,
        # What only fio brings along is of no account where there was none.
        environment=describe_environment(setting.arena if order.load is not None else "model"),
        seed=order.seed,
        scale_divisor=order.scale_divisor,
        status="complete",
        steps=steps,
        findings=tuple(found),
        baseline=BASELINE_NAME if has_baseline else None,
        notes=(*setting.notes, setting.capacity.words),
    )
    folder.note("run-began", target=order.replacement)
    folder.append(samples)
    answers = {
        "order": asdict(order),
        "rebuilds": [each.to_json() for each in rebuilds],
        "patience": _patience(order, rebuilds),
        "capacity": asdict(setting.capacity),
    }
    replace_file(folder.raw / ANSWERS_NAME, json.dumps(answers, sort_keys=True).encode() + b"\n")
    replace_file(folder.path / PROGRESS_NAME, progress_csv(rebuilds, order.seed).encode())
    folder.write(record)
    folder.note("run-ended", status=record.status)


def _parameters(order: RebuildOrder) -> dict[str, str]:
    """What tells one rebuild of an array from another, as far as it is not as usual."""
    told = {
        "set": ", ".join(told_options(order.options)),
        "faults": told_faults(order.faults),
        "load": told_users(order.load),
    }
    return {"state": order.state} | {name: value for name, value in told.items() if value}


def _patience(order: RebuildOrder, rebuilds: Sequence[Rebuild]) -> list[dict[str, Any]]:
    """Who waits how long for the drive that is filled, and of the others who would be kicked out, or nearly so.

    Of those who wait in another box, too, that its owner knows before moving the drive there. Of drives that are scaled
    down nobody: how long a command takes is a question of whole ones.
    """
    if order.scale_divisor > 1:
        return []
    software = "zfs" if order.is_zfs else "md"
    longest = [
        max(
            (float(each.members["longest_command_ns"][place]) / 1e6, each.is_longest_a_flush(place))
            for each in rebuilds
        )
        for place in range(len(order.members))
    ]
    slowest = max(rebuilds, key=lambda each: each.longest_command_ms)
    lost = {place for each in rebuilds for place in (*each.failed_on_the_way, each.failed_member)}
    judged = []
    for place in (slowest.filled, *(place for place in range(len(order.members)) if place != slowest.filled)):
        target = order.replacement if place == order.place else order.members[place]
        judged += [
            {
                **each.patience._asdict(),
                "member": place,
                "drive": drive_name(target),
                "in_another_box": software not in each.patience.arrays_of,
                "longest_ms": each.longest_ms,
                "kicked": each.kicked,
            }
            for each in judge_patience(
                longest[place][0],
                is_lost=place in lost,
                command_timeout_ms=order.command_timeout_ms,
                is_flush=longest[place][1],
                given_up=any(each.members["timeouts"][place] for each in rebuilds),
            )
            if place == slowest.filled or each.kicked != "no"
        ]
    return judged


def progress_csv(rebuilds: Sequence[Rebuild], seed: int) -> str:
    """A row a look: what was done, what the status said is left, and what was."""
    frames = [_looks(rebuild, seed + number) for number, rebuild in enumerate(rebuilds)]
    return pl.concat(frames).write_csv(None, float_precision=6, null_value="")


def _looks(rebuild: Rebuild, seed: int) -> pl.DataFrame:
    """Of a rebuild that failed nobody knows what was left."""
    ended_ns = None if rebuild.ended == "failed" else rebuild.duration_ns
    looks = rebuild.progress.filter(pl.col("at_ns") <= rebuild.duration_ns)
    return looks.with_columns(
        seed=pl.lit(seed, pl.Int64),
        filled_bytes=pl.lit(max(rebuild.filled_bytes, 1)),
        ended_ns=pl.lit(ended_ns, pl.Int64),
    ).select(**_COLUMNS)


def _protocol(order: RebuildOrder) -> ProtocolRecord:
    """What has to be the same for two rebuilds to be compared: all but the replacement and its state."""
    alike = {name: value for name, value in asdict(order).items() if name not in ("replacement", "state")}
    text = json.dumps(alike, indent=1, sort_keys=True)
    size = "" if order.member_bytes is None else f" of {format_size(order.member_bytes)} each"
    width = len(order.members)
    fate = "fails, a distributed spare takes its place" if order.on_spare else "is replaced"
    return ProtocolRecord(
        name="rebuild",
        title=f"{order.layout} of {width} drives{size}, {order.fill:.0%} full: one {fate}",
        question=_QUESTION,
        source=_SOURCE,
        uses=(),
        text=text,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
    )


def _steps(order: RebuildOrder, one: Rebuild) -> tuple[tuple[StepRecord, ...], list[Sample]]:
    """The rebuild and, from its beginning on, the job beside it; then the job alone, from a zero of its own."""
    size = f"{len(order.members)} drives"
    job = f"# {'ZFS' if order.is_zfs else 'md'} fills the replacement in a {order.layout} of {size}"
    filled = "The distributed spare is filled" if order.on_spare else "The new drive is filled"
    spans = [(REBUILD, filled, job, _rebuilding(one))]
    if order.load is not None:
        spans.append((LOAD, "The job beside the rebuild", order.load, one.during))
        spans.append((ALONE, "The same job on the healthy array", order.load, one.alone))
    steps: list[StepRecord] = []
    samples: list[Sample] = []
    at_ns = 0
    for name, title, text, frame in spans:
        rows = [Sample(*row) for row in _one_after_the_other(frame).iter_rows()]
        at_ns = 0 if name == LOAD else at_ns
        begin_ns = rows[0].start_ns if rows else 0
        rows = [row._replace(start_ns=row.start_ns - begin_ns + at_ns) for row in rows]
        end_ns = max((row.start_ns + row.duration_ns for row in rows), default=at_ns)
        if name == REBUILD:
            end_ns = max(end_ns, one.duration_ns)  # nothing may have been filled for long before a failure
        is_sampled = name == LOAD and not one.whole
        if is_sampled:
            end_ns = max(end_ns, steps[0].end_ns)
        outlives = name == LOAD and one.whole and end_ns - steps[0].end_ns > _SEEN_LONGER_NS
        interval_ns = max(min((row.duration_ns for row in rows), default=1), 1)
        steps.append(
            StepRecord(
                name=name,
                title=title,
                start_ns=at_ns,
                end_ns=end_ns,
                interval_ns=interval_ns,
                ended_because="failed" if name == REBUILD and one.ended == "failed" else "job-ended",
                detail=_SAMPLED if is_sampled else _GOES_ON if outlives else None,
                job=text,
            )
        )
        samples += rows
        at_ns = max(step.end_ns for step in steps)
    return tuple(steps), samples


def _one_after_the_other(frame: pl.DataFrame) -> pl.DataFrame:
    """In order of time. The rows of a stretch all say where in the rebuild it stands."""
    length_ns = pl.col("duration_ns")
    before_ns = (length_ns.cum_sum() - length_ns).over("start_ns", "direction")
    return frame.with_columns(pl.col("start_ns") + before_ns).sort("start_ns", maintain_order=True)


def _rebuilding(one: Rebuild) -> pl.DataFrame:
    """The progress as samples: what was filled between two looks, in mebibytes as requests."""
    looks = one.progress.filter(pl.col("at_ns") <= one.duration_ns)
    between = looks.with_columns(
        duration_ns=pl.col("at_ns").shift(-1) - pl.col("at_ns"),
        bytes=pl.col("done_bytes").shift(-1) - pl.col("done_bytes"),
    ).filter(pl.col("duration_ns") > 0)
    empty = {
        f"latency_{name}_ns": pl.lit(None, pl.Float64 if name == "mean" else pl.Int64)
        for name in ("mean", "p50", "p99", "p999", "max")
    }
    return between.select(
        pl.lit(REBUILD).alias("step"),
        pl.lit("write").alias("direction"),
        pl.col("at_ns").alias("start_ns"),
        "duration_ns",
        (pl.col("bytes") // 2**20).alias("count"),
        "bytes",
        **empty,
    )
