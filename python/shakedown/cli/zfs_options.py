"""``--set NAME=VALUE`` for pools of ZFS."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, get_args

from shakedown.array.zfs import HealingOrder, Release, ZfsOptions
from shakedown.cli.settings import read_settings
from shakedown.errors import UsageError
from shakedown.units import parse_duration_ns, parse_size_bytes

_EXAMPLES: Final = "like recordsize=1MiB, ashift=9, run=16, order=sequential, release=0.6, draid=8d:1s, memory=8GiB"


def parse_zfs_options(settings: tuple[str, ...]) -> ZfsOptions:
    """``recordsize=1MiB``, ``order=sequential``, ... Raises UsageError."""
    return ZfsOptions(**read_settings(settings, _SETTINGS, "a pool", _EXAMPLES))


def _one_of(literal: Any) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in get_args(literal):
            raise UsageError(f"`{text}` is not one of {', '.join(get_args(literal))}", hint=_EXAMPLES)
        return text

    return parse


def _draid(text: str) -> tuple[int, int]:
    """``8d:1s``, as zpool writes it."""
    match = re.fullmatch(r"(\d+)d:(\d+)s", text)
    if match is None:
        raise ValueError(text)
    return int(match[1]), int(match[2])


def _failure(text: str) -> tuple[int, int]:
    """``3@2h``: drive 3 after two hours."""
    place, at, when = text.partition("@")
    if not at:
        raise ValueError(text)
    return int(place), parse_duration_ns(when)


_SETTINGS: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "recordsize": ("record_bytes", parse_size_bytes),
    "ashift": ("ashift", int),
    "run": ("run_records", int),
    "draid": ("draid", _draid),
    "spare": ("spare", int),
    "order": ("order", _one_of(HealingOrder)),
    "release": ("release", _one_of(Release)),
    "memory": ("memory_bytes", parse_size_bytes),
    "cores": ("cores", int),
    "core-rate": ("core_bytes_per_s", lambda text: float(parse_size_bytes(text))),
    "second-failure": ("second_failure", _failure),
}
