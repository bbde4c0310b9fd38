"""What ``zpool status`` says of a resilver, as text of every release or as JSON (2.3 and later)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal

State = Literal["none", "running", "done", "canceled"]

_UNITS: Final = {unit: 1024**power for power, unit in enumerate("BKMGTPE")}
_STATES: Final[dict[str, State]] = {"SCANNING": "running", "FINISHED": "done", "CANCELED": "canceled"}
# Below it `zpool status` has no estimate.
_SLOWEST_BYTES_PER_S: Final = 10 << 20


@dataclass(frozen=True)
class Scan:
    """A pool's last scan: ``resilver`` or ``scrub``.

    ``issued_bytes`` is what was read and checked, ``total_bytes`` all that is to be; ``finish_s`` is ZFS' own
    estimate and None where it gives none, or says that nothing is left of what goes on; ``took_s`` is of one that is
    done. Sizes in text have three digits. ``when`` it began or ended, in whatever words, tells a scan from the last;
    ``share`` is what the text says is done.
    """

    action: Literal["resilver", "scrub", "none"] = "none"
    state: State = "none"
    issued_bytes: int | None = None
    total_bytes: int | None = None
    resilvered_bytes: int | None = None
    finish_s: int | None = None
    took_s: int | None = None
    errors: int | None = None
    when: str | None = field(default=None, compare=False)
    share: float | None = field(default=None, compare=False)

    def is_same(self, other: Scan) -> bool:
        """Whether both tell of one scan, in one state."""
        return self == other and self.when == other.when


def parse_zpool_status(text: str, pool: str) -> Scan:
    """The scan of one pool out of the text of ``zpool status``; ``Scan()`` if the text tells none."""
    for block in re.split(r"^\s*pool:\s*", text, flags=re.MULTILINE)[1:]:
        if block.partition("\n")[0].strip() == pool:
            return _scan(block)
    return Scan()


def parse_zpool_status_json(text: str, pool: str, now_s: int) -> Scan:
    """The same out of ``zpool status --json --json-int``; ``Scan()`` if it is no such document.

    ``now_s`` is the time at which it was asked, in seconds since 1970. A rebuild of dRAID is not in it, nor that of
    ``zpool replace -s``.
    """
    try:
        stats = json.loads(text)["pools"][pool]["scan_stats"]
        action = stats["function"].lower()
        state = _STATES[stats["state"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Scan()
    if action not in ("resilver", "scrub"):
        return Scan()
    start, end = _whole(stats, "start_time"), _whole(stats, "end_time")
    issued, total = _whole(stats, "issued"), _whole(stats, "to_examine")
    if total is not None:
        total = max(total - (_whole(stats, "skipped") or 0), 0)
    return Scan(
        action,
        state,
        issued_bytes=issued,
        total_bytes=total,
        resilvered_bytes=_whole(stats, "processed"),
        finish_s=_finish_s(stats, issued, total, now_s) if state == "running" else None,
        took_s=end - start if state == "done" and start is not None and end is not None and end >= start else None,
        errors=_whole(stats, "errors"),
        when=f"{start} to {end}",
    )


def _finish_s(stats: dict[str, Any], issued: int | None, total: int | None, now_s: int) -> int | None:
    """The text's estimate, which the document has not, as ``zpool`` makes it of the same figures."""
    start, moved = _whole(stats, "pass_start"), _whole(stats, "issued_bytes_per_scan")
    if start is None or moved is None or issued is None or total is None:
        return None
    elapsed_s = now_s - start - (_whole(stats, "scrub_spent_paused") or 0)
    rate = moved // max(elapsed_s, 1)
    if rate < _SLOWEST_BYTES_PER_S or total < issued:
        return None
    return (total - issued) // rate or None


def span_by_events_ns(text: str) -> tuple[int | None, int | None]:
    """When the last resilver began and ended, out of ``zpool events -H``, since 1970; None what is not told."""
    began_ns = ended_ns = None
    for line in text.splitlines():
        match = re.match(r"(\w{3} +\d+ \d{4} \d\d:\d\d:\d\d)\.(\d{9})\s+\S*resilver_(start|finish)\s*$", line)
        if match is None:
            continue
        try:
            moment = datetime.strptime(match[1], "%b %d %Y %H:%M:%S").replace(tzinfo=UTC)
        except ValueError:
            continue
        at_ns = int(moment.timestamp()) * 1_000_000_000 + int(match[2])
        if match[3] == "start":
            began_ns, ended_ns = at_ns, None
        elif began_ns is not None:
            ended_ns = at_ns
    return began_ns, ended_ns


def parse_took_s(text: str) -> int | None:
    """A duration in any of ZFS' notations to seconds: ``0h12m``, ``00:12:34``, ``1 days 02:03:04``, ``1d2h``."""
    text = text.strip()
    if match := re.fullmatch(r"(?:(\d+) days? )?(\d+):(\d\d):(\d\d)", text):
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    match = re.fullmatch(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", text)
    if match is None or not text:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def parse_zfs_size_bytes(text: str) -> int | None:
    """``1.29T`` or ``384G`` to bytes; ZFS counts in powers of 1024."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([BKMGTPE]?)i?B?", text.strip())
    return None if match is None else round(float(match[1]) * _UNITS[match[2] or "B"])


_SIZE: Final = r"(\d+(?:\.\d+)?[BKMGTPE]?)"
_TOOK: Final = r"((?:\d+ days? )?\d+:\d\d:\d\d|(?:\d+[dhms])+)"


def _scan(block: str) -> Scan:
    # The text runs on to the line `config:`; releases break it differently.
    scans = re.findall(
        r"^\s*(?:scan|scrub):\s*(.*?)(?=^\s*(?:scan|config|checkpoint|remove|action|see|errors):|\Z)",
        block,
        re.MULTILINE | re.DOTALL,
    )
    # The scrub behind a sequential resilver has a line of its own, before that one's.
    words = " ".join(scans[-1].split()) if scans else ""
    # The sequential resilver of dRAID names its vdev in brackets.
    words = re.sub(r"^(resilver|resilvered) \([^)]*\)", r"\1", words)
    date = re.search(r" (?:since|on|for) (.*?\d\d:\d\d:\d\d \d{4}|\S+)", words)
    return replace(_told(words), when=date[1] if date else None)


def _told(words: str) -> Scan:
    if match := re.match(r"(resilver|scrub) in progress", words):
        return _running(match[1], words)
    if match := re.match(r"(resilver|scrub) canceled", words):
        return Scan(_action(match[1]), "canceled")
    return _done(words)


def _running(action: str, words: str) -> Scan:
    """Three notations: ``1T scanned out of 5T``, ``1T issued at 1G/s, 5T total``, ``1T / 5T issued``."""
    issued = total = None
    for form in (
        rf"{_SIZE} / {_SIZE} issued",
        rf"{_SIZE} issued.*?, {_SIZE} total",
        rf"{_SIZE} scanned out of {_SIZE}",
    ):
        if match := re.search(form, words):
            issued, total = parse_zfs_size_bytes(match[1]), parse_zfs_size_bytes(match[2])
            break
    moved = re.search(rf"{_SIZE} (?:resilvered|repaired)", words)
    finish = re.search(rf"{_TOOK} to go", words)
    share = re.search(r"(\d{1,3}(?:\.\d{1,3})?)% done", words)
    return Scan(
        _action(action),
        "running",
        issued_bytes=issued,
        total_bytes=total,
        resilvered_bytes=parse_zfs_size_bytes(moved[1]) if moved else None,
        finish_s=(parse_took_s(finish[1]) or None) if finish else None,
        share=float(share[1]) / 100 if share else None,
    )


def _done(words: str) -> Scan:
    """``resilvered 384G in 00:02:44 with 0 errors on ...`` or once, ``resilver completed after 0h12m with ...``."""
    match = re.match(rf"(resilvered|scrub repaired) {_SIZE} in {_TOOK}(?: with (\d+) errors)?", words)
    if match:
        size = parse_zfs_size_bytes(match[2])
        errors = int(match[4]) if match[4] else None
        return Scan(_action(match[1]), "done", resilvered_bytes=size, took_s=parse_took_s(match[3]), errors=errors)
    match = re.match(rf"(resilver|scrub) completed after {_TOOK}(?: with (\d+) errors)?", words)
    if match:
        errors = int(match[3]) if match[3] else None
        return Scan(_action(match[1]), "done", took_s=parse_took_s(match[2]), errors=errors)
    return Scan()


def _action(word: str) -> Literal["resilver", "scrub"]:
    return "resilver" if word.startswith("resilver") else "scrub"


def _whole(stats: dict[str, Any], key: str) -> int | None:
    value = stats.get(key)
    return value if type(value) is int and value >= 0 else None
