"""What a run measured, load by load, for those who explain it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shakedown.analysis.explain.layout import CHUNK_BYTES, KINDS_OF_CHUNKS, Layout
from shakedown.analysis.explain.load import Load, Measured
from shakedown.analysis.series import Series
from shakedown.errors import UsageError
from shakedown.result.folder import Run
from shakedown.result.run_record import StepRecord
from shakedown.target.storage_box import BOX_SETTINGS
from shakedown.tools.fio.job import Section, parse_fio_bytes, parse_fio_count, parse_job
from shakedown.units import format_size, parse_request_bytes


def measured_loads(run: Run) -> list[Measured]:
    """Every step of one job that asks for one size of request as fast as it is answered. Raises UsageError if none."""
    found = [measured for step in run.record.steps if (measured := _measured(run, step))]
    if not found:
        raise UsageError(
            f"`{run.path}` holds no step that can be explained",
            hint="a step needs one job, of one size of request and without a pace of its own (`rate`, `thinktime`), "
            "and must have completed something",
        )
    return found


def of_another_array(run: Run, layout: Layout) -> Iterator[str]:
    """In words, what the run's folder says of its array that is not what is explained; nothing where it is silent."""
    if (divisor := run.record.scale_divisor) > 1:
        yield (
            f"`{run.path}` was measured at a scale of 1/{divisor}, on drives that are smaller by as much: their arms go"
            " less far and their caches fill sooner, and the ceilings here are of whole ones."
        )
    own = _array_of(run)
    # A mirror that was rebuilt is one, of all its drives.
    same = own == (layout.kind, layout.width) and (layout.kind != "mirror" or layout.copies == layout.width)
    if own is not None and not same:
        kind, width = own
        what = {"single": "one drive", "mirror": f"one mirror of {width}"}.get(kind, f"{kind} of {width}")
        yield f"`{run.path}` was measured on {what}, and is explained as {layout}: these are another array's ceilings."
    if same and (chunk_bytes := _chunk_bytes_of(run, layout)) not in (None, layout.chunk_bytes):
        yield (
            f"`{run.path}` was measured with chunks of {format_size(chunk_bytes)}, and is explained with"
            f" {format_size(layout.chunk_bytes)}: `--set chunk={chunk_bytes >> 10}KiB`."
        )
    if "missing" in run.record.target.details.get("drives", ""):
        yield f"`{run.path}` was measured on an array with a drive missing: a whole one's ceilings are higher."


def of_its_steps(run: Run) -> Iterator[str]:
    """In words, why single steps tell less of the array than the others, or nothing."""
    if run.record.protocol.name == "rebuild" and any(step.name == "rebuild-load" for step in run.record.steps):
        yield f"`{run.path}`, rebuild-load: a rebuild went on meanwhile and took its part of the drives."
    for step in run.record.steps:
        if paced := next(filter(None, map(pace_of, sections_of(step))), None):
            name, _ = paced
            yield f"`{run.path}`, {step.name}: `{name}` sets its pace, which is no limit of the box: it is left out."


def of_other_drives(run: Run, drive: str) -> Iterator[str]:
    """In words, that a modelled run was on none of these drives (``model:NAME``); nothing of another run."""
    target = run.record.target
    drives = sorted(set(re.findall(r"model:[^,\s]+", target.details.get("drives", target.text))))
    if target.kind == "model" and drives and drive not in drives:
        yield (
            f"`{run.path}` was measured on {' and '.join(drives)}, and is explained with {drive}: these are another"
            " drive's ceilings."
        )


def _array_of(run: Run) -> tuple[str, int] | None:
    """Layout and width, if the run tells: that of a rebuild, of a modelled storage box, of one modelled drive."""
    target = run.record.target
    if {"layout", "width"} <= target.details.keys():
        return target.details["layout"], int(target.details["width"])
    if target.kind != "model":
        return None
    if "drives" not in target.details:
        return "single", 1
    found = re.fullmatch(r"(\w+) of (\d+)", target.model or "")
    return (found[1], int(found[2])) if found else None


def _chunk_bytes_of(run: Run, layout: Layout) -> int | None:
    """Of a modelled array; None where the run does not tell, or the layout has none."""
    details = run.record.target.details
    if layout.kind not in KINDS_OF_CHUNKS or run.record.target.kind != "model" or "drives" not in details:
        return None
    return parse_request_bytes(details["chunk"]) if "chunk" in details else CHUNK_BYTES


def _measured(run: Run, step: StepRecord) -> Measured | None:
    sections = sections_of(step)
    whole = Series.of(run.loads, step.name)
    series = whole.loaded
    if len(sections) != 1 or not series.requests.sum():
        return None
    load = load_of(sections[0])
    if load is None or pace_of(sections[0]):
        return None
    seconds = float(series.duration_s.sum())
    waited = float(whole.waited_s.sum()) / float(whole.timed.sum()) if whole.timed.sum() else None
    return Measured(step.name, load, float(series.requests.sum()) / seconds, waited, _stated(run))


def _stated(run: Run) -> tuple[str, ...] | None:
    """What a modelled box has around its drives; None of a real one."""
    target = run.record.target
    if target.kind != "model":
        return None
    return tuple(f"{name}={value}" for name, value in target.details.items() if name in BOX_SETTINGS)


def sections_of(step: StepRecord) -> tuple[Section, ...]:
    """The jobs of a step; none of one that plays no load."""
    try:
        return tuple(parse_job(step.job, step.name)) if step.job else ()
    except UsageError:  # no job of a load: a rebuild's step
        return ()


def pace_of(section: Section) -> tuple[str, str] | None:
    """The option, with its value, by which the host itself waits between requests.

    None where it asks as fast as it is answered.
    """
    given = ((name, section.last(name, "0")) for name in ("thinktime", "rate_iops", "rate"))
    return next((each for each in given if each[1].strip("0,")), None)


def load_of(section: Section) -> Load | None:
    """What a section asks for, None where its requests are of several sizes or trim."""
    pattern = section.last("rw", "read").split(":")[0]
    size = section.last("bs", "4k")
    if "trim" in pattern or "," in size or any(section.last(each) for each in ("bsrange", "bssplit")):
        return None
    reads = {"read": 1.0, "randread": 1.0, "write": 0.0, "randwrite": 0.0}.get(pattern)
    if reads is None:
        reads = section.count("rwmixread", 100 - section.count("rwmixwrite", 50)) / 100
    random = _random_share(section, reads) if pattern.startswith("rand") else 0.0
    copies = section.count("numjobs", 1)
    return Load(parse_fio_bytes(size, 0), reads, random, copies * section.count("iodepth", 1))


def _random_share(section: Section, reads: float) -> float:
    """Of all requests; ``percentage_random`` has one share for both directions, or one for each."""
    shares = [parse_fio_count(each) / 100 for each in section.last("percentage_random", "100").split(",") if each]
    return reads * shares[0] + (1 - reads) * shares[min(1, len(shares) - 1)]
