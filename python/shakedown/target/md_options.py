"""The options of an md array, as people set them and as the core takes them."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import Any, Final, NamedTuple, Self

from shakedown.errors import UsageError
from shakedown.target.settings import between, refuse_of_other_layouts
from shakedown.units import (
    NS_PER_S,
    format_duration,
    format_size,
    format_two_sizes,
    parse_bytes_of_a_second,
    parse_drive_bytes,
    parse_duration_ns,
    parse_request_bytes,
)


@dataclass(frozen=True)
class MdOptions:
    """Of ``mdadm --create`` and ``/sys/block/mdX/md``; None is Linux's default.

    ``copies`` are raid10's: near and far copies, and whether the far ones are in the next row (``offset``).
    """

    chunk_bytes: int | None = None
    rotation: str | None = None
    copies: tuple[int, int, bool] | None = None
    stripe_cache: int | None = None
    stripe_cache_most: int | None = None
    speed_min_bytes_per_s: int | None = None
    speed_max_bytes_per_s: int | None = None
    bitmap: bool | None = None
    read_modify_write: bool | None = None
    max_request_bytes: int | None = None
    max_segments: int | None = None
    jiffy_ns: int | None = None
    processors: int | None = None
    command_timeout_ns: int | None = None
    journal_at_bytes: int | None = None
    mounted_before_ns: int | None = None

    def to_core(self) -> dict[str, Any]:
        """As the core takes them."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def or_else(self, other: Self) -> Self:
        """What is said here, and of the rest what the other one says."""
        mine = {each.name: value for each in fields(self) if (value := getattr(self, each.name)) is not None}
        return replace(other, **mine)

    @property
    def all_copies(self) -> int:
        """How many copies of everything a raid10 has, near and far."""
        near, far, _ = self.copies or (2, 1, False)
        return near * far

    def check_speeds(self, usual_most: int | None = None) -> None:
        """Raise UsageError for a least speed above the greatest, which md would then not heed (`md_do_sync`).

        ``usual_most`` is the greatest where none is set; None where nobody knows.
        """
        least, most = self.speed_min_bytes_per_s, self.speed_max_bytes_per_s
        most, unset = (usual_most, ", Linux's own") if most is None else (most, "")
        if least is not None and most is not None and least > most:
            told_least, told_most = format_two_sizes(least, most)
            raise UsageError(
                f"`speed-min`, {told_least} a second, is more than `speed-max`, {told_most} a second{unset}",
                hint="a larger speed-max, too" if unset else "a smaller speed-min or a larger speed-max",
            )

    def check_layout(self, layout: str) -> None:
        """Raise UsageError for an option that the layout does not have."""
        refuse_of_other_layouts(self, layout, MD_SETTINGS, _LAYOUTS_OF)


def _copies(text: str) -> tuple[int, int, bool]:
    """mdadm's ``n2``, ``f2`` and ``o2``."""
    match = re.fullmatch(r"([nfo])([1-9])", text)
    if match is None:
        raise ValueError(text)
    count = int(match[2])
    if count == 1:
        raise UsageError(
            f"`copies={text}` leaves one copy of everything: no redundancy, and nothing to rebuild from",
            hint="copies=n2, f2 or o2; an array without redundancy is a raid0",
        )
    return (count, 1, False) if match[1] == "n" else (1, count, match[1] == "o")


def parse_flag(text: str) -> bool:
    """``yes`` or ``no``. Raises UsageError."""
    if text not in ("yes", "no"):
        raise UsageError(f"`{text}` is neither yes nor no", hint="yes or no")
    return text == "yes"


SPEED_MAX_BYTES_PER_S: Final = 200_000 << 10
"""Linux's own (R387), as the core has it."""


class Host(NamedTuple):
    """What md runs on, and no option of its own."""

    max_segments: int
    jiffy_ns: int
    processors: int


LINUX_HOST: Final = Host(max_segments=168, jiffy_ns=4_000_000, processors=4)
"""What the core takes where nothing is set: an AHCI adapter, and Debian's 250 ticks a second."""
_PAGE_BYTES: Final = 4096
parse_command_timeout_ns: Final = between(NS_PER_S, 24 * 3600 * NS_PER_S, parse_duration_ns, format_duration)
_parse_hz: Final = between(24, 1200)  # MIPS may have the fewest ticks a second, Alpha the most

MD_SETTINGS: Final[dict[str, tuple[str, Any]]] = {
    "chunk": ("chunk_bytes", parse_request_bytes),
    "rotation": ("rotation", str),
    "copies": ("copies", _copies),
    "stripe-cache": ("stripe_cache", between(17, 32768)),  # `raid5_set_cache_size`
    "stripe-cache-most": ("stripe_cache_most", between(17, 2**31 - 1)),
    "speed-min": ("speed_min_bytes_per_s", parse_bytes_of_a_second),
    "speed-max": ("speed_max_bytes_per_s", parse_bytes_of_a_second),
    "bitmap": ("bitmap", parse_flag),
    "rmw": ("read_modify_write", parse_flag),
    "max-request": ("max_request_bytes", between(_PAGE_BYTES, None, parse_request_bytes, format_size)),
    "segments": ("max_segments", between(1, 2**16 - 1)),  # an unsigned short of `queue_limits`
    "hz": ("jiffy_ns", lambda text: NS_PER_S // _parse_hz(text)),
    "processors": ("processors", between(1, 8192)),  # NR_CPUS of x86
    "command-timeout": ("command_timeout_ns", parse_command_timeout_ns),
    "ext4-journal": ("journal_at_bytes", parse_drive_bytes),
    "ext4-mounted": ("mounted_before_ns", between(0, 3600 * NS_PER_S, parse_duration_ns, format_duration)),
}

_OF_PARITY: Final = ("raid5", "raid6")
_LAYOUTS_OF: Final = {
    "chunk": ("raid0", "raid10", *_OF_PARITY),
    "rotation": _OF_PARITY,
    "copies": ("raid10",),
    "stripe-cache": _OF_PARITY,
    "stripe-cache-most": _OF_PARITY,
    "bitmap": ("raid1", "raid10", *_OF_PARITY),
    "rmw": _OF_PARITY,
}
