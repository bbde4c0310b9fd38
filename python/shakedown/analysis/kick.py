"""Would a drive be kicked out? Its longest command against what those who wait for it put up with."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from shakedown.analysis.rules import ERROR_RECOVERY_MS, LINUX_COMMAND_TIMEOUT_MS

Kicked = Literal["no", "close", "yes"]
_CLOSE: Final = 0.5


class Patience(NamedTuple):
    """Who waits, for how long, what happens then, and where that is written."""

    who: str
    limit_ms: float
    then: str
    source: str


PATIENCE: Final = (
    Patience(
        "a hardware RAID controller",
        ERROR_RECOVERY_MS + 1000,
        "marks the drive as failed",
        "controllers give a drive about 8 s; RAID drives answer after 7 s at the latest for their sake (TLER, ERC)",
    ),
    Patience(
        "Linux's SCSI layer",
        LINUX_COMMAND_TIMEOUT_MS,
        "aborts the command and resets the link; md fails the drive if the retries fail too",
        "SD_TIMEOUT in drivers/scsi/sd.h; md itself has no timeout",
    ),
    Patience(
        "ZFS's deadman",
        300_000,
        "logs an event and waits on (failmode wait)",
        "zfs_deadman_ziotime_ms, 300 s by default",
    ),
)


class Judgement(NamedTuple):
    """What one who waits makes of a drive whose longest command took ``longest_ms``."""

    patience: Patience
    longest_ms: float
    kicked: Kicked


def judge_patience(longest_ms: float) -> list[Judgement]:
    """Each who waits, the least patient first. From half of the limit on it is close: the next drive may be slower."""
    return [Judgement(each, longest_ms, _kicked(longest_ms / each.limit_ms)) for each in PATIENCE]


def _kicked(share: float) -> Kicked:
    if share >= 1:
        return "yes"
    return "close" if share >= _CLOSE else "no"
