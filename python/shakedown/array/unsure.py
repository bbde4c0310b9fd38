"""Where a modelled rebuild is known to be less certain than its interval says: of shingled drives, and sampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from shakedown.array.order import RebuildOrder, model_path
from shakedown.target.md_options import LINUX_HOST, MdOptions
from shakedown.target.modelled import is_shingled, profile_part
from shakedown.target.overview import shingles_like
from shakedown.units import NS_PER_S

OFF_BY: Final[dict[tuple[str, ...], float]] = {("raid1", "raid10"): 0.05, ("raid5", "raid6"): 0.07}
OFF_BY_OF_ZFS: Final = 0.09
"""How far the time was off at the most beside the real md or OpenZFS, onto a shingled drive: conformance-arrays.csv."""

BORROWED_OFF_BY: Final = {"md": "19% longer", "OpenZFS": "17 times as long"}
"""What the translation layer of another drive made of the time at the most: the table of docs/profiles.md."""

SAMPLED_OFF_BY: Final = {"md": "2.7%", "OpenZFS": "11%"}
"""How far a sample was off the whole at the most, of md in docs/rebuild.md (a raid5 of four).

Of ZFS that is the aged pool of R014 in docs/zfs.md, one percent rounded up; all others there are 5 % apart or less.
"""


def unsure(order: RebuildOrder, *, is_whole: bool) -> tuple[str, ...]:
    """Cautions, if a shingled drive is put in, and where not every request was gone through."""
    return unsure_of_all([order], [] if is_whole else [order], beside="the interval")


def unsure_of_all(orders: Sequence[RebuildOrder], sampled: Sequence[RebuildOrder], *, beside: str) -> tuple[str, ...]:
    """The same of several at once, of which some were ``sampled``, each caution once: whose it is says the layout.

    ``beside`` is what stands beside a time for how far it may be off, and does not cover this.
    """
    return (*_of_shingled(orders, beside), *_of_samples(sampled, _layouts(orders), beside))


def unsure_failure(*orders: RebuildOrder) -> tuple[str, ...]:
    """Of a failure, what ``unsure`` is of a time: onto a shingled drive the real one may come soon, late or never."""
    onto = [order for order in orders if is_onto_shingled(order)]
    if not onto:
        return ()
    real = " and ".join(f"{each}'s" for each in dict.fromkeys(map(_real, onto)))
    return (
        f"CAUTION: onto a shingled drive the model's times differ from the real {real}, so whether and when "
        "a rebuild fails may differ, too: docs/conformance-arrays.md.",
    )


def assumed(*orders: RebuildOrder, baseline: RebuildOrder | None = None) -> tuple[str, ...]:
    """Of whose drives, the arrays', those put in and the baseline's, nobody has published how they shingle.

    However it ended: a failure hangs on that, too, and so does what the baseline is.
    """
    drives = {} if baseline is None else {baseline.replacement: baseline.profiles[baseline.replacement]}
    profiles = {target: text for order in orders for target, text in order.profiles.items()} | drives
    likes = {target: shingles_like(text) for target, text in profiles.items()}
    names = {model_path(target).stem: like for target, like in likes.items() if like is not None}
    its = None if baseline is None or not is_onto_shingled(baseline) else model_path(baseline.replacement).stem
    kinds = tuple(dict.fromkeys(map(_real, orders)))
    most = " and ".join(f"{BORROWED_OFF_BY[kind]}{f' ({kind})' if len(kinds) > 1 else ''}" for kind in kinds)
    return tuple(
        f"CAUTION: how {name} shingles{', onto which the baseline rebuilds,' if name == its else ''} has not been "
        f"published; it is assumed to work like {like}. Rebuilds onto drives whose shingles are known took up to "
        f"{most} with those of another, which also decided whether one failed: docs/profiles.md."
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


def _of_samples(sampled: Sequence[RebuildOrder], layouts: Sequence[str], beside: str) -> tuple[str, ...]:
    if not sampled:
        return ()
    off = _up_to({order.layout: SAMPLED_OFF_BY[_real(order)] for order in sampled}, layouts)
    longest = " The longest command is that of the sample; in the whole one was up to 1.8 times as long."
    return (
        f"CAUTION: the time of a sample was {off} off that of the whole, which {beside} does not cover; "
        f"--whole goes through every request.{longest if any(map(is_onto_shingled, sampled)) else ''}",
    )


def _of_shingled(orders: Sequence[RebuildOrder], beside: str) -> tuple[str, ...]:
    onto = [order for order in orders if is_onto_shingled(order)]
    if not onto:
        return ()
    kinds = {kind: [order for order in onto if _real(order) == kind] for kind in dict.fromkeys(map(_real, onto))}
    off = [
        f"{_up_to({order.layout: _off_by(order) for order in some}, _layouts(some))} off the real {kind}'s"
        for kind, some in kinds.items()
    ]
    host = next((order.options for order in onto if isinstance(order.options, MdOptions)), None)
    return (
        f"CAUTION: onto a shingled drive the model's time was {' and '.join(off)}, which {beside} does not cover: "
        f"docs/conformance-arrays.md.{'' if host is None else _host(host, of_all=len(kinds) == 1)}",
    )


def _off_by(order: RebuildOrder) -> str:
    return f"{next((share for layouts, share in OFF_BY.items() if order.layout in layouts), OFF_BY_OF_ZFS):.0%}"


def _up_to(shares: Mapping[str, str], layouts: Sequence[str]) -> str:
    """``up to 9%``; where that differs, or is not of all of the layouts, ``up to 11% (raid1, raid10), 9% (raid5)``."""
    by_share: dict[str, list[str]] = {}
    for layout, share in shares.items():
        by_share.setdefault(share, []).append(layout)
    if len(by_share) == 1 and len(shares) == len(layouts):
        return f"up to {next(iter(by_share))}"
    return "up to " + ", ".join(f"{share} ({', '.join(of)})" for share, of in by_share.items())


def _layouts(orders: Sequence[RebuildOrder]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(order.layout for order in orders))


def _host(options: MdOptions, *, of_all: bool) -> str:
    """What md's requests to a shingled drive hang on, and is nobody's choice but the box's."""
    segments, processors = options.max_segments or LINUX_HOST.max_segments, options.processors or LINUX_HOST.processors
    ticks = NS_PER_S // (options.jiffy_ns or LINUX_HOST.jiffy_ns)
    list_of = f"{segments} {'segment' if segments == 1 else 'segments'}"
    cores = f"{processors} {'processor' if processors == 1 else 'processors'}"
    return (
        f" The time{'' if of_all else ' of md'} also depends on the host. Assumed: requests of up to {list_of}, "
        f"{ticks} kernel ticks a second, {cores}. Another box (`--set segments=`, `hz=`, `processors=`) may take a "
        "multiple of that time, or a fraction."
    )


def is_onto_shingled(order: RebuildOrder) -> bool:
    """Whether a drive is put in whose profile is of a shingled one."""
    return not order.on_spare and bool(is_shingled(order.profiles[order.replacement]))


def _real(order: RebuildOrder) -> str:
    return "OpenZFS" if order.is_zfs else "md"
