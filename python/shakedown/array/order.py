"""What is to be rebuilt, in words that people use, and as the core takes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, Self

from shakedown.analysis.explain.layout import MOST_MEMBERS
from shakedown.analysis.rules import LINUX_COMMAND_TIMEOUT_MS
from shakedown.array.settings import check_layout_of
from shakedown.array.zfs import ZfsOptions, partition_bytes
from shakedown.data import profile_name, profile_path
from shakedown.errors import UsageError
from shakedown.layouts import LAYOUTS, ZFS_LAYOUTS
from shakedown.protocol.complain import did_you_mean
from shakedown.target.md_options import SPEED_MAX_BYTES_PER_S, MdOptions
from shakedown.target.modelled import modelled_capacity_bytes
from shakedown.target.profile import read_profile
from shakedown.target.storage_box import refuse_lab_box, refuse_storage_box
from shakedown.tools.fio.job import refuse_swapped_sizes
from shakedown.units import floor_size, format_two_sizes

State = Literal["new", "used"]
Arena = Literal["model", "lab", "device"]
_ARENAS: Final[dict[str, Arena]] = {"model": "model", "lab": "lab"}
LEAST_WIDTHS: Final = {layout: kind.least_width for layout, kind in LAYOUTS.items()}
REBUILT: Final = tuple(layout for layout in LEAST_WIDTHS if layout != "raid0")


@dataclass(frozen=True)
class RebuildOrder:
    """An array of ``members`` (targets like ``model:st12000vn0007``), one of which has failed: the ``failed``, from 0.

    None is the last; another one is for modelled drives only.
    ``replacement`` takes its place, in a ``state``: ``used`` is after random writes until its cache was full.
    ``member_bytes`` is what the array uses of each drive (None: all of the smallest), ``fill`` the share of the array
    that holds data, ``load`` the text of a fio job that goes on meanwhile. ``faults`` are lists of faults by place.
    """

    layout: str
    members: tuple[str, ...]
    replacement: str
    member_bytes: int | None = None
    fill: float = 1.0
    state: State = "new"
    load: str | None = None
    seed: int = 1
    scale_divisor: int = 1
    whole: bool = False
    faults: dict[int, str] = field(default_factory=dict)
    failed: int | None = None
    options: MdOptions | ZfsOptions = field(default_factory=MdOptions)

    @property
    def is_zfs(self) -> bool:
        """A resilver of ZFS, and no rebuild of md."""
        return self.layout in ZFS_LAYOUTS

    @property
    def on_spare(self) -> bool:
        """A distributed spare of dRAID takes the failed drive's place: no new drive is put in."""
        return isinstance(self.options, ZfsOptions) and self.options.spare is not None

    @property
    def fill_matters(self) -> bool:
        """Modelled md rebuilds all of every drive, whatever is on it; only a job looks for where data is."""
        return self.is_zfs or self.load is not None

    @property
    def has_nothing_to_do(self) -> bool:
        """An empty pool: nothing is allocated, and so nothing is resilvered."""
        return self.is_zfs and self.fill == 0

    def used_bytes(self, capacity_bytes: int) -> int:
        """What the array has of each drive, of which the smallest has ``capacity_bytes``."""
        most = self.room_bytes(capacity_bytes)
        return most if self.member_bytes is None else min(self.member_bytes, most)

    def room_bytes(self, capacity_bytes: int) -> int:
        """Of a whole drive ZFS uses a partition, which it makes."""
        return partition_bytes(capacity_bytes) if self.is_zfs else capacity_bytes

    @property
    def command_timeout_ms(self) -> float:
        """How long the host waits for a drive's answer."""
        given_ns = self.options.command_timeout_ns
        return LINUX_COMMAND_TIMEOUT_MS if given_ns is None else given_ns / 1e6

    @property
    def limit_bytes_per_s(self) -> int | None:
        """What md holds itself to; None of ZFS, and of a machine whose own limit nobody has asked for."""
        if not isinstance(self.options, MdOptions):
            return None
        return self.options.speed_max_bytes_per_s or (SPEED_MAX_BYTES_PER_S if self.arena == "model" else None)

    @property
    def part_of_one(self) -> float:
        """Which part of all that is allocated in its pool, parity and padding with it, one drive holds."""
        return 1.0 if self.layout == "mirror" else 1 / len(self.members)

    @property
    def place(self) -> int:
        """The place of the member that failed."""
        return len(self.members) - 1 if self.failed is None else self.failed

    @property
    def drives(self) -> tuple[str, ...]:
        """In their places, with the replacement in that of the one that failed."""
        return (*self.members[: self.place], self.replacement, *self.members[self.place + 1 :])

    @property
    def arena(self) -> Arena:
        """Whose drives they are. Raises UsageError if they are of several arenas."""
        return arena_of((*self.members, self.replacement))

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Self:
        """What ``asdict`` and JSON have made of an order. Raises KeyError, TypeError, ValueError."""
        options = told["options"]
        kind = ZfsOptions if "ashift" in options else MdOptions
        lists = {name: tuple(value) for name, value in options.items() if isinstance(value, list)}
        faults = {int(place): text for place, text in told["faults"].items()}
        changed = {"members": tuple(told["members"]), "faults": faults, "options": kind(**{**options, **lists})}
        return cls(**{**told, **changed})

    def as_modelled(self) -> Self:
        """The same of modelled drives, which those of the lab are, too."""
        members = tuple("model:" + target.partition(":")[2] for target in self.members)
        return replace(self, members=members, replacement="model:" + self.replacement.partition(":")[2])

    def to_core(self) -> dict[str, Any]:
        """The order of the core's ``rebuild``, or for ZFS ``resilver``. Raises UsageError for what cannot be."""
        check_order(self)
        if not self.is_zfs and len(self.members) > _MOST_MODELLED:
            raise UsageError(
                f"{self.layout} of {len(self.members)} drives: at most {_MOST_MODELLED} are modelled of md",
                hint="a smaller width; ZFS layouts may be wider",
            )
        drives = self.drives
        texts, sizes = self.profiles, self.modelled_capacities
        options = self.options.to_core()
        return {
            **(options if self.is_zfs else {"options": options}),
            "layout": self.layout,
            "profiles": [texts[target] for target in drives],
            "scale_divisor": self.scale_divisor,
            "faults": [self.faults.get(place) for place in range(len(drives))],
            "member_bytes": _member_bytes(self, sizes),
            "fill": self.fill,
            "replacement": self.place,
            "used": self.state == "used",
            "load": self.load,
            "seed": self.seed,
            "whole": self.whole,
        }

    def fitting_member(self, divisor: int) -> str:
        """A member size is of the drives as they are scaled: the same at another scale, or all that they have there."""
        smallest = min(replace(self, scale_divisor=divisor).modelled_capacities.values())
        return floor_size(min((self.member_bytes or smallest) * self.scale_divisor // divisor, smallest))

    @cached_property
    def modelled_capacities(self) -> dict[str, int]:
        """Bytes of each drive by its target, the replacement last. Raises UsageError."""
        texts = self.profiles
        return {target: modelled_capacity_bytes(target, text, self.scale_divisor) for target, text in texts.items()}

    @cached_property
    def profiles(self) -> dict[str, str]:
        """The text of each drive's by its target, the replacement last. Raises UsageError.

        Read once: what was checked is what is rebuilt.
        """
        return {target: read_profile(model_path(target)) for target in dict.fromkeys((*self.members, self.replacement))}


def arena_of(targets: Sequence[str]) -> Arena:
    """Whose drives the targets are. Raises UsageError if they are of several arenas."""
    for text in dict.fromkeys(targets):
        if profile_name(text) and not Path(text).exists():
            raise UsageError(f"there is no file `{text}`", hint=f"did you mean the modelled drive, `model:{text}`?")
    found: set[Arena] = {_ARENAS.get(text.partition(":")[0], "device") for text in targets}
    if len(found) > 1:
        raise UsageError(
            "the drives of one array are modelled, of the lab, or real: all alike", hint="the new drive, too"
        )
    return found.pop()


def drive_name(target: str) -> str:
    """What to call a drive in few letters: ``wd40efax`` of ``lab:WD40EFAX-68JH4N0``, ``sdb`` of ``/dev/sdb``."""
    if not target.startswith(("model:", "lab:")):
        return Path(target).name
    last = target.partition(":")[2]
    return profile_name(last) or Path(last).name.removesuffix(".toml")


def members_of(targets: Sequence[str], width: int | None) -> tuple[str, ...]:
    """One target ``width`` times, or the targets as they are given. Raises UsageError."""
    if not targets:
        raise UsageError("an array needs drives", hint="one like model:st12000vn0007 and a width, or all of them")
    if width is not None and width < 1:
        raise UsageError(f"an array of {width} drives is none", hint="the width says how many")
    if width is None:
        return tuple(targets)
    if len(targets) == 1:
        return tuple(targets) * width
    if len(targets) != width:
        raise UsageError(
            f"{len(targets)} drives are given, and a width of {width}", hint="give one drive and a width, or all drives"
        )
    return tuple(targets)


def failed_of(members: Sequence[str], place: int | None) -> str:
    """The member in a place, None: the last. Raises UsageError."""
    if place is not None and not 0 <= place < len(members):
        raise _no_drive(place, members, "which drive is replaced: docs/rebuild.md")
    return members[-1 if place is None else place]


def model_path(target: str) -> Path:
    """The profile's file of ``model:...``. Raises UsageError for any other target."""
    if not target.startswith("model:"):
        raise UsageError(
            f"`{target}` is no modelled drive, and this rebuilds arrays of those",
            hint="model:NAME or model:./file.toml",
        )
    return profile_path(target.removeprefix("model:"))


_MOST_MODELLED: Final = 128  # MOST_MEMBERS of crates/array


def check_layout(layout: str) -> None:
    """Raise UsageError for one that nobody knows, or nothing rebuilds."""
    if layout == "raid0":
        raise UsageError(
            "raid0 has no redundancy: what was on a lost drive is lost, and nothing rebuilds it",
            hint="raid1, raid10, raid5 and raid6 survive a loss",
        )
    if layout not in REBUILT:
        # ZFS takes `raidz` for raidz1, and `draid` for draid1; the nearest word is another.
        meant = f"did you mean `{layout}1`?" if layout in ("raidz", "draid") else _as_set(layout)
        meant = meant or did_you_mean(layout, REBUILT) or f"one of {', '.join(REBUILT)}"
        raise UsageError(f"`{layout}` is no layout that can be rebuilt", hint=meant)


def _as_set(layout: str) -> str | None:
    """A dRAID as zpool writes it, with its groups and spares: here these are options, and the drives are counted."""
    match = re.fullmatch(r"draid([123]?):((?:\d+[dcs]:?)+)", layout)
    if match is None:
        return None
    told = {part[-1]: part for part in match[2].split(":") if part}
    width = f" --width {told['c'][:-1]}" if "c" in told else ""
    # What zpool makes of either where it is left out.
    return f"`draid{match[1] or 1}{width} --set draid={told.get('d', '8d')}:{told.get('s', '0s')}`"


def check_order(order: RebuildOrder) -> None:
    """Raise UsageError for what no array can be, whatever it is made of."""
    for target in (*order.members, order.replacement):
        refuse_storage_box(target, "rebuild")
        refuse_lab_box(target)
    check_layout(order.layout)
    if order.is_zfs != isinstance(order.options, ZfsOptions):
        raise UsageError(f"{order.layout} takes other options", hint="docs/zfs.md and docs/rebuild.md name them")
    check_layout_of(order.options, order.layout)
    if isinstance(order.options, MdOptions):
        order.options.check_speeds(None if order.arena == "device" else SPEED_MAX_BYTES_PER_S)
    if len(order.members) < LEAST_WIDTHS[order.layout]:
        drives = "one drive" if len(order.members) == 1 else f"{len(order.members)} drives"
        raise UsageError(
            f"{order.layout} of {drives} cannot be: it takes {LEAST_WIDTHS[order.layout]} or more",
            hint=f"a width of {LEAST_WIDTHS[order.layout]} or more, or so many drives by name",
        )
    if len(order.members) > MOST_MEMBERS:
        raise UsageError(
            f"{order.layout} of {len(order.members)} drives cannot be: md's superblock has room for {MOST_MEMBERS}",
            hint="the width says how many",
        )
    failed_of(order.members, order.failed)
    if order.on_spare and (order.replacement != order.members[order.place] or order.state != "new"):
        raise UsageError(
            f"a distributed spare takes the failed drive's place: `{order.replacement}`, {order.state}, is not put in",
            hint="leave the new drive, its state and a baseline out, or the spare",
        )
    if order.on_spare and isinstance(order.options, ZfsOptions) and not (order.options.draid or (0, 0))[1]:
        raise UsageError(
            f"`spare={order.options.spare}`: this dRAID has no distributed spare",
            hint="`--set draid=8d:1s` makes one, in groups of 8 data drives",
        )
    refuse_fill(order.fill)
    if order.load is not None and order.fill == 0:
        raise UsageError("a job needs data to work on, and the array is empty", hint="fill some of it")
    if order.load is not None:
        refuse_swapped_sizes(order.load)
    if wrong := [place for place in order.faults if not 0 <= place < len(order.members)]:
        raise _no_drive(wrong[0], order.members, "which drive has which faults: docs/faults.md")


def refuse_fill(share: float) -> None:
    """Raises UsageError for what is no share of a whole."""
    if not 0 <= share <= 1:
        raise UsageError(f"an array cannot be {share:.0%} full", hint="from nothing, 0%, to all, 100%")


def _no_drive(place: int, members: Sequence[str], hint: str) -> UsageError:
    return UsageError(f"there is no drive {place}: they are counted from 0 to {len(members) - 1}", hint=hint)


def _member_bytes(order: RebuildOrder, sizes: dict[str, int]) -> int:
    target = min(order.members, key=lambda each: sizes[each])
    smallest = sizes[target]
    if (wanted := order.member_bytes or 0) > smallest:
        has, uses = format_two_sizes(smallest, wanted)
        raise UsageError(
            f"`{drive_name(target)}` has {has}, and the array was to use {uses} of each drive",
            hint=_fitting_member(order),
        )
    used = order.used_bytes(smallest)
    refuse_too_small(drive_name(order.replacement), order.room_bytes(sizes[order.replacement]), used)
    return used


def _fitting_member(order: RebuildOrder) -> str:
    """Most likely it was meant of whole drives."""
    scale = order.scale_divisor
    if scale == 1:
        return "the member size says how much of each drive the array uses"
    fits = replace(order, scale_divisor=1).fitting_member(scale)
    return f"the member size is of the drive as it is scaled: at 1/{scale}, `{fits}`"


def refuse_too_small(replacement: str, capacity_bytes: int, wanted_bytes: int) -> None:
    """Raises UsageError if the new drive has less than the array uses of each."""
    if capacity_bytes >= wanted_bytes:
        return
    has, uses = format_two_sizes(capacity_bytes, wanted_bytes)
    raise UsageError(
        f"`{replacement}` is too small: it has {has}, and the array uses {uses} of each drive",
        hint=f"take a larger drive, or an array of a smaller member size: `{floor_size(capacity_bytes)}` at the most",
    )
