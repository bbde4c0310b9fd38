"""``--set NAME=VALUE`` of arrays and pools, as people write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, get_args

from shakedown.array.zfs import HealingOrder, Release, ZfsOptions
from shakedown.errors import UsageError
from shakedown.layouts import DRAID, ZFS_LAYOUTS
from shakedown.target.md_options import MD_SETTINGS, MdOptions, parse_command_timeout_ns
from shakedown.target.settings import between, read_settings, refuse_of_other_layouts
from shakedown.units import (
    NS_PER_S,
    format_size,
    parse_bytes_of_a_second,
    parse_duration_ns,
    parse_memory_bytes,
    parse_request_bytes,
)

_MD_EXAMPLES: Final = (
    "like chunk=512KiB, rotation=left-symmetric, copies=n2, stripe-cache=8192, speed-max=500MiB, bitmap=yes"
)
_ZFS_EXAMPLES: Final = (
    "like recordsize=1MiB, ashift=9, run=16, order=sequential, release=0.6, draid=8d:1s, memory=8GiB, "
    "second-failure=3@2h"
)


def parse_options(layout: str, settings: Sequence[str]) -> MdOptions | ZfsOptions:
    """What may be set of a layout. Raises UsageError."""
    return (parse_zfs_options if layout in ZFS_LAYOUTS else parse_md_options)(settings)


def parse_md_options(settings: Sequence[str]) -> MdOptions:
    """``chunk=64KiB``, ``stripe-cache=8192``, ... Raises UsageError."""
    _refuse_others(settings, _ZFS_SETTINGS, MD_SETTINGS, "pools of ZFS, and this is an array of md")
    options = MdOptions(**read_settings(settings, MD_SETTINGS, "an array", _MD_EXAMPLES))
    options.check_speeds()
    return options


def parse_zfs_options(settings: Sequence[str]) -> ZfsOptions:
    """``recordsize=1MiB``, ``order=sequential``, ... Raises UsageError."""
    _refuse_others(settings, MD_SETTINGS, _ZFS_SETTINGS, "arrays of md, and this is a pool of ZFS")
    return ZfsOptions(**read_settings(settings, _ZFS_SETTINGS, "a pool", _ZFS_EXAMPLES))


def check_layout_of(options: MdOptions | ZfsOptions, layout: str) -> None:
    """Raise UsageError for an option that the layout does not have."""
    if isinstance(options, MdOptions):
        options.check_layout(layout)
    else:
        refuse_of_other_layouts(options, layout, _ZFS_SETTINGS, {"draid": tuple(DRAID), "spare": tuple(DRAID)})
        _refuse_contradictions(options, layout)


def _refuse_contradictions(options: ZfsOptions, layout: str) -> None:
    """Raise UsageError for what a release does not have, and for a pool that would be fresh and aged."""
    if options.release == "0.6":
        if layout in DRAID:
            raise UsageError(f"{layout} is of OpenZFS 2.1 and later, not of 0.6", hint="another layout or release")
        if options.order not in (None, "blocks"):
            since = {"sorted": "0.8", "sequential": "2.0"}[options.order]
            raise UsageError(
                f"a resilver in the order `{options.order}` is of OpenZFS {since} and later, not of 0.6",
                hint="another order or release",
            )
    if options.file_bytes is not None and options.run_records is not None:
        raise UsageError(
            "a pool of files written one after the other (`file`) is fresh, and one in runs (`run`) is aged",
            hint="leave one of them out",
        )


def told_options(options: MdOptions | ZfsOptions) -> tuple[str, ...]:
    """What is not as usual, as ``--set`` takes it."""
    known: dict[str, tuple[str, Any]] = _ZFS_SETTINGS if isinstance(options, ZfsOptions) else MD_SETTINGS
    usual = type(options)()
    return tuple(
        f"{setting}={_typed(name, getattr(options, name))}"
        for setting, (name, _) in known.items()
        if getattr(options, name) != getattr(usual, name)
    )


def _typed(name: str, value: Any) -> str:
    match name, value:
        case "jiffy_ns", _:
            return str(NS_PER_S // value)
        case "copies", (near, far, offset):
            return f"n{near}" if near > 1 else f"{'o' if offset else 'f'}{far}"
        case "draid", (data, spares):
            return f"{data}d:{spares}s"
        case "second_failure", (place, at_ns):
            return f"{place}@{_typed_duration(at_ns)}"
        case _, bool():
            return "yes" if value else "no"
    return _typed_quantity(name, value)


def _typed_quantity(name: str, value: Any) -> str:
    if name.endswith("_ns"):
        return f"{value / NS_PER_S:g}s"
    if name == "file_bytes" and not value:
        return _AUTO
    return _typed_size(int(value)) if "bytes" in name else str(value)


def _typed_duration(duration_ns: int) -> str:
    """In the largest unit of which it is a whole number."""
    for unit_ns, unit in ((3600 * NS_PER_S, "h"), (60 * NS_PER_S, "min")):
        if duration_ns and duration_ns % unit_ns == 0:
            return f"{duration_ns // unit_ns}{unit}"
    return f"{duration_ns / NS_PER_S:g}s"


def _typed_size(size_bytes: int) -> str:
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size_bytes and size_bytes % 2**power == 0:
            return f"{size_bytes >> power}{unit}"
    return str(size_bytes)


def refuse_of_models(options: MdOptions | ZfsOptions, *, is_lab: bool) -> None:
    """Raise UsageError for what is set of a modelled array and a real one, in the lab or not, would not heed."""
    known, of_models = (
        (_ZFS_SETTINGS, _ZFS_OF_MODELS) if isinstance(options, ZfsOptions) else (MD_SETTINGS, _MD_OF_MODELS)
    )
    usual = type(options)()
    for setting in of_models:
        name = known[setting][0]
        if getattr(options, name) != getattr(usual, name) and not (is_lab and setting == _MEMORY):
            raise UsageError(
                f"`--set {setting}=` is of modelled arrays: a real one has the kernel and the host that it has",
                hint="leave it out; `model:NAME` in place of a drive has it heeded",
            )
    if isinstance(options, ZfsOptions) and options.order not in (None, "sequential"):
        raise UsageError(
            f"`--set order={options.order}` is of modelled arrays: a real ZFS has the order of its release",
            hint="leave it out; order=sequential is `zpool replace -s`",
        )


def _refuse_others(settings: Sequence[str], others: Collection[str], own: Collection[str], of: str) -> None:
    """Say whose a setting is that is known, but not here; and that nobody chooses which drive fails."""
    for text in settings:
        if text.partition("=")[0] in WHICH_FAILS:
            raise UsageError(
                f"`--set {text}`: the drive that fails is the last of those that are given",
                hint="`rebuild --replace PLACE` chooses another of modelled drives, counted from 0; `--faults "
                "PLACE=FILE` has another one fail, too: docs/faults.md",
            )
        if (name := text.partition("=")[0]) in others and name not in own:
            hint = _INSTEAD.get(name, f"NAME=VALUE with {', '.join(own)}")
            raise UsageError(f"`--set {text}` is of {of}", hint=hint)


WHICH_FAILS: Final = ("lost", "failed", "fail", "replaced", "place")
_INSTEAD: Final = {"second-failure": "`--faults PLACE=FILE` has any drive vanish, too: docs/faults.md"}


def _one_of(literal: Any) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in get_args(literal):
            raise UsageError(f"`{text}` is not one of {', '.join(get_args(literal))}", hint=_ZFS_EXAMPLES)
        return text

    return parse


def _draid(text: str) -> tuple[int, int]:
    """``8d:1s``, as zpool writes it."""
    match = re.fullmatch(r"(\d{1,4})d:(\d{1,4})s", text)
    if match is None:
        raise ValueError(text)
    return int(match[1]), int(match[2])


def _failure(text: str) -> tuple[int, int]:
    """``3@2h``: drive 3 after two hours."""
    place, at, when = text.partition("@")
    if not at:
        raise ValueError(text)
    return _parse_place(place), parse_duration_ns(when)


# A vdev has 255 drives at the most (`VDEV_DRAID_MAX_CHILDREN`).
_parse_place: Final = between(0, 254)
# The largest NR_CPUS of Linux.
_MOST_CORES: Final = 8192
# A kernel with ZFS needs as much to run at all.
_LEAST_MEMORY_BYTES: Final = 128 << 20
# What `zfs_arc_max` may at least be.
_LEAST_CACHE_BYTES: Final = 64 << 20
# How long the files of a pool are, where nobody says it: as `rebuild` fills real ones.
_AUTO: Final = "auto"
_parse_file_bytes: Final = between(1, None, parse_request_bytes, format_size)
_parse_core_rate: Final = between(1 << 20, None, parse_bytes_of_a_second, format_size)

# What the kernel, the host and its adapter decide, or nobody can order of a real array.
_TIMEOUT: Final = "command-timeout"
_MD_OF_MODELS: Final = (
    "stripe-cache-most",
    "max-request",
    "segments",
    "hz",
    "processors",
    _TIMEOUT,
    "ext4-journal",
    "ext4-mounted",
)
# A guest of the lab is given its memory.
_MEMORY: Final = "memory"
_ZFS_OF_MODELS: Final = ("cache", "cores", "core-rate", _TIMEOUT, "second-failure", _MEMORY)

_ZFS_SETTINGS: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "recordsize": ("record_bytes", parse_request_bytes),
    "ashift": ("ashift", between(9, 16)),
    "run": ("run_records", between(1, 2**63 - 1)),
    "file": ("file_bytes", lambda text: 0 if text == _AUTO else _parse_file_bytes(text)),
    "draid": ("draid", _draid),
    "spare": ("spare", between(0, 99)),
    "order": ("order", _one_of(HealingOrder)),
    "release": ("release", _one_of(Release)),
    "memory": ("memory_bytes", between(_LEAST_MEMORY_BYTES, None, parse_memory_bytes, format_size)),
    "cache": ("cache_bytes", between(_LEAST_CACHE_BYTES, None, parse_memory_bytes, format_size)),
    "cores": ("cores", between(1, _MOST_CORES)),
    "core-rate": ("core_bytes_per_s", lambda text: float(_parse_core_rate(text))),
    _TIMEOUT: ("command_timeout_ns", parse_command_timeout_ns),
    "second-failure": ("second_failure", _failure),
}

SETTINGS: Final = frozenset({*MD_SETTINGS, *_ZFS_SETTINGS})
"""The names that `--set` takes, of md or of ZFS."""
