"""The rules of the verdict, as a table: for which use, which figures, which thresholds, and why these.

`docs/verdict.md` says the same at length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from shakedown.analysis.finding import FindingKind

Use = Literal["archive", "desktop", "mdraid", "zfs"]
USES: Final[tuple[Use, ...]] = ("archive", "desktop", "mdraid", "zfs")

LINUX_COMMAND_TIMEOUT_MS: Final = 30_000
"""Linux aborts a disk's command after 30 s (SD_TIMEOUT in drivers/scsi/sd.h) and resets the link (field notes C)."""

ERROR_RECOVERY_MS: Final = 7_000
"""RAID drives give up on a sector after 7 s (Western Digital's TLER), so that a controller need not wait longer."""

RESILVER_SHARE: Final = 0.25
"""Field notes A: a sixteen-hour resilver at a quarter of the rate lasts 2.7 days; the EFAX at 1/15.9 took over nine."""

LARGE_WRITE_SHARE: Final = 0.5
"""At half the rate a rebuild or a backup takes twice as long; drives that serve well lose up to 30 % (notes A, B)."""

USELESS_IOPS: Final = 10.0
"""A fifth of the 50 IOPS of a plain 5400 rpm disk (reference row R066); field notes B saw 1.5."""

LITTLE_WRITING_BYTES: Final = 4 * 1024**3
"""A million writes of 4 KiB, four times the 250,000 that field notes C name as a cache's limit."""

NIGHT_S: Final = 8 * 3600.0
"""What is not done overnight is still there in the morning."""


@dataclass(frozen=True)
class Limit:
    """Bad when the finding's figure is ``at_most`` or ``at_least`` so much.

    ``figure`` names the finding's value or an entry of its evidence; ``protocol`` None means any; a finding whose value
    is None (nothing of the kind was seen) is judged by ``unseen``: an evidence that bounds the figure from below, so
    that "no cliff within 35 GiB" is known not to be a cliff within 4 GiB.
    """

    kind: FindingKind
    protocol: str | None = None
    figure: str = "value"
    at_most: float | None = None
    at_least: float | None = None
    unseen: str | None = None

    @property
    def threshold(self) -> float:
        """The figure from which on it is bad."""
        threshold = self.at_most if self.at_most is not None else self.at_least
        assert threshold is not None, "a limit has one side"
        return threshold


@dataclass(frozen=True)
class Rule:
    """Broken when all its limits are; what that means for a use, and why the threshold is what it is."""

    use: Use
    limits: tuple[Limit, ...]
    meaning: str
    why: str
    gravity: Literal["fail", "caution"] = "fail"
    run: str = ""
    """The protocol to run for missing evidence; empty: the rule needs none and speaks only when there is some."""


_TIMEOUT_WHY: Final = "Linux aborts a command after 30 s and resets the link (SD_TIMEOUT, drivers/scsi/sd.h)"

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        use="archive",
        limits=(Limit("throughput-ratio", "random-1m", at_most=LARGE_WRITE_SHARE),),
        meaning="large writes take twice as long or more",
        why="drives that serve well as archives lose 0 to 30 % on large files (field notes A and B)",
        run="random-1m",
    ),
    Rule(
        use="archive",
        limits=(Limit("worst-latency", at_least=LINUX_COMMAND_TIMEOUT_MS),),
        meaning="the kernel will report timeouts; raise the device's timeout",
        why=_TIMEOUT_WHY + "; a single disk is then slow but not lost (field notes C)",
        gravity="caution",
    ),
    Rule(
        use="desktop",
        limits=(
            Limit("cliff", figure="iops_after", at_most=USELESS_IOPS, unseen=None),
            Limit("cliff", figure="bytes_before", at_most=LITTLE_WRITING_BYTES, unseen="bytes_total"),
            Limit("recovery", at_least=NIGHT_S),
        ),
        meaning="after little random writing it is unusable, and a night does not cure it",
        why="10 IOPS is a fifth of a plain 5400 rpm disk, 4 GiB a million small writes, 8 h a night",
        run="cliff",
    ),
    Rule(
        use="desktop",
        limits=(Limit("worst-latency", at_least=LINUX_COMMAND_TIMEOUT_MS),),
        meaning="the whole system will freeze while the link is reset",
        why=_TIMEOUT_WHY,
    ),
    Rule(
        use="mdraid",
        limits=(Limit("throughput-ratio", "random-1m", at_most=LARGE_WRITE_SHARE),),
        meaning="a rebuild takes twice as long or more without redundancy",
        why="md rebuilds in large sequential writes and stores large files in 512 KiB chunks (field notes A)",
        run="random-1m",
    ),
    Rule(
        use="mdraid",
        limits=(Limit("worst-latency", at_least=LINUX_COMMAND_TIMEOUT_MS),),
        meaning="the array will drop the drive",
        why=_TIMEOUT_WHY + "; md has no timeout of its own and takes the error that follows as a failed member",
        run="random-1m",
    ),
    Rule(
        use="mdraid",
        limits=(Limit("worst-latency", at_least=ERROR_RECOVERY_MS),),
        meaning="a hardware RAID controller would drop it, md will not",
        why="controllers expect an answer within the 7 s of time-limited error recovery (Western Digital's TLER)",
        gravity="caution",
    ),
    Rule(
        use="zfs",
        limits=(Limit("throughput-ratio", "sequential-32k", at_most=RESILVER_SHARE),),
        meaning="a resilver takes days instead of hours",
        why="a resilver writes pieces of 24 to 64 KiB; a quarter of the rate makes 16 hours 2.7 days (field notes A)",
        run="sequential-32k",
    ),
    Rule(
        use="zfs",
        limits=(Limit("worst-latency", at_least=LINUX_COMMAND_TIMEOUT_MS),),
        meaning="the pool will see I/O errors and may fault the drive",
        why=_TIMEOUT_WHY + "; that comes long before ZFS's own deadman of 300 s (zfs_deadman_ziotime_ms, zfs(4))",
        run="sequential-32k",
    ),
)
