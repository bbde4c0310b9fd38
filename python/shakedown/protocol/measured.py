"""What a run measured, load by load, for those who explain it."""

from __future__ import annotations

from shakedown.analysis.explain.load import Load, Measured
from shakedown.analysis.series import Series
from shakedown.errors import UsageError
from shakedown.result.folder import Run
from shakedown.result.run_record import StepRecord
from shakedown.tools.fio.job import Section, parse_fio_bytes, parse_job


def measured_loads(run: Run) -> list[Measured]:
    """Every step of one job that reads or writes one size of request. Raises UsageError if there is none."""
    found = [measured for step in run.record.steps if (measured := _measured(run, step))]
    if not found:
        raise UsageError(
            f"`{run.path}` holds no step that can be explained",
            hint="a step needs one job, of one size of request, and must have completed something",
        )
    return found


def _measured(run: Run, step: StepRecord) -> Measured | None:
    sections = _sections(step)
    series = Series.of(run.samples, step.name)
    if len(sections) != 1 or not series.requests.sum():
        return None
    load = _load(sections[0])
    if load is None:
        return None
    seconds = float(series.duration_s.sum())
    waited = float(series.waited_s.sum()) / float(series.timed.sum()) if series.timed.sum() else None
    return Measured(step.name, load, float(series.requests.sum()) / seconds, waited)


def _sections(step: StepRecord) -> tuple[Section, ...]:
    try:
        return tuple(parse_job(step.job, step.name)) if step.job else ()
    except UsageError:  # no job of a load: a rebuild's step
        return ()


def _load(section: Section) -> Load | None:
    pattern = section.last("rw", "read").split(":")[0]
    size = section.last("bs", "4k")
    if "trim" in pattern or "," in size or any(section.last(each) for each in ("bsrange", "bssplit")):
        return None
    reads = {"read": 1.0, "randread": 1.0, "write": 0.0, "randwrite": 0.0}.get(pattern)
    if reads is None:
        reads = float(section.last("rwmixread") or 100 - float(section.last("rwmixwrite", "50"))) / 100
    random = float(section.last("percentage_random", "100").split(",")[0]) / 100 if pattern.startswith("rand") else 0.0
    copies = int(section.last("numjobs", "1"))
    return Load(parse_fio_bytes(size, 0), reads, random, copies * int(section.last("iodepth", "1")))
