"""Where a modelled rebuild is known to be less certain than its interval says: of shingled drives, and sampled."""

from __future__ import annotations

from typing import Final

from shakedown.array.order import RebuildOrder, model_path
from shakedown.array.zfs import ZfsOptions
from shakedown.target.md_options import LINUX_HOST, MdOptions
from shakedown.target.modelled import is_shingled, profile_part
from shakedown.target.overview import shingles_like
from shakedown.units import NS_PER_S

OFF_BY: Final[dict[tuple[str, ...], float]] = {("raid1", "raid10"): 0.06, ("raid5", "raid6"): 0.12}
OFF_BY_OF_ZFS: Final = 0.09
"""How far the time was off at the most beside the real md or OpenZFS, onto a shingled drive: conformance-arrays.csv."""

BORROWED_OFF_BY: Final = {"md": "18% longer", "OpenZFS": "17 times as long"}
"""What the translation layer of another drive made of the time at the most: the table of docs/profiles.md."""

SAMPLED_OFF_BY: Final = {"md": "2.7%", "OpenZFS": "11%"}
"""How far a sample was off the whole at the most, of md in docs/rebuild.md (a raid5 of four).

Of ZFS that is the aged pool of R014 in docs/zfs.md, one percent rounded up; all others there are 5 % apart or less.
"""


def unsure(order: RebuildOrder, *, is_whole: bool) -> tuple[str, ...]:
    """Cautions, if a shingled drive is put in, and where not every request was gone through."""
    return (*_of_shingled(order), *(() if is_whole else _of_samples(order)))


def unsure_failure(order: RebuildOrder) -> tuple[str, ...]:
    """Of a failure, what ``unsure`` is of a time: onto a shingled drive the real one may come soon, late or never."""
    if not is_onto_shingled(order):
        return ()
    return (
        f"CAUTION: onto a shingled drive the model's times differ from the real {_real(order)}'s, so whether and when "
        "a rebuild fails may differ, too: docs/conformance-arrays.md.",
    )


def assumed(order: RebuildOrder, baseline: RebuildOrder | None = None) -> tuple[str, ...]:
    """Of whose drives, the array's, the one put in and the baseline's, nobody has published how they shingle.

    However it ended: a failure hangs on that, too, and so does what the baseline is.
    """
    drives = {} if baseline is None else {baseline.replacement: baseline.profiles[baseline.replacement]}
    likes = {target: shingles_like(text) for target, text in (order.profiles | drives).items()}
    names = {model_path(target).stem: like for target, like in likes.items() if like is not None}
    its = None if baseline is None or not is_onto_shingled(baseline) else model_path(baseline.replacement).stem
    return tuple(
        f"CAUTION: how {name} shingles{', onto which the baseline rebuilds,' if name == its else ''} has not been "
        f"published; it is assumed to work like {like}. Rebuilds onto drives whose shingles are known took up to "
        f"{BORROWED_OFF_BY[_real(order)]} with those of another, which also decided whether one failed: "
        "docs/profiles.md."
        for name, like in names.items()
    )


def of_parts(order: RebuildOrder) -> tuple[str, ...]:
    """Of which drives the profile is the twin of a part."""
    parts = {model_path(target).stem: profile_part(text) for target, text in order.profiles.items()}
    return tuple(
        f"CAUTION: {name} is the twin of 1/{divisor} of a drive: how long a rebuild takes, and who would be kicked "
        "out, is a question of whole ones."
        for name, divisor in parts.items()
        if divisor > 1
    )


def _of_samples(order: RebuildOrder) -> tuple[str, ...]:
    off_by = SAMPLED_OFF_BY[_real(order)]
    longest = " The longest command is that of the sample; in the whole one was up to 1.8 times as long."
    return (
        f"CAUTION: the time of a sample was up to {off_by} off that of the whole, which the interval does not cover; "
        f"--whole goes through every request.{longest if is_onto_shingled(order) else ''}",
    )


def _of_shingled(order: RebuildOrder) -> tuple[str, ...]:
    if not is_onto_shingled(order):
        return ()
    off_by = next((share for layouts, share in OFF_BY.items() if order.layout in layouts), OFF_BY_OF_ZFS)
    return (
        f"CAUTION: onto a shingled drive the model's time was up to {off_by:.0%} off the real {_real(order)}'s, which "
        f"the interval does not cover: docs/conformance-arrays.md.{_host(order.options)}",
    )


def _host(options: MdOptions | ZfsOptions) -> str:
    """What md's requests to a shingled drive hang on, and is nobody's choice but the box's."""
    if not isinstance(options, MdOptions):
        return ""
    segments, processors = options.max_segments or LINUX_HOST.max_segments, options.processors or LINUX_HOST.processors
    ticks = NS_PER_S // (options.jiffy_ns or LINUX_HOST.jiffy_ns)
    return (
        f" The time also depends on the host. Assumed: requests of up to {segments} segments, {ticks} kernel ticks a"
        f" second, {processors} processors. Another box (`--set segments=`, `hz=`, `processors=`) may take a multiple"
        " of that time, or a fraction."
    )


def is_onto_shingled(order: RebuildOrder) -> bool:
    """Whether a drive is put in whose profile is of a shingled one."""
    return not order.on_spare and bool(is_shingled(order.profiles[order.replacement]))


def _real(order: RebuildOrder) -> str:
    return "OpenZFS" if order.is_zfs else "md"
