"""An ordered rebuild as a run: several seeds, beside a baseline, kept in a folder that tells all of it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

import polars as pl

from shakedown.analysis.finding import Finding
from shakedown.analysis.kick import judge_patience
from shakedown.array.find import ALONE, LOAD, REBUILD, findings, ratios
from shakedown.array.order import RebuildOrder, model_path
from shakedown.array.rebuild import Rebuild, simulate
from shakedown.protocol.environment import describe_environment, shakedown_version
from shakedown.result.atomic import replace_file
from shakedown.result.folder import BASELINE_NAME, Run, RunFolder, read_run
from shakedown.result.identity import Identity
from shakedown.result.run_record import ProtocolRecord, RunRecord, StepRecord
from shakedown.sample import Sample
from shakedown.target.model import ModelArena
from shakedown.units import format_duration, format_size

ANSWERS_NAME: Final = "rebuild.json"
"""In ``raw/``: the order, and for each seed what came of it."""

_SOURCE: Final = "field notes A (Ars Technica, 2020)"
_QUESTION: Final = "How long does the rebuild take, which drive holds it up, and what do the users feel meanwhile?"

Tell = Callable[[str], None]


def run_rebuild(order: RebuildOrder, baseline: RebuildOrder | None, seeds: int, out: Path, tell: Tell) -> Run:
    """Rebuild with ``seeds`` seeds, and the baseline likewise, into the new folder ``out``. Raises UsageError."""
    orders = [each for each in (baseline, order) if each is not None]
    for each in orders:
        each.to_core()  # what cannot be is refused before anything is made
    folders = [RunFolder.create(out)]
    if baseline is not None:
        folders.insert(0, RunFolder.create(out / BASELINE_NAME))
    try:
        theirs: list[Finding] = []
        for each, folder in zip(orders, folders, strict=True):
            rebuilds = _rebuilds(each, seeds, tell)
            found = findings(rebuilds, _names(each))
            told = found + (ratios(found, theirs) if each is order and baseline is not None else [])
            has_baseline = each is order and baseline is not None
            _keep(folder, each, rebuilds, told, has_baseline=has_baseline)
            theirs = found
    finally:
        for folder in reversed(folders):
            folder.close()
            folder.discard()
    return read_run(out)


def _rebuilds(order: RebuildOrder, seeds: int, tell: Tell) -> list[Rebuild]:
    """The core lets other threads work while it does."""
    orders = [replace(order, seed=order.seed + number) for number in range(seeds)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rebuilds = []
        for number, rebuild in enumerate(pool.map(simulate, orders), start=1):
            rebuilds.append(rebuild)
            what = f"{order.replacement} ({order.state}), {number} of {seeds}"
            tell(f"{what}: {rebuild.ended} after {format_duration(rebuild.duration_ns)} of virtual time")
    return rebuilds


def _names(order: RebuildOrder) -> list[str]:
    return [model_path(target).stem for target in (*order.members[:-1], order.replacement)]


def _keep(
    folder: RunFolder, order: RebuildOrder, rebuilds: Sequence[Rebuild], found: Sequence[Finding], *, has_baseline: bool
) -> None:
    """Samples and steps are those of the first seed, findings of all."""
    one = rebuilds[0]
    steps, samples = _steps(order, one)
    record = RunRecord(
        shakedown_version=shakedown_version(),
        protocol=_protocol(order),
        parameters={"state": order.state},
        target=_identity(order),
        arena="model",
        environment=describe_environment("model"),
        seed=order.seed,
        scale_divisor=order.scale_divisor,
        status="complete",
        steps=steps,
        findings=tuple(found),
        baseline=BASELINE_NAME if has_baseline else None,
        notes=_notes(order, one),
    )
    folder.note("run-began", target=order.replacement)
    folder.append(samples)
    judged = [
        {**each.patience._asdict(), "longest_ms": each.longest_ms, "kicked": each.kicked}
        for each in judge_patience(max(each.longest_command_ms for each in rebuilds))
    ]
    answers = {"order": asdict(order), "rebuilds": [each.to_json() for each in rebuilds], "patience": judged}
    replace_file(folder.raw / ANSWERS_NAME, json.dumps(answers, sort_keys=True).encode() + b"\n")
    folder.write(record)
    folder.note("run-ended", status=record.status)


def _protocol(order: RebuildOrder) -> ProtocolRecord:
    """What has to be the same for two rebuilds to be compared: all but the replacement and its state."""
    alike = asdict(replace(order, replacement="", state="new"))
    text = json.dumps(alike, indent=1, sort_keys=True)
    size = "" if order.member_bytes is None else f" of {format_size(order.member_bytes)} each"
    width = len(order.members)
    return ProtocolRecord(
        name="rebuild",
        title=f"{order.layout} of {width} drives{size}, {order.fill:.0%} full: one is replaced",
        question=_QUESTION,
        source=_SOURCE,
        uses=(),
        text=text,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
    )


def _identity(order: RebuildOrder) -> Identity:
    """The replacement is who is tested."""
    arena = ModelArena(order.replacement, seed=order.seed, scale_divisor=order.scale_divisor)
    details = {"state": order.state, "layout": order.layout, "width": str(len(order.members))}
    update: dict[str, object] = {"details": {**arena.identity.details, **details}}
    if order.state == "used":
        # Beside the same drive new it has to be told apart.
        update["model"] = f"{arena.identity.model}, used"
    return arena.identity.model_copy(update=update)


def _notes(order: RebuildOrder, one: Rebuild) -> tuple[str, ...]:
    drives = [model_path(target).stem for target in order.members]
    counted = [f"{drives.count(name)} x {name}" for name in dict.fromkeys(drives)]
    how = "every request was gone through" if one.whole else f"sampled: {one.requests} requests stand for all"
    return (
        f"{order.layout} of {', '.join(counted)}; the last is replaced by {order.replacement}, {order.state}; {how}.",
        "ZFS resilvers what is allocated."
        if order.is_zfs
        else "md rebuilds all of a member, however full the array is.",
    )


def _steps(order: RebuildOrder, one: Rebuild) -> tuple[tuple[StepRecord, ...], list[Sample]]:
    """The rebuild, the job beside it, and the job alone; each begins at zero of its own, one behind the other."""
    size = f"{len(order.members)} drives"
    job = f"# {'ZFS' if order.is_zfs else 'md'} fills the replacement in a {order.layout} of {size}"
    spans = [(REBUILD, "Rebuild: what is written to the replacement", job, _rebuilding(one))]
    if order.load is not None:
        spans.append((LOAD, "The job beside the rebuild", order.load, one.during))
        spans.append((ALONE, "The same job on the healthy array", order.load, one.alone))
    steps, samples, at_ns = [], [], 0
    for name, title, text, frame in spans:
        rows = [Sample(*row) for row in frame.sort("start_ns").iter_rows()]
        begin_ns = rows[0].start_ns if rows else 0
        rows = [row._replace(start_ns=row.start_ns - begin_ns + at_ns) for row in rows]
        end_ns = max((row.start_ns + row.duration_ns for row in rows), default=at_ns)
        interval_ns = max(min((row.duration_ns for row in rows), default=1), 1)
        steps.append(
            StepRecord(
                name=name,
                title=title,
                start_ns=at_ns,
                end_ns=end_ns,
                interval_ns=interval_ns,
                ended_because="failed" if name == REBUILD and one.ended == "failed" else "job-ended",
                job=text,
            )
        )
        samples += rows
        at_ns = end_ns
    return tuple(steps), samples


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
