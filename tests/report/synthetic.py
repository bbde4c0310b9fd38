"""Run folders made of seeded numbers, for testing what shows them. Their shapes are plausible; they measure nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shakedown.result.identity import Identity
from shakedown.result.run_record import (
    USES,
    EndedBecause,
    Finding,
    Outcome,
    ProtocolRecord,
    Published,
    Reason,
    RunRecord,
    StepRecord,
    Use,
    UseVerdict,
    Verdict,
)
from shakedown.result.sample import SAMPLE_SCHEMA

S = 1_000_000_000
MS = 1_000_000

WORDS = {
    "random-1m": ("Random writes of 1 MiB", "Does it keep up with scattered large writes, new and used?"),
    "sequential-32k": ("Sequential writes of 32 KiB", "How would it take a ZFS resilver?"),
    "cliff": ("Worst-case random writes", "When does it collapse, and how long until it is itself again?"),
    "day": ("A day of writes", "Does it ever stop answering?"),
}


@dataclass
class Step:
    """A step's samples: completions per second and mean latency, one value per interval."""

    name: str
    title: str
    rate: np.ndarray[Any, Any]
    request_bytes: int
    direction: str = "write"
    interval_s: int = 1
    depth: int = 1
    ended_because: EndedBecause = "job-ended"


@dataclass
class Recipe:
    """What goes into one run folder."""

    protocol: str
    target: str
    model: str
    steps: list[Step]
    seed: int = 1
    findings: list[Finding] = field(default_factory=list)
    published: list[Published] = field(default_factory=list)
    verdict: Verdict | None = None
    notes: list[str] = field(default_factory=list)
    details: dict[str, str] = field(default_factory=dict)


def finding(kind: str, step: str, value: float | None, unit: str, text: str = "", **more: Any) -> Finding:
    return Finding(kind=kind, step=step, value=value, unit=unit, text=text or f"{kind} in {step}", **more)


def verdict(outcome: Outcome, **uses: tuple[Outcome, str]) -> Verdict:
    judged: dict[Use, UseVerdict] = {
        use: UseVerdict(outcome=uses[use][0], reasons=(Reason(text=uses[use][1]),)) for use in USES if use in uses
    }
    return Verdict(outcome=outcome, uses=judged)


def _samples(step: Step, start_ns: int, random: np.random.Generator) -> dict[str, Any]:
    n = len(step.rate)
    count = np.maximum(np.rint(step.rate * step.interval_s), 0).astype(np.int64)
    mean = step.depth * S / np.maximum(step.rate, 0.5) * random.uniform(0.97, 1.03, n)
    tail = random.pareto(4, n) + 1

    def latency(values: Any) -> list[int | None]:
        return [int(v) if c else None for v, c in zip(values, count, strict=True)]

    return {
        "step": [step.name] * n,
        "direction": [step.direction] * n,
        "start_ns": start_ns + np.arange(n) * step.interval_s * S,
        "duration_ns": [step.interval_s * S] * n,
        "count": count,
        "bytes": count * step.request_bytes,
        "latency_mean_ns": [float(v) if v is not None else None for v in latency(mean)],
        "latency_p50_ns": latency(mean * 0.9),
        "latency_p99_ns": latency(mean * 1.8 * tail),
        "latency_p999_ns": latency(mean * 2.5 * tail),
        "latency_max_ns": latency(mean * 3 * tail),
    }


def write(folder: Path, recipe: Recipe, baseline: Recipe | None = None) -> Path:
    """Make ``folder``, and ``folder/baseline`` where there is one."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(recipe.seed)
    title, question = WORDS[recipe.protocol]
    now = 0
    steps, frames = [], []
    for step in recipe.steps:
        end = now + len(step.rate) * step.interval_s * S
        job = f"rw=rand{step.direction}\nbs={step.request_bytes}\niodepth={step.depth}\n"
        steps.append(
            StepRecord(
                name=step.name,
                title=step.title,
                start_ns=now,
                end_ns=end,
                interval_ns=step.interval_s * S,
                ended_because=step.ended_because,
                job=job,
            )
        )
        frames.append(pl.DataFrame(_samples(step, now, random), schema=SAMPLE_SCHEMA))
        now = end
    record = RunRecord(
        shakedown_version="0.1.0",
        protocol=ProtocolRecord(
            name=recipe.protocol,
            title=title,
            question=question,
            source="made for a test",
            uses=USES,
            text=f'format_version = 1\nname = "{recipe.protocol}"\ntitle = "{title}"\n',
            sha256="0" * 64,
            published=tuple(recipe.published),
        ),
        parameters={"span": "100%"},
        target=Identity(
            kind="model",
            text=recipe.target,
            name=recipe.target.partition(":")[2],
            model=recipe.model,
            capacity_bytes=4_000_787_030_016,
            details=recipe.details,
        ),
        arena="model",
        environment={"python": "3.11.8", "platform": "Linux x86_64"},
        seed=recipe.seed,
        scale_divisor=1,
        status="complete",
        steps=tuple(steps),
        findings=tuple(recipe.findings),
        verdict=recipe.verdict,
        baseline="baseline" if baseline else None,
        notes=tuple(recipe.notes),
    )
    (folder / "run.json").write_bytes(record.to_json())
    pl.concat(frames).write_parquet(folder / "samples.parquet")
    if baseline:
        write(folder / "baseline", baseline)
    return folder


def noisy(seed: int, seconds: int, rate: float, spread: float = 0.04) -> np.ndarray[Any, Any]:
    return rate * np.random.default_rng(seed).normal(1, spread, seconds).clip(0.5, 1.5)


EFAX, WOLF = ("model:wd40efax", "WDC WD40EFAX-68JH4N0"), ("model:st12000vn0007", "ST12000VN0007-2GS116")


def day(folder: Path, dip_at_s: int | None) -> Path:
    """24 hours at one sample a second; with ``dip_at_s``, one second without a completion."""
    rate = noisy(7, 86_400, 180)
    if dip_at_s is not None:
        rate[dip_at_s] = 0
    step = Step("write", "Write for a day", rate, 2**20, depth=8)
    return write(folder, Recipe("day", *EFAX, [step], findings=[finding("throughput", "write", 180, "MiB/s")]))


EVIDENCE = {"bytes": 662_000 * 4096.0, "writes": 662_000, "rate_before_iops": 120, "rate_after_iops": 1.5}


def cliff(folder: Path) -> Path:
    """Prefill, collapse after 92 minutes, hold, pause, nine hours of probes; the baseline never collapses."""
    fill = Step("fill", "Prefill with random data", noisy(1, 2100, 165, 0.02), 2**20, interval_s=10, depth=8)
    fast, slow = noisy(2, 92 * 60, 120), np.random.default_rng(3).gamma(1.2, 1.3, 60)
    collapse = Step("collapse", "4 KiB random writes", np.concatenate((fast, slow)), 4096, ended_because="condition")
    hold = Step("hold", "The load goes on", np.random.default_rng(4).gamma(1.2, 1.3, 1800), 4096)
    level = np.concatenate((np.full(9 * 3600, 8.0), np.full(3600, 30.0)))
    probes = np.where(np.arange(len(level)) % 3 == 0, 1000 / level, 0)
    recover = Step("recover", "Twenty random reads a minute", probes, 4096, "read", ended_because="condition")
    text = "Fell from 120 to 1.5 IOPS after 1 h 32 min."
    candidate = Recipe(
        "cliff",
        *EFAX,
        [fill, collapse, hold, recover],
        findings=[
            finding("cliff", "collapse", 5520, "s", text, low=5490, high=5550, evidence=EVIDENCE),
            finding("recovery", "recover", 9 * 3600, "s", "The backlog was gone after 9 h.", low=32100, high=32700),
        ],
        verdict=verdict("fail", archive=("pass", "It recovers."), zfs=("fail", "It collapses to 1/80 of its rate.")),
        notes=["modelled drive: a prediction, not a measurement"],
    )
    steady = Step("collapse", "4 KiB random writes", noisy(5, 24 * 3600, 310), 4096)
    base = Recipe("cliff", *WOLF, [Step(fill.name, fill.title, fill.rate[:1900], 2**20, interval_s=10), steady])
    return write(folder, candidate, base)


def sequential(folder: Path) -> Path:
    """The candidate at a sixteenth of the baseline's rate, new and used."""

    def steps(rate: float, spread: float, seed: int) -> list[Step]:
        return [
            Step("new", "New drive", noisy(seed, 1800, rate * 32, spread), 32768),
            Step("used", "Used drive", noisy(seed + 1, 1800, rate * 30, spread), 32768),
        ]

    candidate = Recipe(
        "sequential-32k",
        *EFAX,
        steps(13.2, 0.3, 11),
        findings=[
            finding("throughput", "new", 13.2, "MiB/s", low=12.9, high=13.5),
            finding("latency", "new", 2.36 * MS, "ns", low=2.2 * MS, high=2.5 * MS),
            finding("worst-latency", "new", 1.31 * S, "ns"),
            finding("throughput-ratio", "new", 15.85, "ratio", low=15.4, high=16.3),
            finding("throughput", "used", 12.4, "MiB/s", low=12.1, high=12.7),
            finding("throughput-ratio", "used", 15.8, "ratio", low=15.3, high=16.4),
        ],
        published=[
            Published(finding="throughput-ratio", step="new", row="R012", subject="wd40efax"),
            Published(finding="throughput", step="new", row="R011", subject="wd40efax"),
        ],
        verdict=verdict(
            "fail",
            zfs=("fail", "A resilver would take 15.9 times as long as on the baseline."),
            mdraid=("inconclusive", "A rebuild writes in larger blocks than this protocol."),
        ),
        notes=["modelled drive: a prediction, not a measurement"],
    )
    base = Recipe(
        "sequential-32k",
        *WOLF,
        steps(209.3, 0.03, 21),
        findings=[
            finding("throughput", "new", 209.3, "MiB/s", low=208, high=210.5),
            finding("latency", "new", 0.149 * MS, "ns"),
            finding("worst-latency", "new", 12 * MS, "ns"),
            finding("throughput", "used", 196.2, "MiB/s", low=195, high=197),
        ],
    )
    return write(folder, candidate, base)


def random_1m(folder: Path) -> Path:
    """A little slower than the baseline, with a far worse worst case."""

    def steps(rate: float, seed: int) -> list[Step]:
        return [
            Step("new", "New drive", noisy(seed, 1200, rate, 0.1), 2**20),
            Step("used", "Used drive", noisy(seed + 1, 1200, rate * 0.97, 0.12), 2**20),
        ]

    candidate = Recipe(
        "random-1m",
        *EFAX,
        steps(50, 31),
        findings=[
            finding("throughput", "new", 50.1, "MiB/s", low=49.5, high=50.8),
            finding("latency", "new", 20.0 * MS, "ns", low=19.5 * MS, high=20.4 * MS),
            finding("worst-latency", "new", 1.3 * S, "ns"),
            finding("throughput-ratio", "new", 1.2, "ratio", low=1.17, high=1.22),
            finding("worst-latency-ratio", "new", 12.0, "ratio"),
        ],
        verdict=verdict("pass", mdraid=("pass", "16.7 % slower than the baseline; that is usable.")),
        notes=["modelled drive: a prediction, not a measurement"],
    )
    base = Recipe(
        "random-1m",
        *WOLF,
        steps(60, 41),
        findings=[
            finding("throughput", "new", 60.0, "MiB/s", low=59.6, high=60.5),
            finding("latency", "new", 16.6 * MS, "ns"),
            finding("worst-latency", "new", 108 * MS, "ns"),
        ],
    )
    return write(folder, candidate, base)
