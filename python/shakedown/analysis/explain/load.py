"""A load as the people of IOmeter write it, and what was measured under it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from shakedown.errors import UsageError
from shakedown.units import NS_PER_S, format_size, parse_data_rate, parse_duration_ns, parse_size_bytes

DEFAULT_OUTSTANDING: Final = 1

_DEPTH: Final = re.compile(r"\bdepth\s+(\d+)\b", re.IGNORECASE)
_EXAMPLE: Final = "write it like `8KiB 65R 60rand depth 64 = 89 IOPS` or `32KiB 100R 0rand = 55 MiB/s`"


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
    ``depth_is_assumed``: who typed it in said nothing of how many requests were outstanding.
    """

    name: str
    load: Load
    iops: float
    mean_s: float | None = None
    stated: tuple[str, ...] | None = None
    depth_is_assumed: bool = False

    @property
    def bytes_per_s(self) -> float:
        """Of payload."""
        return self.iops * self.load.block_bytes


def parse_measured(text: str) -> Measured:
    """``[NAME:] SIZE N R N rand [depth N] = FIGURE [, mean TIME]``; the figure is IOPS, MB/s or MiB/s.

    Raises UsageError that says which part is missing or wrong.
    """
    name, colon, rest = text.rpartition(":")
    left, equals, right = (rest if colon else text).partition("=")
    if not equals:
        raise UsageError(f"`{text}`: no `=` between the load and what was measured", hint=_EXAMPLE)
    load = _load(left, text)
    iops = _figure(right, load.block_bytes, text)
    mean = re.search(r"mean\s+([\d.]+\s*[a-z]+)", right)
    return Measured(
        name.strip() or left.strip(),
        load,
        iops,
        parse_duration_ns(mean[1]) / NS_PER_S if mean else None,
        depth_is_assumed=_DEPTH.search(left) is None,
    )


def _load(left: str, text: str) -> Load:
    words = left.strip()
    size = re.match(r"(\d+(?:\.\d+)?\s*[KMG]i?B?)\b", words, re.IGNORECASE)
    reads = re.search(r"(\d+(?:\.\d+)?)\s*%?\s*R(?:eads?)?\b", words, re.IGNORECASE)
    random = re.search(r"(\d+(?:\.\d+)?)\s*%?\s*rand(?:om)?\b", words, re.IGNORECASE)
    depth = _DEPTH.search(words)
    for found, what in ((size, "no size of a request"), (reads, "no share of reads"), (random, "no random share")):
        if found is None:
            raise UsageError(f"`{text}`: {what}", hint=_EXAMPLE)
    assert size and reads and random
    read_share, random_share = float(reads[1]) / 100, float(random[1]) / 100
    if max(read_share, random_share) > 1:
        raise UsageError(f"`{text}`: a share above 100 %", hint=_EXAMPLE)
    outstanding = int(depth[1]) if depth else DEFAULT_OUTSTANDING
    # `8K` is 8192 bytes to everyone who speaks of request sizes.
    block_bytes = parse_size_bytes(re.sub(r"(?i)([KMG])i?B?$", r"\1iB", size[1].replace(" ", "")))
    if not block_bytes or not outstanding:
        raise UsageError(f"`{text}`: a request of nothing, or none outstanding", hint=_EXAMPLE)
    return Load(block_bytes, read_share, random_share, outstanding)


def _figure(right: str, block_bytes: int, text: str) -> float:
    found = re.match(r"\s*(\d+(?:\.\d+)?)\s*(?:(IOPS)|([KMG]i?b(?:its?)?/s))\b", right, re.IGNORECASE)
    if found is None:
        raise UsageError(f"`{text}`: what was measured is neither IOPS nor MB/s nor MiB/s", hint=_EXAMPLE)
    iops = float(found[1]) if found[2] else parse_data_rate(found[1] + found[3]) / block_bytes
    if not iops:
        raise UsageError(f"`{text}`: nothing was measured", hint="a box that does nothing has another question")
    return iops
