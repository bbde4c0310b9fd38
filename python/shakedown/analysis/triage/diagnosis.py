"""A log's episodes, judged: what ``shakedown triage`` shows and prints as JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Final

from shakedown.analysis.identify.models import ModelList
from shakedown.analysis.triage.advice import Advice, advise
from shakedown.analysis.triage.drive import Drive
from shakedown.analysis.triage.episode import QUIET_S, Episode
from shakedown.analysis.triage.follow import History
from shakedown.analysis.triage.judge import GRADES, Grade, Judgement, judge

_STATUS_OF: Final[dict[Grade, int]] = {"harmless": 0, "unclear": 3, "unsafe": 1, "dying": 1}


@dataclass(frozen=True)
class Judged:
    """An episode with what was made of it. ``shingled`` is what was known of the drive, None for nothing."""

    episode: Episode
    shingled: bool | None
    judgement: Judgement
    advice: tuple[Advice, ...]


@dataclass(frozen=True)
class Diagnosis:
    """Everything about one log."""

    episodes: tuple[Judged, ...]
    lines: int
    dropped: int
    is_log: bool
    holds_smartctl: bool = False

    @property
    def worst(self) -> Grade | None:
        """The worst grade, None if there is no episode."""
        return max((each.judgement.grade for each in self.episodes), key=GRADES.index, default=None)

    @property
    def exit_status(self) -> int:
        """0 nothing bad, 1 dying or unsafe, 3 unclear or not a log."""
        if self.worst is None:
            return 0 if self.is_log else 3
        return _STATUS_OF[self.worst]


Shingled = Callable[[Drive], bool | None]


def knows_shingled(models: ModelList, told: Collection[str]) -> Shingled:
    """Whether a drive is shingled: because somebody said so of its name or model, or by the list of models."""

    def shingled(drive: Drive) -> bool | None:
        if any(name in told for name in (*drive.names, drive.model)):
            return True
        if drive.is_nvme:
            return False
        match = models.find(drive.model) if drive.model else None
        if match is None or not match.is_published:
            return None
        return {"DM-SMR": True, "CMR": False}.get(match.technology)

    return shingled


def not_met(diagnosis: Diagnosis, told: Collection[str]) -> list[str]:
    """Of the names and models that were told to be shingled those of which no episode is."""
    met = {name for judged in diagnosis.episodes for name in (*judged.episode.drive.names, judged.episode.drive.model)}
    return [name for name in dict.fromkeys(told) if name not in met]


def diagnose(history: History, shingled: Shingled) -> Diagnosis:
    """Judge all episodes of a log. A port that never had a drive and only announced one is no episode."""
    judged = []
    told = {name for episode in history.episodes for name in episode.drive.names}
    for episode in history.episodes:
        if _is_arrival(episode) or _is_wakening(episode):
            continue
        known = shingled(episode.drive)
        judgement = judge(episode, known)
        more = _namesakes(episode.drive, told) + _unattributed(episode, history.episodes)
        judgement = replace(judgement, text=judgement.text + more)
        judged.append(Judged(episode, known, judgement, advise(episode, judgement)))
    return Diagnosis(tuple(judged), history.lines, history.dropped, history.is_log, history.holds_smartctl)


def _namesakes(drive: Drive, told: Collection[str]) -> str:
    """Of an NVMe controller: disks that are told of apart and are likely its own; no line said so."""
    if not re.fullmatch(r"nvme\d+", drive.title):
        return ""
    disks = sorted(name for name in told if re.fullmatch(drive.title + r"n\d+", name))
    if not disks:
        return ""
    return (
        f" {drive.title} is a controller, and {' and '.join(disks)} is told of apart: most likely its disk, but with"
        " native multipath the numbers need not agree; `nvme list -v` tells."
    )


def _is_wakening(episode: Episode) -> bool:
    """A single reset on the USB, without a complaint: so a machine that wakes up greets each device."""
    return {what: count for what, count in episode.counts.items() if count} == {"usb-reset": 1}


def _unattributed(episode: Episode, episodes: Collection[Episode]) -> str:
    """That the log does not say which disk it was, as one that begins after the boot; and which ones it may have been.

    A port of an adapter, or a place on the USB, gets its disk in the lines of the boot. ZFS calls a disk by its name
    under ``/dev/disk/by-id``.
    """
    drive = episode.drive
    if drive.letter or drive.passed_on or not (drive.port or drive.by_id or drive.is_usb_device):
        return ""
    others = [other.drive for other in episodes if other.boot == episode.boot and _overlap(episode, other)]
    disks = dict.fromkeys(other.letter for other in others if other.letter and not (other.port or other.is_nvme))
    if drive.port:
        elsewhere = {other.letter for other in others if other.is_behind_other_adapter}
        disks = {letter: None for letter in disks if letter not in elsewhere}
    named = f" At that time it tells of {' and '.join(disks)}, perhaps the same." if disks else ""
    what = "disk, if any, this is" if drive.is_usb_device else "disk this is"
    return f" The log does not say which {what}: `{_looks(drive)}` does, or a log from the boot on.{named}"


def _looks(drive: Drive) -> str:
    """The command that tells which disk it is. The links of ``/sys/block`` name ports and hosts, and no disk's id."""
    if drive.by_id:
        return f"readlink -f /dev/disk/by-id/{drive.by_id}"
    return "lsusb -t" if drive.is_usb_device else f"ls -l /sys/block | grep /{drive.port.partition('.')[0]}/"


def _overlap(one: Episode, other: Episode) -> bool:
    """Whether two episodes were at one time, as far as their times tell."""
    if one is other:
        return False
    if one.clock != other.clock or None in (one.begin_s, one.end_s, other.begin_s, other.end_s):
        return True
    assert one.begin_s is not None and one.end_s is not None and other.begin_s is not None and other.end_s is not None
    return one.begin_s <= other.end_s + QUIET_S and other.begin_s <= one.end_s + QUIET_S


def _is_arrival(episode: Episode) -> bool:
    """Plugging a drive into a running machine: the link drops, is reset and comes up with a new drive."""
    told = {what for what, count in episode.counts.items() if count}
    return (
        told <= {"exception", "link-dropped", "reset", "speed", "recovered", "attached"}
        and not episode.was_gone
        and (episode.counts["link-dropped"] == 1 and episode.counts["exception"] <= 1)
    )
