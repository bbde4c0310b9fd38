"""From lines to episodes, in one pass and in bounded memory, however long the log."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from shakedown.analysis.triage.drive import MOST_DRIVES, Drive, Drives, is_of_other_adapter
from shakedown.analysis.triage.episode import OPENING, Episode
from shakedown.analysis.triage.line import LineReader, LogLine
from shakedown.analysis.triage.sign import INTERESTING, NAMELESS, Sign, What, signs_of

MOST_EPISODES: Final = 2000
"""Kept; what comes later is counted."""

_SAMPLED_LINES: Final = 2000
"""So many lines from the beginning are looked at to tell whether this is a log at all."""

_ADDRESS: Final = re.compile(r"\d+(?::\d+){3}")

_OF_ARRIVALS: Final = frozenset({"attached", "speed", "reset", "recovered"})
"""Signs amid which more disks may yet be named."""

_SMARTCTL: Final = re.compile(rb'smartctl \d|=== START OF |\s*(?:\{\s*)?"(?:smartctl|json_format_version)":')
"""How lines of its output begin, as text and as JSON. What smartd says in a log is another matter, and is read."""


@dataclass
class History:
    """All that was found. ``dropped`` episodes were more than are kept; ``timed_lines`` are of the first lines.

    ``holds_smartctl``: among those first lines is output of smartctl, which nobody reads here.
    """

    episodes: list[Episode] = field(default_factory=list)
    dropped: int = 0
    lines: int = 0
    timed_lines: int = 0
    signs: int = 0
    holds_smartctl: bool = False

    @property
    def is_log(self) -> bool:
        """Whether it was a log at all: something in it had a time or a meaning."""
        return bool(self.timed_lines or self.signs)


class Follower:
    """Takes lines, keeps drives and their open episodes."""

    def __init__(self, now: datetime) -> None:
        """``now`` as in ``LineReader``."""
        self.history = History()
        self._reader = LineReader(now)
        self._drives = Drives()
        self._open: dict[Drive, Episode] = {}
        self._boot = 0
        self._last_port = ""
        self._recovering: set[Drive] = set()
        self._usb_seen = ""
        self._usb_announced: set[str] = set()
        self._uas_resetting = ""

    def feed(self, raw: bytes) -> None:
        """Take one line."""
        history = self.history
        history.lines += 1
        is_sampled = history.lines <= _SAMPLED_LINES
        if not is_sampled and INTERESTING.search(raw) is None:
            return
        history.holds_smartctl |= is_sampled and _SMARTCTL.match(raw) is not None
        line = self._reader.read(raw)
        self._notice_uas(line)
        history.timed_lines += is_sampled and line.time_s is not None
        for sign in signs_of(line.tag, line.text):
            history.signs += 1
            self._take(sign, line)
        self._notice_usb(line)

    def finish(self) -> History:
        """End: nothing more will come."""
        for episode in list(self._open.values()):
            self._close(episode)
        return self.history

    def _take(self, sign: Sign, line: LogLine) -> None:
        if sign.what == "boot":
            self._reboot()
        elif sign.what == "same-as":
            self._joined(*self._drives.same(sign.who, sign.note))
            self._join_port(sign.who)
        elif sign.what == "is-model":
            drive, merged = self._drives.is_model(sign.who, sign.note)
            self._joined(drive, merged)
            self._is_back(drive, line)
        elif sign.what == "ata-host":
            self._drives.hosts.announce_host(int(sign.who), sign.note)
        elif sign.what == "ata-port":
            self._drives.hosts.announce_port(int(sign.who.removeprefix("ata")))
        else:
            if sign.what not in _OF_ARRIVALS:
                for drive, merged in self._drives.told_by_models():
                    self._joined(drive, merged)
            if _ADDRESS.fullmatch(sign.who):
                self._joined(*self._drives.placed(sign.who))
            self._happened(sign, line)

    def _happened(self, sign: Sign, line: LogLine) -> None:
        drive = self._who(sign)
        if drive is None:
            return
        if sign.what == "recovered" and drive.is_gone:
            self._recovering.discard(drive)
            return  # the port's error handling is over, and no drive recovered
        opens = sign.what in OPENING
        if sign.what in ("gave-up", "link-down", "unplugged"):
            if not (sign.note or drive.is_disk or drive in self._open):
                return  # an empty port, or a USB device that is no disk; a port's device that is disabled was there
            opens = not drive.is_gone
        if sign.what == "speed":
            sign = self._speed(drive, sign)
            self._is_back(drive, line)
        episode = self._episode(drive, line, sign.what, opens=opens)
        if episode is None:
            return
        episode.add(sign, self.history.lines, line.clock, line.time_s)
        episode.zone = episode.zone or line.zone
        if sign.what in ("gave-up", "link-down", "unplugged"):
            drive.is_gone = True
            episode.goes(line.time_s)
        elif sign.what == "attached":
            self._is_back(drive, line)
        if drive.port and sign.what == "exception":
            self._last_port = drive.port
            self._recovering.add(drive)
        elif sign.what == "recovered":
            self._recovering.discard(drive)

    def _who(self, sign: Sign) -> Drive | None:
        """The drive of a sign; the kernel leaves it out where the line before has it."""
        if sign.what in NAMELESS:
            return self._drives.get("")
        if not sign.who:
            return self._drives.get(self._last_port) if self._last_port else None
        if re.match(r"\d+-[\d.]+$", sign.who):
            return self._of_usb(sign)
        return self._drives.get(sign.who)

    def _of_usb(self, sign: Sign) -> Drive | None:
        """The disk at a place of the USB; one that was never announced may be one, where it is reset."""
        path = sign.who
        if sign.what == "usb-reset" and self._uas_resetting:
            self._drives.same(path, self._uas_resetting)
        host = self._drives.known(path)
        number = next((name[4:] for name in reversed(host.names) if name.startswith("host")), None) if host else None
        if number is None:
            is_unknown = sign.what == "usb-reset" and path not in self._usb_announced
            return self._drives.get(path) if is_unknown else None
        drive = self._drives.known(f"{number}:0:0:0")
        if drive is not None:
            drive.usb = path
        return drive

    def _notice_uas(self, line: LogLine) -> None:
        """Between these two lines the device is reset that is the host's, whatever the log has of the boot."""
        found = re.match(r"scsi (host\d+): uas_eh_(?:device|bus)_reset_handler (start)?", line.text)
        if found and line.tag in ("", "kernel"):
            self._uas_resetting = found[1] if found[2] else ""

    def _notice_usb(self, line: LogLine) -> None:
        """``scsi host6: uas`` does not say which USB device it is: the one that was announced last."""
        if line.tag not in ("", "kernel"):
            return
        new = re.match(r"usb (\d+-[\d.]+): New USB device found", line.text)
        if new:
            self._usb_seen = new[1]
            self._usb_announced.add(new[1])
        host = re.match(r"scsi (host\d+): uas", line.text)
        if host and self._usb_seen:
            self._drives.same(self._usb_seen, host[1])

    def _speed(self, drive: Drive, sign: Sign) -> Sign:
        """A link that comes up slower than it was is a sign; any other speed is not."""
        speed_gbps = float(sign.note) if re.fullmatch(r"\d+(?:\.\d+)?", sign.note) else 0.0
        is_slower = 0 < speed_gbps < drive.speed_gbps
        drive.speed_gbps = max(speed_gbps, drive.speed_gbps)
        return Sign("speed-limited", sign.who, f"{sign.note} Gb/s") if is_slower else sign

    def _join_port(self, address: str) -> None:
        """An address is a port's because the boot said so, else because it speaks while that port alone recovers."""
        if not _ADDRESS.fullmatch(address):
            return
        drive, merged = self._drives.placed(address)
        self._joined(drive, merged)
        if not drive.port and not is_of_other_adapter(address) and len(self._recovering) == 1:
            (port,) = self._recovering
            if not (self._drives.hosts.is_known(port.port) or any(":" in name for name in port.names)):
                self._joined(*self._drives.same(port.port, address))

    def _joined(self, drive: Drive, merged: Drive | None) -> None:
        lost = self._open.pop(merged, None) if merged is not None else None
        if lost is None:
            return
        self._recovering.discard(lost.drive)
        episode = self._open.get(drive)
        if episode is None:
            lost.drive = drive
            self._open[drive] = lost
        else:
            episode.merge(lost)

    def _is_back(self, drive: Drive, line: LogLine) -> None:
        drive.is_gone = False
        drive.has_disk = True
        if drive in self._open and not self._open[drive].is_over(line.clock, line.time_s):
            self._open[drive].returns(line.time_s)

    def _episode(self, drive: Drive, line: LogLine, what: What, *, opens: bool) -> Episode | None:
        episode = self._open.get(drive)
        if episode is not None and episode.is_over(line.clock, line.time_s, what):
            self._close(episode)
            episode = None
        if episode is None and opens:
            if len(self._open) >= MOST_DRIVES:
                self._close(next(iter(self._open.values())))
            episode = Episode(drive, self._boot, self.history.lines)
            self._open[drive] = episode
        return episode

    def _reboot(self) -> None:
        """Names and times begin anew; a drive that was gone is not known to be back."""
        for episode in list(self._open.values()):
            self._close(episode)
        self._boot += 1
        self._drives.reboot()
        self._last_port = self._usb_seen = self._uas_resetting = ""
        self._usb_announced.clear()

    def _close(self, episode: Episode) -> None:
        del self._open[episode.drive]
        self._recovering.discard(episode.drive)
        if len(self.history.episodes) < MOST_EPISODES:
            self.history.episodes.append(episode)
        else:
            self.history.dropped += 1


def follow(lines: Iterable[bytes], now: datetime) -> History:
    """All episodes of a log, in the order in which they began."""
    follower = Follower(now)
    for line in lines:
        follower.feed(line)
    history = follower.finish()
    history.episodes.sort(key=lambda episode: episode.first_line)
    return history
