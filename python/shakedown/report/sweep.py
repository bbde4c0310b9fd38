"""Of a run that did the same with requests of several sizes: from which size on it is as fast as it can be."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import polars as pl

from shakedown.analysis.series import Series
from shakedown.report import words
from shakedown.result.folder import Run
from shakedown.units import format_size

NEAR: Final = 0.9
"""Of the most: what is left to gain is less than a tenth."""

_MOST_DRAM_BYTES: Final = 512 << 20
"""Of the hard drives on sale: what they hold of a pass makes it as much faster than the medium."""
_LONG_BYTES: Final = 8 * _MOST_DRAM_BYTES
_FEWEST_SIZES: Final = 4
_OWN: Final = re.compile(r"^\s*((bs|blocksize)\s*=|\[(?!global\]\s*$)).*$", re.MULTILINE)
"""The size in a job, and its name."""
_SEQUENTIAL: Final = re.compile(r"^\s*(rw|readwrite)\s*=\s*(read|write)\s*$", re.MULTILINE)
_VERBS: Final = {"read": "reading", "write": "writing", "trim": "trimming"}


class _Pass(NamedTuple):
    """One step: the size of its requests and how fast they went."""

    request_bytes: int
    mib_per_s: float


def answers(run: Run) -> Iterator[str]:
    """A sentence for each job that came in several sizes and differed in nothing else, and the figures behind it.

    Then a caution, where a drive's DRAM may have a part in those.
    """
    longest_bytes = 0
    spans_bytes: defaultdict[str, list[int]] = defaultdict(list)
    kinds: defaultdict[tuple[str, str], list[_Pass]] = defaultdict(list)
    for step in run.record.steps:
        series = Series.of(run.loads, step.name).loaded
        seconds = float(series.duration_s.sum())
        if step.job is None or not seconds or not series.requests.sum():
            continue
        done = run.samples.filter((pl.col("step") == step.name) & (pl.col("count") > 0))
        verbs = " and ".join(_VERBS[each] for each in sorted(done["direction"].unique()))
        made = _Pass(round(series.request_bytes), float(series.bytes.sum()) / 2**20 / seconds)
        kinds[verbs, _OWN.sub("", step.job)].append(made)
        if _SEQUENTIAL.search(step.job):
            spans_bytes[verbs].append(int(series.bytes.sum()))
    for (verbs, _), found in kinds.items():
        if len({each.request_bytes for each in found}) == len(found) >= _FEWEST_SIZES:
            yield _answer(verbs.capitalize(), sorted(found))
            longest_bytes = max(longest_bytes, *spans_bytes[verbs], 0)
    if 0 < longest_bytes < _LONG_BYTES:
        yield _caution(longest_bytes, run.record.parameters)


def _caution(span_bytes: int, parameters: Mapping[str, str]) -> str:
    longer = " (`--set length=4g --set longest=2min`)" if "length" in parameters else ""
    return (
        f"CAUTION: a pass goes over {format_size(span_bytes)} at most, and hard drives have up to "
        f"{format_size(_MOST_DRAM_BYTES)} of DRAM, which may hold much of that: rates, the largest sizes' too, may be "
        f"above what the medium sustains. Longer passes tell{longer}."
    )


def _answer(what: str, by_size: Sequence[_Pass]) -> str:
    rates = [each.mib_per_s for each in by_size]
    sizes = [format_size(each.request_bytes).replace(".0 ", " ") for each in by_size]
    most = max(rates)
    is_fast = [rate >= NEAR * most for rate in rates]
    first = is_fast.index(True)
    dips = [size for size, fast in zip(sizes[first:], is_fast[first:], strict=True) if not fast]
    figures = ", ".join(f"{words.number(rate)} at {size}" for rate, size in zip(rates, sizes, strict=True))
    if not is_fast[-1]:
        told = f"it is fastest at {sizes[rates.index(most)]}, and larger requests are slower again"
    elif first == len(rates) - 1:
        told = f"it still gains with the size of requests at {sizes[-1]}, the largest"
    else:
        but_for = f", but for {' and '.join(dips)}" if dips else ""
        told = f"from {sizes[first]} on it is as fast as it can be, to a tenth{but_for}"
    return f"{what}: {told}. In MiB/s: {figures}."
