"""Signs that belong together: what one drive did in one stretch of time."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Final

from shakedown.analysis.triage.drive import Drive
from shakedown.analysis.triage.line import Clock
from shakedown.analysis.triage.sign import TIMEOUTS, Sign, What

QUIET_S: Final = 600.0
"""After ten minutes without a word it is another episode; a stalled drive is spoken of every half minute."""

CORRECTED_S: Final = 86_400.0
"""What PCI Express corrects it may tell of now and then for months: that is one episode while it goes on daily."""

ABSENT_S: Final = 2 * 3600.0
"""A drive that is gone may come back in the same episode: field notes C saw up to an hour."""

MOST_SECTORS: Final = 64

_OF_LINK: Final[frozenset[What]] = frozenset({"bus-error", "link-dropped"})

OPENING: Final[frozenset[What]] = frozenset({
    "exception", *TIMEOUTS, "bus-error", "link-dropped", "speed-limited", "no-answer", "media-error", "hardware-error",
    "address-not-found", "device-error", "queueing-off", "smart-pending", "smart-failing", "io-error", "write-lost",
    "flush-failed", "fs-error", "hung-task", "read-only", "md-kicked", "md-corrected", "md-redirected",
    "md-uncorrectable", "zfs-faulted", "zfs-suspended", "zfs-deadman", "zfs-slow", "zfs-io", "pcie-corrected",
    "pcie-error", "pcie-fatal", "usb-reset", "adapter-log",
})  # fmt: skip
"""Signs that begin an episode. A reset, a model or a link speed is told on ordinary days as well."""


@dataclass(eq=False)
class Episode:
    """What one drive did. Times are seconds of ``clock``, None in a log without times; lines count from 1."""

    drive: Drive
    boot: int
    first_line: int
    last_line: int = 0
    clock: Clock | None = None
    begin_s: float | None = None
    end_s: float | None = None
    counts: Counter[What] = field(default_factory=Counter)
    commands: Counter[str] = field(default_factory=Counter)
    adapter_codes: Counter[str] = field(default_factory=Counter)
    """What its firmware logged: the part that speaks, and its code in two hexadecimal digits, ``112``."""
    kicks: Counter[str] = field(default_factory=Counter)
    """How often md expelled it, by who says so."""
    sectors: set[int] = field(default_factory=set)
    gone_at_s: float | None = None
    longest_absence_s: float = 0.0
    was_gone: bool = False
    is_gone: bool = False
    zone: tzinfo | None = None
    """That which the log names with its times, None where it names none."""
    slowest_gbps: float | None = None
    """Of a link that was slowed down."""
    link_is_told: bool | None = None
    """Whether the exception at hand is known to be one of the link; None before the first exception."""

    def add(self, sign: Sign, line: int, clock: Clock | None, time_s: float | None) -> None:
        """Take a sign in."""
        if sign.what == "md-kicked":
            self.kicks[sign.note] += 1
            self._count_kicks()
        elif not self._is_told_again(sign.what):
            self.counts[sign.what] += 1
        self.last_line = line
        self._clock(clock, time_s)
        if sign.what == "speed-limited" and (gbps := re.match(r"\d+(?:\.\d+)?", sign.note)):
            self.slowest_gbps = min(float(gbps[0]), self.slowest_gbps or float(gbps[0]))
        if sign.what == "adapter-log":
            self.adapter_codes[sign.note] += 1
        elif sign.what == "command" and (sign.note in self.commands or len(self.commands) < MOST_SECTORS):
            self.commands[sign.note] += 1
        elif sign.note.isdecimal() and len(self.sectors) < MOST_SECTORS:
            self.sectors.add(int(sign.note[:20]))

    def _count_kicks(self) -> None:
        """The kernel and mdadm's monitor both tell of the same one."""
        if self.kicks:
            self.counts["md-kicked"] = max(self.kicks.values())

    def _is_told_again(self, what: What) -> bool:
        """Whether it is one more line about the one error of the link behind an exception; libata has up to 35."""
        if what == "exception":
            self.link_is_told = False
        is_of_link = what in _OF_LINK
        was_told = is_of_link and bool(self.link_is_told)
        if is_of_link and self.link_is_told is not None:
            self.link_is_told = True
        return was_told

    def goes(self, time_s: float | None) -> None:
        """The kernel gave the drive up."""
        if not self.is_gone:
            self.gone_at_s = time_s
        self.was_gone = self.is_gone = True

    def returns(self, time_s: float | None) -> None:
        """The drive is there again."""
        if self.is_gone and self.gone_at_s is not None and time_s is not None:
            self.longest_absence_s = max(self.longest_absence_s, time_s - self.gone_at_s)
        self.is_gone = False

    def is_over(self, clock: Clock | None, time_s: float | None, what: What | None = None) -> bool:
        """Whether a sign at this time belongs to another episode. Without times there is one for each drive."""
        if time_s is None or self.end_s is None or clock != self.clock:
            return False
        quiet_s = CORRECTED_S if {what} == self.counts.keys() == {"pcie-corrected"} else QUIET_S
        return time_s - self.end_s > (ABSENT_S if self.is_gone else quiet_s)

    def merge(self, other: Episode) -> None:
        """Take in what was thought to be another drive's."""
        self.first_line = min(self.first_line, other.first_line)
        self.last_line = max(self.last_line, other.last_line)
        self.counts += other.counts
        self.kicks += other.kicks
        self._count_kicks()
        self.commands += other.commands
        self.adapter_codes += other.adapter_codes
        self.sectors |= other.sectors
        self.was_gone |= other.was_gone
        self.is_gone |= other.is_gone
        self.longest_absence_s = max(self.longest_absence_s, other.longest_absence_s)
        self.slowest_gbps = min(filter(None, (self.slowest_gbps, other.slowest_gbps)), default=None)
        for time_s in (other.begin_s, other.end_s):
            self._clock(other.clock, time_s)

    @property
    def timeouts(self) -> int:
        """How many commands were not answered: as many as whoever tells of the most does."""
        return max(self.counts[what] for what in TIMEOUTS)

    @property
    def writes(self) -> bool:
        """Whether commands that write failed; drives that are shingled stall on those."""
        return self.counts["flush-failed"] > 0 or any(
            name.upper().startswith(("WRITE", "FLUSH", "SYNCHRONIZE")) for name in self.commands
        )

    def _clock(self, clock: Clock | None, time_s: float | None) -> None:
        if time_s is None or (self.clock is not None and clock != self.clock):
            return
        self.clock = clock
        self.begin_s = time_s if self.begin_s is None else min(self.begin_s, time_s)
        self.end_s = time_s if self.end_s is None else max(self.end_s, time_s)
