"""The rules of the verdict, as a table: for which use, which figures, which thresholds, and why these.

`docs/verdict.md` says the same at length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Final, Literal, get_args

from shakedown.analysis.finding import FindingKind

Use = Literal["archive", "desktop", "mdraid", "zfs"]
USES: Final[tuple[Use, ...]] = get_args(Use)

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

PLAIN_IOPS: Final = 50.0
"""What a plain 5400 rpm disk does (reference row R066): a fall that leaves more is its DRAM cache filling up."""

COLLAPSED_SHARE: Final = 0.25
"""Who is used to a drive notices when a quarter is left of it; field notes B saw an eightieth."""

LITTLE_WRITING_BYTES: Final = 4 * 1024**3
"""A million writes of 4 KiB, four times the 250,000 that field notes C name as a cache's limit; and 16 times the
largest DRAM cache of a drive that is known here."""

PERSISTENT_CACHE_BYTES: Final = 40 * 10**9
"""The largest persistent cache that is known here (reference row R437: 37.2 GiB; R032, R153, R196: 20 to 34 GB)."""

NIGHT_S: Final = 8 * 3600.0
"""What is not done overnight is still there in the morning."""


SHINGLED_BASELINE: Final = "baseline_is_shingled"
"""In the evidence of a share of the baseline's rate: a drive that is as slow as that one is not cleared by it."""

PART_BYTES: Final = "part_bytes"
"""In the evidence of what was found on a part of a drive, a file being one: how large that is.

On a part all seeks are shorter, and fewer bands wait to be tidied up: a whole drive does worse."""


@dataclass(frozen=True)
class Enough:
    """So many bytes, as the entry ``figure`` of a finding's evidence counts them, must have been written.

    What a drive does before is its burst or an empty cache. A finding that does not say how many knows too little.
    """

    figure: str
    at_least: float
    whose: str = "it"

    def met(self, evidence: Mapping[str, float | int | str]) -> bool:
        """Whether so much was written."""
        return float(evidence.get(self.figure, 0)) >= self.at_least


@dataclass(frozen=True)
class Limit:
    """Bad when the figure of a finding of this ``kind`` is ``at_most`` or ``at_least`` so much.

    ``figure`` is the finding's value or an entry of its evidence (whose interval, if any, are the entries with ``_low``
    and ``_high`` behind its name), in ``unit``; ``name`` is what people call it; ``protocol`` and ``step`` None mean
    any; ``good`` is what it means that this one of several limits is kept. A finding
    whose value is None (nothing of the kind was seen) is judged by the figure all the same if its evidence has it, else
    by ``unseen``: an evidence that bounds the figure from below, so that "no cliff within 35 GiB" is known not to be a
    cliff within 4 GiB. A good figure keeps the limit only where ``good_after`` is met, a bad one breaks it only where
    ``bad_after`` is: else it is not known to last. A cliff that was seen needs neither. A bad one that is of a
    drive ``before_fall`` breaks it only where the rate had not collapsed by then, and a good share of the rate of a
    baseline that is ``SHINGLED_BASELINE`` itself keeps nothing. The figure of a limit in
    ``or_else`` may be bad instead; one that is not known says nothing. A good figure of a part of a drive (see
    ``PART_BYTES``) keeps the limit only from ``part_from_bytes`` on.
    """

    kind: FindingKind
    unit: Literal["share", "ms", "s", "IOPS", "bytes"]
    name: str
    protocol: str | None = None
    step: str | None = None
    figure: str = "value"
    at_most: float | None = None
    at_least: float | None = None
    unseen: str | None = None
    good_after: Enough | None = None
    bad_after: Enough | None = None
    or_else: tuple[Limit, ...] = ()
    before_fall: bool = False
    part_from_bytes: float = 0.0
    good: str = ""

    @property
    def threshold(self) -> float:
        """The figure from which on it is bad."""
        threshold = self.at_most if self.at_most is not None else self.at_least
        assert threshold is not None, "a limit has one side"
        return threshold


@dataclass(frozen=True)
class Rule:
    """Broken when all its limits are: what is ``bad`` then and ``good`` otherwise, and ``why`` the threshold is there.

    ``run`` is the protocol to run when evidence is missing (with ``settings``, else those that a finding says would
    look closer), and ``question`` what is then open; where they are empty,
    the rule speaks only when it is broken or kept for sure. A rule of gravity ``caution`` or ``inconclusive`` speaks
    only when broken; a caution decides nothing. Where ``good_if`` is given and not surely kept as well, what those of
    its limits that are kept mean is said in the place of ``good``. Rules are of single drives, those ``of_arrays`` of
    an array as well: there whoever uses it is asked, and not what it would be as a member of one.
    """

    use: Use
    limits: tuple[Limit, ...]
    bad: str
    good: str
    why: str
    run: str = ""
    settings: str = ""
    question: str = ""
    gravity: Literal["fail", "inconclusive", "caution"] = "fail"
    good_if: Limit | None = None
    of_arrays: bool = False


_TIMEOUT: Final = (Limit("worst-latency", "ms", "longest request", at_least=LINUX_COMMAND_TIMEOUT_MS),)
_TIMEOUT_WHY: Final = "Linux aborts a command after 30 s and resets the link (SD_TIMEOUT, drivers/scsi/sd.h)"
_BASELINE: Final = Enough("baseline_bytes", LITTLE_WRITING_BYTES, "the baseline")
_LARGE_WRITES: Final = (
    Limit(
        "throughput-ratio",
        "share",
        "share of the baseline's rate",
        "random-1m",
        at_most=LARGE_WRITE_SHARE,
        good_after=Enough("candidate_bytes", LITTLE_WRITING_BYTES),
        bad_after=_BASELINE,
        before_fall=True,
    ),
)
_FELL_LARGE: Final = Limit(
    "throughput-ratio",
    "share",
    "share of the baseline's rate that was left",
    "random-1m",
    figure="fell_ratio",
    at_most=LARGE_WRITE_SHARE,
)
_NO_LONG_WRITES: Final = "keep long random writing away from it, also in pieces of 1 MiB: its rate collapses"
_NO_LONG_WRITES_WHY: Final = "its cache took the pieces until it was full; large files are one stream, and need none"
_LONG_WRITES: Final = "rate of long random writing"
_HELD: Final = Limit(
    "cliff",
    "IOPS",
    f"{_LONG_WRITES} while the load went on",
    figure="held_iops",
    at_most=USELESS_IOPS,
)
_COLLAPSE: Final = Limit(
    "cliff",
    "IOPS",
    _LONG_WRITES,
    figure="iops_after",
    at_most=USELESS_IOPS,
    good_after=Enough("bytes_total", LITTLE_WRITING_BYTES),
    or_else=(_HELD,),
    part_from_bytes=inf,
    good="it goes on under long random writing, though slower than a plain disk",
)
_CRAWL: Final = replace(_COLLAPSE, at_most=PLAIN_IOPS, or_else=(replace(_HELD, at_most=PLAIN_IOPS),))
_EARLY: Final = Limit("cliff", "IOPS", "rate after an early fall", figure="early_fall_iops", at_most=PLAIN_IOPS)
_FALL: Final = Limit(
    "cliff",
    "share",
    "share of the rate that the cliff leaves",
    figure="rate_ratio",
    at_most=COLLAPSED_SHARE,
)
_LONG: Final = Limit(
    "recovery",
    "s",
    "recovery",
    at_least=NIGHT_S,
    part_from_bytes=inf,
    good="a night of rest cures what it has put off",
)
_BRIEFLY: Final = Limit(
    "cliff", "s", "load after it had fallen", figure="loaded_after_s", at_most=3 * LINUX_COMMAND_TIMEOUT_MS / 1000
)
_SOON: Final = Limit(
    "cliff",
    "bytes",
    "writing before the cliff",
    figure="bytes_before",
    at_most=LITTLE_WRITING_BYTES,
    unseen="bytes_total",
    part_from_bytes=PERSISTENT_CACHE_BYTES,
    good="what a desktop writes in days does not make it fall",
)
_RESILVER: Final = Limit(
    "throughput-ratio",
    "share",
    "share of the baseline's rate (after a collapse, if any)",
    "sequential-32k",
    figure="sustained_ratio",
    at_most=RESILVER_SHARE,
    good_after=Enough("candidate_bytes", PERSISTENT_CACHE_BYTES),
    bad_after=_BASELINE,
)
_ONLY_A_REBUILD: Final = "whether an array that is rebuilt onto it keeps it, `shakedown rebuild` shows"
_SMALL_WRITES: Final = "keep long small random writing away from it: its rate collapses"
_FALL_WHY: Final = (
    "the drive puts off work until no room is left for it; field notes B saw an eightieth of the rate left"
)

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        use="archive",
        limits=_LARGE_WRITES,
        bad="large writes take twice as long or more",
        good="large writes keep more than half the baseline's rate",
        why="drives that serve well as archives lose 0 to 30 % on large files (field notes A and B)",
        run="random-1m",
        question="whether large writes are quick enough",
    ),
    Rule(
        use="archive",
        limits=(_FELL_LARGE,),
        bad=_NO_LONG_WRITES,
        good="it keeps its rate under long random writing of large pieces",
        why=_NO_LONG_WRITES_WHY,
        gravity="caution",
    ),
    Rule(
        use="archive",
        limits=_TIMEOUT,
        bad="the kernel will report timeouts: raise the device's timeout",
        good="every request was answered within the kernel's patience",
        why=_TIMEOUT_WHY + "; a single disk is then slow but not lost (field notes C)",
        gravity="caution",
    ),
    Rule(
        use="archive",
        limits=(_FALL,),
        bad=_SMALL_WRITES,
        good="it keeps its rate under small random writes",
        why=_FALL_WHY,
        gravity="caution",
    ),
    Rule(
        use="desktop",
        limits=(
            _COLLAPSE,
            _SOON,
            _LONG,
        ),
        bad="little random writing makes it unusable, and a night does not cure it",
        good="everyday work stays possible under random writing",
        why="10 IOPS is a fifth of a plain 5400 rpm disk, 4 GiB are a million small writes, a night has 8 h",
        run="cliff",
        question="whether it is usable on the morning after much random writing",
        good_if=_CRAWL,
        of_arrays=True,
    ),
    Rule(
        use="desktop",
        limits=(_EARLY,),
        bad="it fell to a low rate so early that nobody knows what it fell from",
        good="it keeps its first rate",
        why="a burst into the DRAM cache ends at what a plain disk does, 50 IOPS or more; a cliff ends far below",
        run="cliff",
        gravity="inconclusive",
        of_arrays=True,
    ),
    Rule(
        use="desktop",
        limits=(_BRIEFLY,),
        bad="it was loaded so briefly once it had fallen that its rate and its longest request then are not known",
        good="it was loaded for long once it had fallen",
        why="few of the longest requests fit a short time; three of the kernel's 30 s take 90 s",
        run="cliff",
        settings="--set hold=30min",
        gravity="inconclusive",
        of_arrays=True,
    ),
    Rule(
        use="desktop",
        limits=(_FALL,),
        bad="under long random writing it falls to a fraction of its rate: fine for now and then, not for busy days",
        good="it keeps its rate under long random writing",
        why=_FALL_WHY,
        gravity="caution",
        of_arrays=True,
    ),
    Rule(
        use="desktop",
        limits=(_FALL, _LONG),
        bad="once it has fallen, it needs longer than a night of rest",
        good="what it has put off is done within a night",
        why="a night has 8 h, and what is not done by then is still there in the morning",
        gravity="caution",
        of_arrays=True,
    ),
    Rule(
        use="desktop",
        limits=_TIMEOUT,
        bad="the whole system will freeze while the link is reset",
        good="every request was answered within the kernel's patience",
        why=_TIMEOUT_WHY,
    ),
    Rule(
        use="mdraid",
        limits=_LARGE_WRITES,
        bad="large writes, as of an array that is rebuilt onto it, take twice as long as the baseline's, or longer",
        good="large writes, as of an array that is rebuilt onto it, are more than half as fast as the baseline's",
        why="a rebuild under md is one large sequential write, and large files lie in 512 KiB chunks (field notes A)",
        run="random-1m",
        question="whether a rebuild is quick enough",
    ),
    Rule(
        use="mdraid",
        limits=(_FELL_LARGE,),
        bad=_NO_LONG_WRITES,
        good="it keeps its rate under long random writing of large pieces",
        why=_NO_LONG_WRITES_WHY,
        gravity="caution",
    ),
    Rule(
        use="mdraid",
        limits=_TIMEOUT,
        bad="the array may drop the drive",
        good=f"no request took as long as Linux waits for a drive, 30 s; {_ONLY_A_REBUILD}",
        why=_TIMEOUT_WHY + "; md has no timeout of its own and treats the error that follows as a failing member",
        run="random-1m",
        question="whether the array keeps the drive",
    ),
    Rule(
        use="mdraid",
        limits=(Limit("worst-latency", "ms", "longest request", at_least=ERROR_RECOVERY_MS),),
        bad="a hardware RAID controller might drop it, though md will not",
        good="a hardware RAID controller would keep it too",
        why="RAID drives answer within the 7 s of time-limited error recovery (Western Digital's TLER)",
        gravity="caution",
    ),
    Rule(
        use="mdraid",
        limits=(_FALL,),
        bad=_SMALL_WRITES,
        good="it keeps its rate under small random writes",
        why=_FALL_WHY + "; parity RAID turns each of them into several (field notes C)",
        gravity="caution",
    ),
    Rule(
        use="zfs",
        limits=(_RESILVER,),
        bad="small pieces, as a resilver's, are so slow that hours become days",
        good="a resilver's small pieces keep more than a quarter of the baseline's rate",
        why="a resilver writes pieces of 24 to 64 KiB; a quarter of the rate makes 16 hours 2.7 days (field notes A)",
        run="sequential-32k",
        question="whether a resilver is a matter of hours",
    ),
    Rule(
        use="zfs",
        limits=(_FALL,),
        bad=_SMALL_WRITES,
        good="it keeps its rate under small random writes",
        why=_FALL_WHY + "; a pool of databases or virtual disks writes so",
        gravity="caution",
    ),
    Rule(
        use="zfs",
        limits=_TIMEOUT,
        bad="the pool will see I/O errors and may fault the drive",
        good="every request was answered within the kernel's patience",
        why=_TIMEOUT_WHY + ", long before ZFS's own deadman of 300 s (zfs_deadman_ziotime_ms, zfs(4))",
        run="sequential-32k",
        question="whether the pool keeps the drive",
    ),
)

USES_OF_ARRAYS: Final = tuple(use for use in USES if any(rule.of_arrays for rule in RULES if rule.use == use))
"""For which an array is judged at all."""
