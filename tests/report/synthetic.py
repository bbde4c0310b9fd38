"""Run folders made of seeded numbers, for testing what shows them. Their shapes are plausible; they measure nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from shakedown.analysis.find import findings
from shakedown.analysis.finding import FindingSpec, WantedKind
from shakedown.analysis.rules import Use
from shakedown.analysis.series import Loads
from shakedown.result.folder import Run, read_run
from shakedown.result.identity import Identity
from shakedown.result.run_record import EndedBecause, ProtocolRecord, Published, RunRecord, StepRecord
from shakedown.sample import SAMPLE_SCHEMA

S = 1_000_000_000
MS = 1_000_000

WORDS = {
    "random-1m": ("Random writes of 1 MiB", "Does it keep up with scattered large writes, new and used?"),
    "sequential-32k": ("Sequential writes of 32 KiB", "How would it take a ZFS resilver?"),
    "cliff": ("Worst-case random writes", "When does it collapse, and how long until it is itself again?"),
    "day": ("A day of writes", "Does it ever stop answering?"),
}


USES: dict[str, tuple[Use, ...]] = {
    "random-1m": ("archive", "mdraid"),
    "sequential-32k": ("zfs",),
    "cliff": ("archive", "desktop", "zfs"),
    "day": ("archive",),
}


@dataclass
class Step:
    """A step's samples: completions per second, one value per interval; the latency follows unless it is given."""

    name: str
    title: str
    rate: np.ndarray[Any, Any]
    request_bytes: int
    direction: str = "write"
    interval_s: int = 1
    depth: int = 1
    ended_because: EndedBecause = "job-ended"
    latency_ns: np.ndarray[Any, Any] | None = None


@dataclass
class Recipe:
    """What goes into one run folder."""

    protocol: str
    target: str
    model: str
    steps: list[Step]
    seed: int = 1
    wanted: list[tuple[WantedKind, str]] = field(default_factory=list)
    published: list[Published] = field(default_factory=list)
    details: dict[str, str] = field(default_factory=dict)
    scale_divisor: int = 1
    status: Literal["running", "complete", "interrupted", "failed"] = "complete"


def _samples(step: Step, start_ns: int, random: np.random.Generator) -> pl.DataFrame:
    n = len(step.rate)
    count = np.maximum(np.rint(step.rate * step.interval_s), 0).astype(np.int64)
    mean = step.depth * S / np.maximum(step.rate, 0.5) if step.latency_ns is None else step.latency_ns
    mean = mean * random.uniform(0.97, 1.03, n)
    tail = (random.pareto(4, n) + 1) * np.where(count > 1, 1, 1 / 3)

    def latency(values: Any) -> list[int | None]:
        return [int(v) if c else None for v, c in zip(values, count, strict=True)]

    columns = {
        "step": [step.name] * n,
        "direction": [step.direction] * n,
        "start_ns": start_ns + np.arange(n) * step.interval_s * S,
        "duration_ns": [step.interval_s * S] * n,
        "count": count,
        "bytes": count * step.request_bytes,
        "latency_mean_ns": [float(v) if v is not None else None for v in latency(mean)],
        "latency_p50_ns": latency(mean * 0.9),
        "latency_p99_ns": latency(mean * np.maximum(1, 1.8 * tail)),
        "latency_p999_ns": latency(mean * np.maximum(1, 2.5 * tail)),
        "latency_max_ns": latency(mean * np.maximum(1, 3 * tail)),
    }
    return pl.DataFrame(columns, schema=SAMPLE_SCHEMA)


def write(folder: Path, recipe: Recipe, baseline: Recipe | None = None) -> Path:
    """Make ``folder``, and ``folder/baseline`` where there is one."""
    folder.mkdir(parents=True)
    if baseline:
        write(folder / "baseline", baseline)
    random = np.random.default_rng(recipe.seed)
    now, steps, frames = 0, [], []
    for step in recipe.steps:
        end = now + len(step.rate) * step.interval_s * S
        steps.append(
            StepRecord(
                name=step.name,
                title=step.title,
                start_ns=now,
                end_ns=end,
                interval_ns=step.interval_s * S,
                ended_because=step.ended_because,
                job=f"rw=rand{step.direction}\nbs={step.request_bytes}\niodepth={step.depth}\n",
            )
        )
        frames.append(_samples(step, now, random))
        now = end
    samples = pl.concat([SAMPLE_SCHEMA.to_frame(), *frames])
    samples.write_parquet(folder / "samples.parquet")
    other = pl.read_parquet(folder / "baseline" / "samples.parquet") if baseline else None
    specs = [FindingSpec(kind=kind, step=step) for kind, step in recipe.wanted]
    title, question = WORDS[recipe.protocol]
    record = RunRecord(
        shakedown_version="0.1.0",
        protocol=ProtocolRecord(
            name=recipe.protocol,
            title=title,
            question=question,
            source="made for a test",
            uses=USES[recipe.protocol],
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
        scale_divisor=recipe.scale_divisor,
        status=recipe.status,
        steps=tuple(steps),
        findings=tuple(findings(specs, Loads(samples), Loads(other) if other is not None else None)),
        baseline="baseline" if baseline else None,
    )
    (folder / "run.json").write_bytes(record.to_json())
    return folder


def noisy(seed: int, seconds: int, rate: float, spread: float = 0.04) -> np.ndarray[Any, Any]:
    return rate * np.random.default_rng(seed).normal(1, spread, seconds).clip(0.5, 1.5)


EFAX, WOLF = ("model:wd40efax", "WDC WD40EFAX-68JH4N0"), ("model:st12000vn0007", "ST12000VN0007-2GS116")


def day(folder: Path, dip_at_s: int | None, **changes: Any) -> Path:
    """24 hours at one sample a second; with ``dip_at_s``, one second without a completion."""
    rate = noisy(7, 86_400, 180)
    if dip_at_s is not None:
        rate[dip_at_s] = 0
    step = Step("write", "Write for a day", rate, 2**20, depth=8)
    recipe = Recipe("day", *EFAX, [step], wanted=[("throughput", "write"), ("worst-latency", "write")])
    return write(folder, replace(recipe, **changes))


def cliff(folder: Path) -> Path:
    """Prefill, collapse after 92 minutes, hold, nine hours of probes; the baseline never collapses."""
    fill = Step("fill", "Prefill with random data", noisy(1, 2100, 165, 0.02), 2**20, interval_s=10, depth=8)
    fast, slow = noisy(2, 92 * 60, 120), np.random.default_rng(3).gamma(1.2, 1.3, 75)
    collapse = Step("collapse", "4 KiB random writes", np.concatenate((fast, slow)), 4096, ended_because="condition")
    hold = Step("hold", "The load goes on", np.random.default_rng(4).gamma(1.2, 1.3, 1800), 4096)
    level = np.concatenate((np.full(9 * 3600, 8.0 * MS), np.full(3600, 30.0 * MS)))
    probes = (np.arange(len(level)) % 3 == 0).astype(float)
    recover = Step("recover", "Twenty random reads a minute", probes, 4096, "read", latency_ns=level)
    recover.ended_because = "condition"
    wanted: list[tuple[WantedKind, str]] = [("cliff", "collapse"), ("recovery", "recover")]
    candidate = Recipe("cliff", *EFAX, [fill, collapse, hold, recover], wanted=wanted)
    candidate.published = [Published(finding="cliff", step="collapse", row="R022", subject="wd40efax")]
    steady = Step("collapse", "4 KiB random writes", noisy(5, 24 * 3600, 310), 4096)
    base_fill = replace(fill, rate=fill.rate[:1900])
    return write(folder, candidate, Recipe("cliff", *WOLF, [base_fill, steady], wanted=wanted))


def _two_steps(protocol: str, request_bytes: int, rates: tuple[float, float], spreads: tuple[float, float]) -> Any:
    """Recipes of candidate and baseline for a protocol with a new and a used drive."""
    wanted: list[tuple[WantedKind, str]] = [
        (kind, step) for step in ("new", "used") for kind in ("throughput", "latency", "worst-latency")
    ]
    return tuple(
        Recipe(
            protocol,
            *target,
            [
                Step("new", "New drive", noisy(seed, 1800, rate, spread), request_bytes),
                Step("used", "Used drive", noisy(seed + 1, 1800, rate * 0.94, spread), request_bytes),
            ],
            wanted=wanted,
        )
        for seed, target, rate, spread in zip((11, 21), (EFAX, WOLF), rates, spreads, strict=True)
    )


def sequential(folder: Path) -> Path:
    """The candidate at a sixteenth of the baseline's rate."""
    candidate, baseline = _two_steps("sequential-32k", 32768, (13.2 * 32, 209.3 * 32), (0.3, 0.03))
    candidate.published = [
        Published(finding="throughput-ratio", step="new", row="R012", subject="wd40efax"),
        Published(finding="throughput", step="new", row="R011", subject="wd40efax"),
        Published(finding="throughput", step="new", row="R010", subject="st12000vn0007"),
    ]
    baseline.published = candidate.published
    return write(folder, candidate, baseline)


def random_1m(folder: Path) -> Path:
    """A little slower than the baseline, with a worse worst case."""
    candidate, baseline = _two_steps("random-1m", 2**20, (50, 60), (0.12, 0.06))
    candidate.published = [Published(finding="throughput-ratio", step="new", row="R006", subject="wd40efax")]
    return write(folder, candidate, baseline)


def with_a_wait(run: Run) -> Run:
    """As if each step had ended by a condition and left one request in flight, for a hundred seconds."""
    steps = tuple(step.model_copy(update={"ended_because": "condition"}) for step in run.record.steps)
    waited = [
        (step.name, "write", step.end_ns, 100 * S, 1, 4096, 1e11, 10**11, 10**11, 10**11, 10**11) for step in steps
    ]
    late = pl.DataFrame(waited, schema=SAMPLE_SCHEMA, orient="row")
    pl.concat([run.samples, late]).write_parquet(run.path / "samples.parquet")
    (run.path / "run.json").write_bytes(run.record.model_copy(update={"steps": steps}).to_json())
    return read_run(run.path)
