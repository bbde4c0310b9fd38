"""A load as the people of IOmeter write it, and what was measured under it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from shakedown.errors import UsageError
from shakedown.units import NS_PER_S, format_size, parse_data_rate, parse_duration_ns, parse_size_bytes

DEFAULT_OUTSTANDING: Final = 1

_NUMBER: Final = r"\d+(?:\.\d+)?"
_PART: Final = re.compile(
    r"(?<![\w.-])(?<!\d,)(?:"
    rf"(?P<size>{_NUMBER}\s*[KMG]i?B?)"
    rf"|(?P<reads>{_NUMBER})\s*%?\s*R(?:eads?)?"
    rf"|(?P<random>{_NUMBER})\s*%?\s*rand(?:om)?"
    r"|(?:depth|iodepth|qd)\s*=?\s*(?P<depth>\d+)"
    r"|(?P<outstanding>\d+)\s+outstanding"
    r")(?![\w.%])",
    re.IGNORECASE,
)
"""What a load is told in, in any order. Whatever is left between such parts is not understood."""

_FIGURE: Final = re.compile(r"\s*(.*?)\s*(?:(IOPS)|([KMG]i?b(?:its?)?/s))(?!\w)(.*)", re.IGNORECASE | re.DOTALL)
_MEAN: Final = re.compile(r"[\s,;]+mean\s+(.+)", re.DOTALL)
_BETWEEN: Final = " \t\n,;"
_EXAMPLE: Final = "write it like `8KiB 65R 60rand depth 64 = 89 IOPS` or `32KiB 100R 0rand = 55 MiB/s`"
_EXAMPLE_OF_A_FIGURE: Final = "write it like `1761 IOPS`, `89.5 IOPS, mean 700ms` or `55 MiB/s`"


@dataclass(frozen=True)
class Load:
    """Requests of ``block_bytes``, a share of them reads, a share of them at random places, so many outstanding."""

    block_bytes: int
    read_share: float
    random_share: float
    outstanding: int = DEFAULT_OUTSTANDING

    @property
    def write_share(self) -> float:
        """What is not read."""
        return 1 - self.read_share

    def __str__(self) -> str:
        """``8.0 KiB, 65 % reads, 60 % random, 64 outstanding``."""
        return (
            f"{format_size(self.block_bytes)}, {self.read_share:.0%} reads, {self.random_share:.0%} random, "
            f"{self.outstanding} outstanding"
        ).replace("%", " %")


@dataclass(frozen=True)
class Measured:
    """What a box did under a load: requests per second, and how long they took if that was told.

    ``stated`` is all that a modelled box has around its drives, as it was ordered; None of one that is real.
    ``depth_is_assumed``: who typed it in said nothing of how many requests were outstanding. ``is_of_another``: it was
    measured on another array, or on other drives, than it is explained with.
    """

    name: str
    load: Load
    iops: float
    mean_s: float | None = None
    stated: tuple[str, ...] | None = None
    depth_is_assumed: bool = False
    is_of_another: bool = False

    @property
    def bytes_per_s(self) -> float:
        """Of payload."""
        return self.iops * self.load.block_bytes


def parse_measured(text: str) -> Measured:
    """``[NAME:] SIZE N R N rand [depth N] = FIGURE [, mean TIME]``; the figure is IOPS, MB/s or MiB/s.

    Raises UsageError that says which part is missing, wrong or not understood: none is dropped.
    """
    name, colon, rest = text.rpartition(":")
    # The last one: a depth may have one of its own.
    left, equals, right = (rest if colon else text).rpartition("=")
    if not equals:
        raise UsageError(f"`{text}`: no `=` between the load and what was measured", hint=_EXAMPLE)
    parts = _parts(left, text)
    load = _load(parts, text)
    iops, behind = _figure(right, load.block_bytes, text)
    return Measured(
        name.strip() or left.strip(), load, iops, _mean_s(behind, text), depth_is_assumed="depth" not in parts
    )


def _parts(left: str, text: str) -> dict[str, str]:
    """What is told of a load, by its name. Raises UsageError for the rest, and for what is told twice."""
    unknown = [words for each in _PART.sub("\n", left).split("\n") if (words := each.strip(_BETWEEN))]
    if unknown:
        raise UsageError(f"`{text}`: `{'` and `'.join(unknown)}` cannot be understood", hint=_EXAMPLE)
    parts: dict[str, str] = {}
    for found in _PART.finditer(left):
        [(kind, value)] = ((kind, value) for kind, value in found.groupdict().items() if value)
        kind = "depth" if kind == "outstanding" else kind
        if kind in parts:
            raise UsageError(f"`{text}`: `{found[0]}` is told a second time", hint=_EXAMPLE)
        parts[kind] = value
    return parts


def _load(parts: dict[str, str], text: str) -> Load:
    for kind, what in (("size", "size of a request"), ("reads", "share of reads"), ("random", "random share")):
        if kind not in parts:
            raise UsageError(f"`{text}`: no {what}", hint=_EXAMPLE)
    read_share, random_share = float(parts["reads"]) / 100, float(parts["random"]) / 100
    if max(read_share, random_share) > 1:
        raise UsageError(f"`{text}`: a share above 100 %", hint=_EXAMPLE)
    outstanding = int(parts.get("depth", DEFAULT_OUTSTANDING))
    # `8K` is 8192 bytes to everyone who speaks of request sizes.
    block_bytes = parse_size_bytes(re.sub(r"(?i)([KMG])i?B?$", r"\1iB", parts["size"].replace(" ", "")))
    if not block_bytes or not outstanding:
        raise UsageError(f"`{text}`: a request of nothing, or none outstanding", hint=_EXAMPLE)
    return Load(block_bytes, read_share, random_share, outstanding)


def _figure(right: str, block_bytes: int, text: str) -> tuple[float, str]:
    """Requests per second, and what stands behind them."""
    found = _FIGURE.fullmatch(right)
    if found is None:
        raise UsageError(f"`{text}`: what was measured is neither IOPS nor MB/s nor MiB/s", hint=_EXAMPLE)
    number, iops_unit, rate_unit, behind = found.groups()
    if re.fullmatch(_NUMBER, number) is None:
        told = f"`{number}` is no number" if number else "no number was measured"
        raise UsageError(f"`{text}`: {told}: digits, and a point before a fraction", hint=_EXAMPLE_OF_A_FIGURE)
    iops = float(number) if iops_unit else parse_data_rate(number + rate_unit) / block_bytes
    if not iops:
        raise UsageError(f"`{text}`: nothing was measured", hint="a box that does nothing has another question")
    return iops, behind


def _mean_s(behind: str, text: str) -> float | None:
    if not behind.strip(_BETWEEN):
        return None
    found = _MEAN.fullmatch(behind)
    if found is None:
        raise UsageError(f"`{text}`: `{behind.strip(_BETWEEN)}` cannot be understood", hint=_EXAMPLE_OF_A_FIGURE)
    try:
        mean_ns = parse_duration_ns(found[1])
    except UsageError as error:
        raise UsageError(f"`{text}`: the mean: {error}", hint=error.hint) from None
    if not mean_ns:
        raise UsageError(f"`{text}`: a request takes some time", hint="leave `mean` out if it is not known")
    return mean_ns / NS_PER_S
