"""``shakedown profiles new``: a modelled drive of what a data sheet says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from shakedown.cli.output import print_result
from shakedown.cli.own_file import refuse_no_folder
from shakedown.cli.whole import WHOLE
from shakedown.errors import UsageError
from shakedown.report.plain_text import wrap
from shakedown.result.atomic import replace_file
from shakedown.target.data_sheet import MOST_HEADS, DataSheet, edge_of, profile_of, rated_bytes
from shakedown.target.modelled import check_profile
from shakedown.target.overview import overview
from shakedown.units import NS_PER_S, parse_data_rate, parse_duration_ns, parse_memory_bytes, parse_rated_bytes

_SLOWEST, _FASTEST = 10_000_000, 1_000_000_000
_FEWEST_RPM, _MOST_RPM = 1000, 30_000
_LEAST_CAPACITY_BYTES, _MOST_CAPACITY_BYTES = 10**9, 200 * 10**12
_MOST_CACHE_BYTES: Final = 16 << 30
"""The most are the core's."""
_SHORTEST_SEEK_MS, _LONGEST_SEEK_MS = 1, 40
"""Between the fastest of 15,000 turns a minute and those of the time when stepper motors moved the heads."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SheetOptions:
    """What the sheet says; what it does not say is as of a drive that is known."""

    capacity: Annotated[str, Parameter(help="as it is sold: 8TB")]
    rpm: Annotated[float, Parameter(help="turns a minute")]
    outer_rate: Annotated[
        str | None,
        Parameter(show_default=False, help="the sheet's maximum sustained rate, which is that at the edge: 210MB/s"),
    ] = None
    self_test: Annotated[
        str | None,
        Parameter(
            show_default=False,
            help="what it advises for its extended self-test, as `smartctl -c` says: 701min; one of this and the rate "
            "has to be given, and the faster one counts",
        ),
    ] = None
    cache: Annotated[str | None, Parameter(show_default=False, help="its buffer: 256MiB")] = None
    seek: Annotated[str | None, Parameter(show_default=False, help="average seek: 8.5ms")] = None
    heads: Annotated[int | None, WHOLE, Parameter(show_default=False, help="surfaces, two a platter")] = None
    like: Annotated[
        str | None,
        Parameter(
            help="the drive whose mechanics and buffer it has where the sheet is silent [default: st12000vn0007 from "
            "6000 turns a minute on, else wd40efrx]"
        ),
    ] = None
    shingles_like: Annotated[
        str | None,
        Parameter(
            help="it is shingled, and this is the drive whose cache and cleaning it has, like st8000as0002 or wd40efax "
            "[default: it is conventional]"
        ),
    ] = None


_TYPED: Final = "data sheet: as typed in"


def new(file: Path, /, *, options: SheetOptions) -> int:
    """Make a profile of what a drive's data sheet says, and say what was assumed.

    For example:

    shakedown profiles new mine.toml --capacity 8TB --rpm 7200 --outer-rate 210MB/s --cache 256MiB

    shakedown profiles new smr.toml --capacity 6TB --rpm 5400 --outer-rate 190MB/s --shingles-like st8000as0002

    shakedown rebuild raid6 model:./mine.toml --width 8 --replace-with model:./smr.toml

    Parameters
    ----------
    file
        The profile to write; one that is there is not replaced.
    """
    name = _name(file)
    if file.exists() or file.is_symlink():
        raise UsageError(f"`{file}` is there already", hint="choose another name, or remove it first")
    capacity_bytes = _capacity_bytes(options.capacity)
    sheet = DataSheet(
        name=name,
        title=f"{name}, {'drive-managed SMR' if options.shingles_like else 'conventional'}, of its data sheet",
        capacity_bytes=capacity_bytes,
        rpm=_rpm(options.rpm),
        outer_bytes_per_s=None if options.outer_rate is None else _rate(options.outer_rate),
        source=_TYPED,
        rate_source=_TYPED,
        self_test_s=None
        if options.self_test is None
        else _self_test_s(options.self_test, options.capacity, capacity_bytes),
        self_test_source=_TYPED,
        cache_bytes=None if options.cache is None else _cache_bytes(options.cache),
        seek_ms=None if options.seek is None else _seek_ms(options.seek),
        heads=_heads(options.heads),
        like=options.like,
        shingles_like=options.shingles_like,
    )
    text = profile_of(sheet)
    check_profile(file, text)
    replace_file(file, text.encode())
    print_result("\n".join(_lines(file, text, sheet)) + "\n")
    return 0


def _name(file: Path) -> str:
    if file.suffix != ".toml" or not re.fullmatch(r"[a-z0-9-]+", file.stem):
        hint = "small letters, digits and hyphens, and `.toml` at the end: mine.toml"
        raise UsageError(f"`{file}` cannot name a profile", hint=hint)
    refuse_no_folder(file)
    return file.stem


def _capacity_bytes(text: str) -> int:
    told = parse_rated_bytes(text)
    if not _LEAST_CAPACITY_BYTES <= told <= _MOST_CAPACITY_BYTES:
        raise UsageError(f"no hard drive of this time holds `{text}`", hint="as it is sold: 8TB")
    return rated_bytes(told)


def _rpm(rpm: float) -> float:
    if not _FEWEST_RPM <= rpm <= _MOST_RPM:  # nor is it what is no number
        raise UsageError(f"no hard drive turns {rpm:g} times a minute", hint="a data sheet says 5400, 5700 or 7200")
    return round(rpm) if rpm == round(rpm) else rpm


def _rate(text: str) -> int:
    rate = parse_data_rate(text)
    if not _SLOWEST <= rate <= _FASTEST:
        raise UsageError(f"no hard drive sustains `{text}`", hint="a data sheet says some 100 to 300MB/s")
    return rate


_IN_MINUTES: Final = "`smartctl -c` says it in minutes: --self-test 701min"


def _self_test_s(text: str, capacity: str, capacity_bytes: int) -> float:
    seconds = parse_duration_ns(text) / NS_PER_S
    if not seconds:
        raise UsageError(f"no self-test takes `{text}`", hint=_IN_MINUTES)
    mean = capacity_bytes / seconds
    if not _SLOWEST / 2 <= mean <= _FASTEST / 2:
        told = f"{capacity} in {text} are {mean / 1e6:.3g} MB/s, which no hard drive reads on average"
        raise UsageError(told, hint=_IN_MINUTES)
    return seconds


def _heads(heads: int | None) -> int | None:
    if heads is not None and not 1 <= heads <= MOST_HEADS:
        raise UsageError(f"no hard drive has {heads} heads", hint="two a platter, or leave it out")
    return heads


def _cache_bytes(text: str) -> int:
    cache_bytes = parse_memory_bytes(text)
    if cache_bytes > _MOST_CACHE_BYTES:
        raise UsageError(f"no hard drive has a buffer of `{text}`", hint="a data sheet says some 64 to 512MiB")
    return cache_bytes


def _seek_ms(text: str) -> float:
    seek_ms = parse_duration_ns(text) / 1e6
    if not _SHORTEST_SEEK_MS <= seek_ms <= _LONGEST_SEEK_MS:
        hint = "a data sheet says some 4 to 16ms, or nothing: then leave it out"
        raise UsageError(f"no hard drive seeks in `{text}` on average", hint=hint)
    return seek_ms


def _lines(file: Path, text: str, sheet: DataSheet) -> list[str]:
    made = overview(text)
    target = f"model:{file}" if file.is_absolute() or "/" in str(file) else f"model:./{file}"
    size = f"{made.capacity_bytes:,} bytes, {made.rpm:g} turns a minute, {made.outer_bytes_per_s / 1e6:.0f} MB/s"
    shingles = ""
    if made.shingles_like:
        shingles = (
            f" How it shingles is not known of it, and taken from {made.shingles_like}: take what comes of that for an "
            "example, not for a forecast."
        )
    return [
        wrap(
            f"{target}: {size} at the edge.{_overruled(sheet)} The rest is assumed, and the "
            f"file says as of which drive.{shingles}"
        ),
        f"try: shakedown rebuild raid6 {target} --width 8",
    ]


def _overruled(sheet: DataSheet) -> str:
    """Which of two figures counts."""
    typed = sheet.outer_bytes_per_s
    if typed is None or sheet.self_test_s is None:
        return ""
    if edge_of(sheet).bytes_per_s > typed:
        return f" The self-test says so: in that time it reads faster than the {typed / 1e6:g} MB/s that were typed in."
    return f" The {typed / 1e6:g} MB/s that were typed in count: the self-test is no faster."
