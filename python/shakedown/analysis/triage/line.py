"""One line of a log: when, by which clock, from whom, and what it says, in every form Linux writes it.

The kernel's own buffer (`dmesg` raw, `-T`, `-H`, `-d`, `-x`, ISO; `/dev/kmsg`), syslog files (with a year and
without), `journalctl` as text (short, short-iso, short-full, short-monotonic, short-unix) and as JSON. What is none of
these is a line without a time.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any, Final, Literal, NamedTuple

Clock = Literal["wall", "boot"]

LONGEST_LINE_BYTES: Final = 16 * 1024
"""The kernel's own lines end at 1 KiB; of a longer line only the beginning is looked at."""

# A clock without a battery says 1970; what is far from now is garbage, and may not be a date in every zone.
_EARLIEST_YEAR: Final = 1970
_LATEST_YEAR: Final = 2999

_MONTHS: Final = {
    name: number
    for number, name in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), start=1)  # noqa: SIM905
}
_PRIORITY: Final = re.compile(r"^(?:<\d{1,3}>(?:1 (?=\d{4}-))?|[a-z0-9]+ *:[a-z]+ *: (?=[\[\d]))")
_KMSG: Final = re.compile(r"^\d+,\d+,(\d{1,18}),[^;]{1,64};")
_BOOT: Final = re.compile(r"^\[ *(\d{1,12}\.\d{1,9})(?: *<[^>]{0,24}>)?\](?:\[ *[CT]\d+\])? ?")
_DELTA: Final = re.compile(r"^\[ *\+(\d{1,9}\.\d{1,9})\] ?")
_MINUTE: Final = re.compile(r"^\[([A-Z][a-z]{2}) ?(\d{1,2}) (\d\d):(\d\d)\] ?")
_CTIME: Final = re.compile(r"^\[[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})\] ?")
_SYSLOG: Final = re.compile(r"^([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d)(\.\d{1,9})? ")
_ISO: Final = re.compile(
    r"^(?:[A-Z][a-z]{2} )?(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)([.,]\d{1,9})?"
    r"(?: ?(Z|UTC|[+-]\d\d:?\d\d)(?= ))? "
)
_UNIX: Final = re.compile(r"^(\d{9,11}\.\d{1,9}) ")
_TAG: Final = re.compile(r"^\S{0,254}[^\s:] ([A-Za-z][\w./@-]{0,63})(?:\[\d+\])?: ?")
_RFC5424: Final = re.compile(r"^\S{1,255} ([\w./@-]{1,64}) (?:\S{1,128} ){2}(?:-|\[[^\]]*\]) ")


class LogLine(NamedTuple):
    """``time_s`` counts from 1970 on the wall clock or from the boot, None where the line has no time.

    ``tag`` is the program that spoke; empty in a log that has no such column, which is the kernel's own. ``zone`` is
    the one that the line itself names.
    """

    time_s: float | None
    clock: Clock | None
    tag: str
    text: str
    zone: tzinfo | None = None


class LineReader:
    """Reads lines one after the other; remembers what some formats leave out of a line."""

    def __init__(self, now: datetime) -> None:
        """``now`` has a zone; it tells the year and the zone where lines have none, since no log is of the future."""
        self._now = now
        self._zone: tzinfo = now.tzinfo or UTC
        self._human_s: float | None = None

    def read(self, raw: bytes) -> LogLine:
        """What the line says. Never fails: a line of garbage is a text without a time."""
        text = raw[:LONGEST_LINE_BYTES].decode("utf-8", errors="replace").rstrip("\r\n\0")
        if text.startswith("{"):
            entry = _journal_entry(text)
            if entry is not None:
                return entry
        kmsg = _KMSG.match(text)
        if kmsg:
            return LogLine(int(kmsg[1]) / 1e6, "boot", "", text[kmsg.end() :])
        text = _PRIORITY.sub("", text, count=1)
        return self._own(text) or self._logged(text)

    def _own(self, text: str) -> LogLine | None:
        """What ``dmesg`` prints, and journalctl's short-monotonic."""
        boot = _BOOT.match(text)
        if boot:
            rest = text[boot.end() :]
            tagged = _TAG.match(rest)
            # `[12.3] host kernel: message` is journalctl's; `[12.3] sd 2:0:0:0: message` only looks like it.
            if tagged and tagged[1] == "kernel":
                return LogLine(float(boot[1]), "boot", "kernel", rest[tagged.end() :])
            return LogLine(float(boot[1]), "boot", "", rest)
        return self._human(text)

    def _human(self, text: str) -> LogLine | None:
        delta, minute, ctime = _DELTA.match(text), _MINUTE.match(text), _CTIME.match(text)
        if delta:
            if self._human_s is not None:
                self._human_s += float(delta[1])
            return LogLine(self._human_s, "wall" if self._human_s is not None else None, "", text[delta.end() :])
        if minute:
            self._human_s = self._without_year(minute[1], *map(int, minute.groups()[1:]))
            return LogLine(self._human_s, "wall" if self._human_s is not None else None, "", text[minute.end() :])
        if ctime:
            month, *numbers, year = ctime.groups()
            when = self._at(int(year), _MONTHS.get(month, 0), *map(int, numbers))
            return LogLine(when, "wall" if when is not None else None, "", text[ctime.end() :])
        return None

    def _logged(self, text: str) -> LogLine:
        """What a syslog daemon or the journal wrote, or no log line at all."""
        iso, syslog, unix = _ISO.match(text), _SYSLOG.match(text), _UNIX.match(text)
        found = iso or syslog or unix
        if found is None:
            return LogLine(None, None, "", text)
        if iso:
            when = self._iso(iso)
        elif syslog:
            month, *numbers, fraction = syslog.groups()
            when = self._without_year(month, *map(int, numbers))
            when = when + float(fraction or 0) if when is not None else None
        else:
            when = float(found[1])
        zone = _zone(iso[8]) if iso and iso[8] else None
        rest = text[found.end() :]
        tagged = _TAG.match(rest) or _RFC5424.match(rest)
        # `dmesg --time-format iso` has neither host nor tag: then what looks like a tag is part of the message.
        is_tagged = tagged is not None and (tagged[1] == "kernel" or not _is_kernel_talk(rest))
        message, tag = (rest[tagged.end() :], tagged[1]) if tagged and is_tagged else (rest, "")
        boot = _BOOT.match(message) if tag in ("", "kernel") else None
        message = message[boot.end() :] if boot else message
        return LogLine(when, "wall" if when is not None else None, tag, message, zone)

    def _iso(self, found: re.Match[str]) -> float | None:
        *numbers, fraction, zone = found.groups()
        whole = self._at(*map(int, numbers), zone=_zone(zone) if zone else None)
        return None if whole is None else whole + float("0." + fraction[1:] if fraction else 0)

    def _without_year(self, month: str, *numbers: int) -> float | None:
        """The latest such moment that is not in the future; 29 February may be some years ago."""
        latest = (self._now + timedelta(days=1)).timestamp()
        for year in range(self._now.year + 1, self._now.year - 8, -1):
            when = self._at(year, _MONTHS.get(month, 0), *numbers)
            if when is not None and when <= latest:
                return when
        return None

    def _at(self, *numbers: int, zone: tzinfo | None = None) -> float | None:
        if not _EARLIEST_YEAR <= numbers[0] <= _LATEST_YEAR:
            return None
        try:
            return datetime(*numbers, tzinfo=zone or self._zone).timestamp()  # type: ignore[arg-type,misc]  # six numbers
        except (ValueError, OverflowError):
            return None


def _is_kernel_talk(rest: str) -> bool:
    """Whether a line without a time begins like the kernel's own: `sd 2:0:0:0:`, `ata3:`, `md/raid:md0:`."""
    return re.match(r"(?:sd|scsi|usb|nvme|blk|md|INFO:|WARNING:|EXT4-fs|XFS|BTRFS)\b", rest) is not None


def _zone(text: str) -> tzinfo | None:
    if text in ("Z", "UTC"):
        return UTC
    sign = -1 if text[0] == "-" else 1
    digits = text[1:].replace(":", "")
    shift = sign * timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    try:
        return timezone(shift)
    except ValueError:
        return None


def _journal_entry(text: str) -> LogLine | None:
    """An object of ``journalctl -o json``. Messages with unprintable bytes come as a list of numbers."""
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or "MESSAGE" not in entry:
        return None
    when = _microseconds(entry.get("__REALTIME_TIMESTAMP") or entry.get("_SOURCE_REALTIME_TIMESTAMP"))
    tag = entry.get("SYSLOG_IDENTIFIER") or ("kernel" if entry.get("_TRANSPORT") == "kernel" else "")
    return LogLine(when, "wall" if when is not None else None, str(tag), _message(entry["MESSAGE"]))


def _message(value: Any) -> str:
    if isinstance(value, list):
        numbers = [each for each in value if isinstance(each, int) and 0 <= each < 256]
        return bytes(numbers).decode("utf-8", errors="replace")
    return value if isinstance(value, str) else ""


def _microseconds(value: Any) -> float | None:
    try:
        seconds = int(value) / 1e6
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and 0 <= seconds < 1e11 else None
