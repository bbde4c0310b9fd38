"""Would a drive be kicked out? Its longest command against what those who wait for it put up with.

Who waits depends on the box: a hardware RAID controller is in none whose array is made by Linux, and ZFS's deadman in
those of ZFS. Not all who lose patience kick at once: Linux aborts a command and asks again, and only what comes of
that is a drive's end. In a rebuild this was gone through, so it is known; ZFS's deadman tells, and does no more.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from shakedown.analysis.rules import ERROR_RECOVERY_MS, LINUX_COMMAND_TIMEOUT_MS

Kicked = Literal["no", "close", "yes"]
Software = Literal["md", "zfs"]
_CLOSE: Final = 0.5
_FLUSH_TIMEOUT_MULTIPLIER: Final = 2
"""``SD_FLUSH_TIMEOUT_MULTIPLIER`` in drivers/scsi/sd.h."""


class Patience(NamedTuple):
    """Who waits, for how long, what happens then, and where that is written; and how soon that kicks a drive out.

    ``arrays_of`` names the software in whose arrays it is there to wait; where it is not, it waits in another box.
    """

    who: str
    limit_ms: float
    then: str
    source: str
    kicks: Literal["at once", "in the end", "never"]
    arrays_of: tuple[Software, ...]


LINUX: Final = Patience(
    "Linux's SCSI layer",
    LINUX_COMMAND_TIMEOUT_MS,
    "aborts the command, resets the link and asks again; md fails the drive if five retries fail too, ZFS, which "
    "wants no retries, if ten requests fail within ten minutes",
    "SD_TIMEOUT and SD_MAX_RETRIES in drivers/scsi/sd.h, zfs_vdev_failfast_mask, zfs_diagnosis.c; md itself has no "
    "timeout",
    "in the end",
    ("md", "zfs"),
)

PATIENCE: Final = (
    Patience(
        "a hardware RAID controller",
        ERROR_RECOVERY_MS + 1000,
        "marks the drive as failed",
        "controllers give a drive about 8 s; RAID drives answer after 7 s at the latest for their sake (TLER, ERC)",
        "at once",
        (),
    ),
    LINUX,
    Patience(
        "ZFS's deadman",
        300_000,
        "logs an event and waits on (failmode wait)",
        "zfs_deadman_ziotime_ms, 300 s by default",
        "never",
        ("zfs",),
    ),
)


class Judgement(NamedTuple):
    """What one who waits makes of a drive whose longest command, of those it is about, took ``longest_ms``."""

    patience: Patience
    longest_ms: float
    kicked: Kicked


def judge_patience(
    longest_ms: float,
    *,
    is_lost: bool,
    command_timeout_ms: float = LINUX_COMMAND_TIMEOUT_MS,
    is_flush: bool = False,
    given_up: bool = False,
) -> list[Judgement]:
    """Each who waits. ``is_lost``: whether the drive was left out while it was watched.

    ``command_timeout_ms`` is what Linux was told (``/sys/block/sdX/device/timeout``), 30 s unless it was; for a command
    that ``is_flush`` twice that, which is told where it makes a difference. ``given_up``: whether Linux gave up on any
    command of the drive. From half of a limit on it is close: the next drive may be slower.
    """
    linux = LINUX._replace(limit_ms=command_timeout_ms)
    if is_flush and is_close(longest_ms, linux):
        judged = _of_flushes(linux, longest_ms, given_up=given_up)
    else:
        judged = (linux, longest_ms)
    told = [judged if each is LINUX else (each, longest_ms) for each in PATIENCE]
    return [Judgement(who, took_ms, _kicked(who, took_ms, is_lost=is_lost)) for who, took_ms in told]


def _of_flushes(linux: Patience, longest_ms: float, *, given_up: bool) -> tuple[Patience, float]:
    """Where the longest was a flush. If no flush took too long and yet some command was given up, others did.

    Of those it is known that they took this long at least.
    """
    flush_limit_ms = _FLUSH_TIMEOUT_MULTIPLIER * linux.limit_ms
    if given_up and longest_ms < flush_limit_ms:
        return linux._replace(who=f"{LINUX.who}, for all but flushes"), linux.limit_ms
    return linux._replace(who=f"{LINUX.who}, for a flush", limit_ms=flush_limit_ms), longest_ms


def is_close(longest_ms: float, who: Patience) -> bool:
    """Whether somebody was kept waiting for so long that the next drive may be too slow for them."""
    return longest_ms / who.limit_ms >= _CLOSE


def _kicked(who: Patience, longest_ms: float, *, is_lost: bool) -> Kicked:
    if not is_close(longest_ms, who):
        return "no"
    kicks = who.kicks == "at once" or (who.kicks == "in the end" and is_lost)
    return "yes" if kicks and longest_ms >= who.limit_ms else "close"
